"""The `transformers` provider: a Hugging Face model in this process, on a GPU or the CPU.

States, the worker thread, Stop and memory are here. What a prompt looks like is in `templates.py`,
where the model goes in `placement.py`, how it is loaded in `loading.py`, and how it decodes in
`generation.py`. Nothing heavy is imported before `prepare`.
"""

import asyncio
import logging
import re
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.base import (
    REASONING_MARKERS,
    Available,
    CallFormat,
    Downloading,
    GenerateRequest,
    GenerateResult,
    ModelChoice,
    NeedsDownload,
    PromptParts,
    ProviderAvailability,
    Unavailable,
    Usage,
)
from webmcp_agent.providers.errors import Aborted, ModelUnavailable, NotReady, PromptTooLong
from webmcp_agent.providers.placement import (
    DEVICE,
    DTYPE_BYTES,
    QUANTIZED_BYTES,
    check_device,
)
from webmcp_agent.providers.quantization import Quantize, missing_library
from webmcp_agent.providers.weights import ModelSource, fetch_model, find_model
from webmcp_agent.providers.worker import SharedJob, outcome

if TYPE_CHECKING:
    from webmcp_agent.providers.loading import LoadedModel, Wanted

logger = logging.getLogger(__name__)

SMALL_PROMPT = 512
"""Tokens. A device on which a prompt of this length does not fit is no use for this model."""

_DOWNLOAD = 0.9
"""Share of the progress; loading has the rest."""

_COMMIT = re.compile(r"[0-9a-f]{40}")


