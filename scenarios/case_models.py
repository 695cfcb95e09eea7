"""The models that cases run with: each is loaded once and shared, whoever needs it first.

A script that a case names is the replies of one conversation: it begins anew each time.
"""

import asyncio

from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.base import Disposable, LocalProvider
from webmcp_agent.scenarios.given import Given
from webmcp_agent.scenarios.runner import ModelSettings, Told, load_model
from webmcp_agent.scenarios.scenario import Case


class CaseModels:
    """Providers by the names of their models; close it to free them."""

    def __init__(
        self, settings: ModelSettings, told: Told, signal: AbortSignal, given: Given | None = None
    ) -> None:
        self._given = given or Given()
        self._settings = settings
        self._told = told
        self._own = AbortController()
        self._signal = AbortSignal.any([signal, self._own.signal])
        self._loaded: dict[str | None, LocalProvider] = {}
        self._loading = asyncio.Lock()

    async def of(self, case: Case) -> LocalProvider:
        """The loaded model of a case: the one that was asked for, else the file's own.

        Raises: what the model raises when it cannot be had."""
        name = self._settings.model or case.model
        if name is not None and name == case.model and name.startswith("scripted:"):
            return await self._ready(name)
        async with self._loading:
            if name not in self._loaded:
                self._loaded[name] = await self._ready(name)
            return self._loaded[name]

    async def _ready(self, name: str | None) -> LocalProvider:
        provider = self._settings.provider(name)
        self._given.guard(provider)
        try:
            await load_model(provider, self._told, self._signal)
        except BaseException:
            if isinstance(provider, Disposable):
                provider.dispose()
            raise
        return provider

    def close(self) -> None:
        """End what still loads, and free the models."""
        self._own.abort("the cases are over")
        for provider in self._loaded.values():
            if isinstance(provider, Disposable):
                provider.dispose()
