"""The embedded default model at work in the demo shop: every call is its own decision."""

import pytest

from webmcp_agent.agent.request import user_message
from webmcp_agent.providers.abort import AbortSignal
from webmcp_agent.providers.errors import ProviderError
from webmcp_agent.providers.weights import find_model
from webmcp_agent.scenarios.runner import PageSettings, RunSettings, open_session

DEMO_TASK = "Find trail running shoes under 100 euros, open them and add two to the cart"


def _is_here() -> bool:
    try:
        return find_model("default", local_files_only=True).cached
    except ProviderError:
        return False


class Quiet:
    """Nobody listens to how far the loading is."""

    def say(self, label: str) -> None:
        pass

    def advance(self, fraction: float) -> None:
        pass


@pytest.mark.model
@pytest.mark.skipif(
    not _is_here(),
    reason="the default model is not in the cache; webmcp-agent models get default brings it",
)
async def test_the_default_model_finds_opens_and_buys_as_the_page_confirms() -> None:
    settings = RunSettings(page=PageSettings(approval="yes"))
    async with open_session("shop:", settings, told=Quiet(), signal=AbortSignal()) as session:
        outcome = await session.run(
            [user_message(DEMO_TASK)],
            AbortSignal(),
            on_part=lambda part: None,
            on_trace=lambda event: None,
        )
        cart = await session.tools.page.evaluate(
            "() => shop.cart().map(item => [item.id, item.quantity])"
        )
    assert cart == [["trail-runner-1", 2]]
    assert outcome.report.finish == "stop"
    assert {call.outcome for call in outcome.report.calls} == {"ok"}