class TransformersProvider:
    """Runs one model at a time; requests wait for each other."""

    id = "transformers"
    label = "Transformers"

    def __init__(
        self,
        *,
        model: str = "default",
        revision: str | None = None,
        device: str = "auto",
        dtype: str = "auto",
        max_context: int = 4096,
        max_new_tokens: int = 512,
        thinking: bool = False,
        max_thinking_tokens: int = 1024,
        constrained: bool = True,
        reuse_prefix: bool = True,
        chat_template: str | None = None,
        cache_dir: Path | str | None = None,
        local_files_only: bool = False,
        trust_remote_code: bool = False,
        models: Sequence[ModelChoice] | None = None,
        adapter: Path | str | None = None,
        prompt_lookup: bool = True,
        quantize: Quantize | None = None,
        compiled: bool = False,
    ) -> None:
        """Loads nothing. `ValueError` for fields that cannot be or contradict each other.

        `max_context` bounds prompt and reply together, in tokens. `revision` and `adapter` belong
        to `model`, not to the other `models`. `chat_template` is the template's text. With
        `prompt_lookup` the model confirms what was looked up in the prompt, with `quantize` its
        weights have 8 or 4 bits, with `compiled` it decodes in shapes that are compiled while it
        is loaded; where that cannot be, it decodes as ever, and `notes` says why."""
        for name, value in (
            ("max_context", max_context),
            ("max_new_tokens", max_new_tokens),
            ("max_thinking_tokens", max_thinking_tokens),
        ):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")
        if not DEVICE.fullmatch(device):
            raise ValueError(f"device must be auto, cpu, mps, cuda or cuda:N, not {device!r}")
        if dtype != "auto" and dtype not in DTYPE_BYTES:
            raise ValueError(
                f"dtype must be auto or one of {', '.join(DTYPE_BYTES)}, not {dtype!r}"
            )
        if quantize is not None and quantize not in QUANTIZED_BYTES:
            raise ValueError(
                f"quantize must be one of {', '.join(QUANTIZED_BYTES)}, not {quantize!r}"
            )
        if trust_remote_code and not _COMMIT.fullmatch(revision or ""):
            raise ValueError("trust_remote_code=True needs revision to be a full commit id")
        self.broken: str | None = None
        self.tools_inline = False
        self.call_format: CallFormat = "tags"
        self.placement = ""
        """Where the model runs and in which number format; empty before it is loaded."""
        self.notes: list[str] = []
        """What was found out about the model and its tools, each said once, as sentences."""
        self.max_new_tokens = max_new_tokens
        self._model = self._first_model = model
        self._revision = revision
        self._adapter = adapter
        self._prompt_lookup = prompt_lookup
        self._quantize: Quantize | None = quantize
        self._compiled = compiled
        self._device = device
        self._dtype = dtype
        self._max_context = max_context
        self._thinking = thinking
        self._max_thinking_tokens = max_thinking_tokens
        self._constrained = constrained
        self._reuse_prefix = reuse_prefix
        self._chat_template = chat_template
        self._cache_dir = cache_dir
        self._local_files_only = local_files_only
        self._trust_remote_code = trust_remote_code
        self._choices = tuple(models or ())
        self.loaded: LoadedModel | None = None
        """The model in memory; belongs to the worker thread while a generation runs."""
        self._loading: SharedJob | None = None
        self._running: set[AbortController] = set()
        self._threads: ThreadPoolExecutor | None = None

    async def availability(self) -> ProviderAvailability:
        """Whether the model can run, from what is on this disk and, for a hub id, one question."""
        if self.loaded is not None:
            return Available()
        if self._loading is not None and self._loading.goes_on:
            return Downloading(self._loading.progress)
        return await asyncio.to_thread(self._look)

    def _look(self) -> ProviderAvailability:
        for library in ("torch", "transformers"):
            if find_spec(library) is None:
                return Unavailable(f'{library} is not installed: pip install "webmcp-agent[model]"')
        if self._quantize is not None and (missing := missing_library()):
            return Unavailable(missing)
        try:
            source = self._find()
            if self._device not in ("auto", "cpu"):
                from webmcp_agent.providers.loading import this_machine

                check_device(self._device, this_machine())
        except ModelUnavailable as exc:
            return Unavailable(str(exc))
        if source.cached:
            return NeedsDownload(bytes=0, note=source.label, cached=True)
        return NeedsDownload(bytes=source.missing_bytes, note=source.label)

    def _find(self) -> ModelSource:
        own = self._model == self._first_model
        source = find_model(
            self._model,
            revision=self._revision if own else None,
            adapter=self._adapter if own else None,
            cache_dir=self._cache_dir,
            local_files_only=self._local_files_only,
            trust_remote_code=self._trust_remote_code and own,
        )
        given = self._chat_template or source.chat_template
        if not given and source.path is not None and source.path.is_dir():
            from webmcp_agent.providers.loading import check_chat_template

            check_chat_template(source.path, self._model)
        return source

    async def prepare(
        self, on_progress: Callable[[float], None], signal: AbortSignal | None = None
    ) -> None:
        """Download what is missing and load the model; joins a `prepare` that is under way.

        `on_progress` is called in the caller's event loop. Raises `Aborted`, `DownloadFailed` and
        `ModelUnavailable`; the state is then what it was."""
        signal = signal or AbortSignal()
        signal.throw_if_aborted()
        if self.loaded is not None:
            on_progress(1.0)
            return
        if self._loading is None or not self._loading.goes_on:
            self._loading = SharedJob(self._worker(), self._bring)
        loading = self._loading
        try:
            await loading.join(on_progress, signal)
        except Aborted:
            if loading.deserted and self._loading is loading:
                self._free("stopped")  # also what was loaded in the moment of Stop
            raise

    def _bring(self, loading: SharedJob) -> None:
        signal = loading.stop.signal
        signal.throw_if_aborted()
        loaded = self._load(loading)
        signal.throw_if_aborted()
        self.placement = loaded.placement
        self.call_format = loaded.form.call_format
        self.tools_inline = loaded.form.tools_inline
        self.loaded = loaded

    def _load(self, loading: SharedJob) -> "LoadedModel":
        from webmcp_agent.providers.loading import load

        source = self._find()
        signal = loading.stop.signal
        folder = fetch_model(source, lambda part: loading.tell(part * _DOWNLOAD), signal)
        signal.throw_if_aborted()
        loading.tell(_DOWNLOAD)
        return load(folder, self._wanted(), self._note)

    def _wanted(self) -> "Wanted":
        from webmcp_agent.providers.loading import Wanted

        return Wanted(
            name=self._model,
            device=self._device,
            dtype=self._dtype,
            max_context=self._max_context,
            thinking=self._thinking,
            constrained=self._constrained,
            reuse_prefix=self._reuse_prefix,
            chat_template=self._chat_template,
            trust_remote_code=self._trust_remote_code and self._model == self._first_model,
            prompt_lookup=self._prompt_lookup,
            quantize=self._quantize,
            compiled=self._compiled,
        )

    async def generate(self, req: GenerateRequest) -> GenerateResult:
        """One greedy reply; stops within a token once `req.signal` is set, and raises `Aborted`.

        Raises `NotReady` before `prepare`, `PromptTooLong` when prompt and reply cannot fit, and
        whatever the model raises. Waits for a generation that was abandoned before."""
        loaded = self._ready()
        stop = AbortController()
        signal = AbortSignal.any([req.signal, stop.signal])
        self._running.add(stop)
        job = self._worker().submit(self._reply, loaded, req, signal)
        try:
            return await outcome(job, signal)
        finally:
            # Also when the task is cancelled: the thread then ends at its next token.
            stop.abort()
            self._running.discard(stop)

    async def fits(self, prompt: PromptParts) -> bool:
        """Whether the prompt, as the template writes it, leaves room for a whole reply."""
        loaded = self._ready()
        job = self._worker().submit(loaded.prompt_tokens, prompt)
        needed = len(await asyncio.wrap_future(job)) + self.max_new_tokens
        return needed + (self._max_thinking_tokens if self._thinking else 0) <= loaded.window

    def _ready(self) -> "LoadedModel":
        if self.loaded is None:
            raise NotReady(f"{self._model} is not loaded; call prepare first")
        return self.loaded

    def _reply(
        self, loaded: "LoadedModel", req: GenerateRequest, signal: AbortSignal
    ) -> GenerateResult:
        from webmcp_agent.providers.generation import Budget
        from webmcp_agent.providers.memory import device_is_dead, free_memory, out_of_memory

        signal.throw_if_aborted()
        prompt = loaded.prompt_tokens(PromptParts(req.system, req.messages, req.tools))
        if len(prompt) >= loaded.window:
            raise PromptTooLong(
                f"the prompt has {len(prompt)} tokens, and the window is {loaded.window}"
            )
        opened = REASONING_MARKERS[0] if loaded.opens_reasoning(prompt) else ""
        if opened and req.on_token is not None:
            req.on_token(opened)
        try:
            reply = loaded.engine.reply(
                prompt,
                Budget(self.max_new_tokens, self._max_thinking_tokens, loaded.window),
                signal,
                constraints=req.constraints or (),
                inline=loaded.form.tools_inline,
                reasoning=bool(opened),
                on_text=req.on_token,
            )
        except Exception as exc:
            if device_is_dead(exc, loaded.engine.device):
                self.broken = f"the device failed: {_first_line(exc)}"
            if not out_of_memory(exc):
                raise
            reason = _first_line(exc)
        else:
            usage = Usage(len(prompt), reply.cached_tokens, reply.completion_tokens)
            return GenerateResult(opened + reply.text, reply.finish_reason, usage)
        # Only here, behind the `except` block, does nothing hold the failed tensors any more.
        free_memory()
        if len(prompt) < SMALL_PROMPT:
            self.broken = f"not enough memory for a prompt of {len(prompt)} tokens: {reason}"
            raise ModelUnavailable(self.broken)
        loaded.window = min(loaded.window, len(prompt) - 1)
        raise PromptTooLong(
            f"not enough memory for a prompt of {len(prompt)} tokens; "
            f"the window is {loaded.window} from now on ({reason})"
        )

    def models(self) -> list[ModelChoice]:
        """The models that were given to choose from; empty for a provider of one model."""
        return [
            ModelChoice(
                choice.id,
                choice.label,
                choice.bytes,
                choice.note,
                choice.cached,
                selected=choice.id == self._model,
            )
            for choice in self._choices
        ]

    async def select_model(self, id: str) -> None:
        """Free the current model and switch; stops what is running. `ValueError` if unknown."""
        if id not in {choice.id for choice in self._choices}:
            known = ", ".join(choice.id for choice in self._choices) or "none"
            raise ValueError(f"there is no model {id!r} to choose; there are: {known}")
        threads = self._threads
        self._free("another model was selected")
        if threads is not None:
            await asyncio.to_thread(threads.shutdown)
        self._collect()
        self._model = id
        self.broken = None

    def dispose(self) -> None:
        """Free the model and stop what is running; twice is fine."""
        self._free("the model was freed")
        self._collect()

    def _free(self, reason: str) -> None:
        for stop in [*self._running, *([self._loading.stop] if self._loading else [])]:
            stop.abort(reason)
        self._loading = None
        if self.loaded is not None:
            self.loaded = None
            self.placement = ""
            self.tools_inline = False
            self.call_format = "tags"
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None

    def _collect(self) -> None:
        if "torch" in sys.modules:
            from webmcp_agent.providers.memory import free_memory

            free_memory()

    def _worker(self) -> ThreadPoolExecutor:
        """The one thread that touches the model: its queue is the lock."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(1, thread_name_prefix="webmcp-agent-model")
        return self._threads

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
            logger.warning("%s: %s", self._model, text)


def _first_line(exc: BaseException) -> str:
    return next(iter(str(exc).splitlines()), type(exc).__name__)
