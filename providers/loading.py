"""A model folder into memory: tokenizer, chat template, device, weights, and what they can do.

Blocking, and the only place that asks torch about the machine.
"""

import json
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from webmcp_agent.providers.attention import use_short_attention
from webmcp_agent.providers.base import (
    CALL_MARKERS,
    END_MARKERS,
    REASONING_MARKERS,
    ChatTurn,
    CompactTool,
    JsonObject,
    PromptParts,
)
from webmcp_agent.providers.errors import ModelUnavailable
from webmcp_agent.providers.generation import Engine
from webmcp_agent.providers.grammar import Grammars
from webmcp_agent.providers.load_lock import load_lock
from webmcp_agent.providers.model_folder import weight_files
from webmcp_agent.providers.placement import (
    Dtype,
    Gpu,
    Machine,
    Placement,
    parameter_count,
    place,
)
from webmcp_agent.providers.quantization import Quantize, quantization
from webmcp_agent.providers.templates import (
    ChatForm,
    Message,
    choose_form,
    control_pattern,
    without_control_tokens,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Note = Callable[[str], None]

ABSURD_LENGTH = 10**9
"""A tokenizer that gives no length says 10^30."""

_EXACT_TEXTS = (
    '{"text": "one , two . three \'s"}',
    '[add(text=" n\'t ")]',
    '{"text": "\U0001f331 é"}',
)
"""Texts that a tokenizer which tidies up blanks, or loses characters, does not give back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the caller asked for."""

    name: str
    device: str
    dtype: str
    max_context: int
    thinking: bool
    constrained: bool
    reuse_prefix: bool
    chat_template: str | None
    trust_remote_code: bool
    prompt_lookup: bool
    quantize: Quantize | None
    compiled: bool


class LoadedModel:
    """A model in memory and how to speak to it."""

    def __init__(
        self, engine: Engine, form: ChatForm, render: "Rendering", window: int, placement: str
    ) -> None:
        self.engine = engine
        self.form = form
        self.window = window
        """Tokens of prompt and reply together; becomes smaller when memory runs out."""
        self.placement = placement
        self._render = render
        self._last: tuple[PromptParts, list[int]] | None = None

    def prompt_tokens(self, parts: PromptParts) -> list[int]:
        """The prompt as token ids; the last one is kept, since `fits` comes before `generate`."""
        if self._last is None or self._last[0] != parts:
            text = self._render.prompt(self.form, parts)
            ids = self.engine.tokenizer.encode(text, add_special_tokens=False).ids
            self._last = (parts, ids)
        return self._last[1]

    def opens_reasoning(self, prompt: list[int]) -> bool:
        """Whether the prompt ends inside reasoning, as some templates have it."""
        tail = self.engine.tokenizer.decode(prompt[-8:], skip_special_tokens=False)
        return tail.rstrip().endswith(REASONING_MARKERS[0])


class Rendering:
    """A tokenizer's chat template with the settings of this provider."""

    def __init__(self, tokenizer: Any, template: str | None, *, thinking: bool) -> None:
        self._tokenizer = tokenizer
        self._template = template
        self._thinking = thinking
        added: Mapping[int, Any] = tokenizer.added_tokens_decoder
        self.added: dict[str, bool] = {
            str(token.content): bool(token.special) for token in added.values()
        }
        self._control = control_pattern(self.added)

    def source(self) -> str:
        """The text of the template that is used with tools."""
        return str(self._tokenizer.get_chat_template(self._template, tools=[{}]))

    def text(self, messages: list[Message], tools: list[JsonObject] | None) -> str:
        """Messages and tools as prompt text, up to where the model goes on."""
        return str(
            self._tokenizer.apply_chat_template(
                messages,
                tools=tools,
                chat_template=self._template,
                add_generation_prompt=True,
                tokenize=False,
                enable_thinking=self._thinking,
            )
        )

    def prompt(self, form: ChatForm, parts: PromptParts) -> str:
        """The prompt text of a request, foreign control tokens broken."""
        turns = [
            ChatTurn(turn.role, str(self._clean(turn.content)), turn.name)
            for turn in parts.messages
        ]
        tools: list[CompactTool] = []
        for tool in parts.tools:
            parameters = self._clean(tool.parameters)
            assert isinstance(parameters, dict)
            tools.append(CompactTool(tool.name, str(self._clean(tool.description)), parameters))
        return self.text(form.messages(str(self._clean(parts.system)), turns), form.tools(tools))

    def _clean(self, value: JsonValue) -> JsonValue:
        return without_control_tokens(value, self._control)


def load(folder: Path, wanted: Wanted, note: Note) -> LoadedModel:
    """Load the model of a folder; blocks for seconds.

    `note` gets what a person should know, as sentences. Raises `ModelUnavailable` with one line
    when the template, the device or the files do not do."""
    transformers: Any = import_module("transformers")
    options = {"local_files_only": True, "trust_remote_code": wanted.trust_remote_code}
    try:
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, **options)
        config: Any = transformers.AutoConfig.from_pretrained(folder, **options)
    except (OSError, ValueError, KeyError, ImportError) as exc:
        raise ModelUnavailable(f"{wanted.name} cannot be loaded: {_sentence(exc)}") from exc

    def weights() -> tuple[Any, str]:
        machine = this_machine()
        parameters = parameter_count(weight_files(folder))
        placement = place(wanted.device, wanted.dtype, parameters, machine, wanted.quantize)
        return _weights(folder, placement, machine, wanted), placement.text

    return assembled(tokenizer, config, weights, wanted, note)


def assembled(
    tokenizer: Any, config: Any, weights: Callable[[], tuple[Any, str]], wanted: Wanted, note: Note
) -> LoadedModel:
    """A model with its tokenizer, ready to speak.

    `weights` gives the model and where it is, and is called last: what is wrong with the template
    is told before anything heavy. `note` and errors as for `load`."""
    backend = _backend(tokenizer, wanted.name)
    if not (wanted.chat_template or tokenizer.chat_template):
        raise ModelUnavailable(_no_template(wanted.name))
    rendering = Rendering(tokenizer, wanted.chat_template, thinking=wanted.thinking)
    try:
        form = choose_form(rendering.text, rendering.source(), rendering.added)
    except ModelUnavailable as exc:
        raise ModelUnavailable(f"{wanted.name} cannot be used: {exc}") from exc
    for text in [*form.notes, *_lossy(backend, form)]:
        note(text)
    model, place_text = weights()
    use_short_attention(model)
    end_ids = _end_ids(tokenizer, model)
    grammars = _grammars(backend, end_ids, note) if wanted.constrained else None
    engine = Engine(
        model,
        backend,
        end_ids=end_ids,
        grammars=grammars,
        reuse_prefix=wanted.reuse_prefix,
        prompt_lookup=wanted.prompt_lookup,
    )
    window = min(wanted.max_context, _model_window(config, tokenizer))
    if wanted.compiled:
        reason = engine.compile_steps(window)
        if reason:
            note(f"decoding is not compiled: {reason}")
        else:
            place_text += ", compiled"
    return LoadedModel(engine, form, rendering, window, place_text)


def check_chat_template(folder: Path, name: str) -> None:
    """Raise `ModelUnavailable` when a model folder holds no chat template."""
    if (folder / "chat_template.jinja").is_file() or (folder / "chat_template.json").is_file():
        return
    if (folder / "additional_chat_templates").is_dir():
        return
    try:
        config: JsonValue = json.loads(
            (folder / "tokenizer_config.json").read_text(encoding="utf-8")
        )
    except (OSError, ValueError):
        config = {}
    if not (isinstance(config, dict) and config.get("chat_template")):
        raise ModelUnavailable(_no_template(name))


def _no_template(name: str) -> str:
    return f"{name} has no chat template; pass one as chat_template"


def this_machine() -> Machine:
    """The devices that torch sees, with what is free on them now."""
    import torch

    gpus = [
        Gpu(
            torch.cuda.get_device_name(index),
            torch.cuda.mem_get_info(index)[0],
            torch.cuda.get_device_capability(index) >= (8, 0),
        )
        for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0)
    ]
    return Machine(gpus, torch.backends.mps.is_available(), cpu_bfloat16)


@cache
def cpu_bfloat16() -> bool:
    """Whether bfloat16 is at least half again as quick as float32 on this CPU.

    Timed with one 256 x 256 product, the best of five: a CPU without native support is a hundred
    times slower in it, one with it several times quicker. One thread and its own time: on a busy
    machine several wait for each other, and that made the answer a matter of luck."""
    import torch

    def seconds(dtype: torch.dtype) -> float:
        square = torch.ones(256, 256, dtype=dtype)
        times: list[float] = []
        for _ in range(6):
            start = time.thread_time()
            torch.mm(square, square)
            times.append(time.thread_time() - start)
        return min(times[1:])

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return seconds(torch.bfloat16) * 1.5 < seconds(torch.float32)
    finally:
        torch.set_num_threads(threads)


def _backend(tokenizer: Any, name: str) -> "Tokenizer":
    """A copy of the tokenizer of our own, so that no other thread changes its settings."""
    from tokenizers import Tokenizer

    backend = getattr(tokenizer, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        raise ModelUnavailable(f"{name} has no tokenizer.json, or one that cannot be read")
    copy = Tokenizer.from_str(backend.to_str())
    copy.no_padding()
    copy.no_truncation()
    return copy


def _lossy(tokenizer: "Tokenizer", form: ChatForm) -> list[str]:
    """What would not survive being written and read, as sentences."""
    markers = CALL_MARKERS[form.call_format]
    lost = [text for text in (*markers, *_EXACT_TEXTS) if not _exact(tokenizer, text)]
    return [f"the tokenizer does not give {text!r} back as it is" for text in lost]


def _exact(tokenizer: "Tokenizer", text: str) -> bool:
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    return tokenizer.decode(ids, skip_special_tokens=False) == text


def _weights(folder: Path, placement: Placement, machine: Machine, wanted: Wanted) -> Any:
    """The model in eval mode on its device, from safetensors only."""
    import torch

    transformers: Any = import_module("transformers")
    dtypes: dict[Dtype, torch.dtype] = {
        "bfloat16": torch.bfloat16,
        "float16": torch.float16,
        "float32": torch.float32,
    }
    options: dict[str, Any] = {
        "dtype": dtypes[placement.dtype],
        "use_safetensors": True,
        "local_files_only": True,
        "trust_remote_code": wanted.trust_remote_code,
    }
    if wanted.quantize is not None:
        options["quantization_config"] = quantization(
            wanted.quantize, placement.device_map, placement.dtype
        )
        options["device_map"] = {"": "cpu"}  # none would mean the first GPU
    if placement.device_map == "auto":
        # No entry for the CPU: what does not fit is an error below, never an offload.
        free = {index: int(gpu.free_bytes * 0.95) for index, gpu in enumerate(machine.gpus)}
        options |= {"device_map": "auto", "max_memory": free}
    elif placement.device_map != "cpu":
        options["device_map"] = {"": placement.device_map}
    try:
        with load_lock, without_bars():
            model: Any = transformers.AutoModelForCausalLM.from_pretrained(folder, **options)
    except (OSError, ValueError, KeyError, ImportError) as exc:
        raise ModelUnavailable(f"{wanted.name} cannot be loaded: {_sentence(exc)}") from exc
    places = {str(place) for place in getattr(model, "hf_device_map", {}).values()}
    if places & {"cpu", "disk", "meta"} and placement.device_map != "cpu":
        raise ModelUnavailable(f"{wanted.name} does not fit the GPUs whole")
    return model.eval()


@contextmanager
def without_bars() -> Generator[None]:
    """While inside, the library draws no progress bars: progress is told in our own way."""
    quiet: Any = import_module("transformers").utils.logging
    bars = quiet.is_progress_bar_enabled()
    quiet.disable_progress_bar()
    try:
        yield
    finally:
        if bars:
            quiet.enable_progress_bar()


def _end_ids(tokenizer: Any, model: Any) -> list[int]:
    """Every token that ends a turn: what the files say, and the end markers that are tokens."""
    named: list[Any] = [tokenizer.eos_token_id]
    for config in (model.config, getattr(model, "generation_config", None)):
        ids = getattr(config, "eos_token_id", None)
        named += ids if isinstance(ids, list) else [ids]
    added: Mapping[str, int] = tokenizer.get_added_vocab()
    named += [added[marker] for marker in END_MARKERS if marker in added]
    return sorted({int(token) for token in named if token is not None})


def _grammars(tokenizer: "Tokenizer", end_ids: list[int], note: Note) -> Grammars | None:
    if find_spec("llguidance") is None:
        note("llguidance is not installed, so calls are not held to their schemas")
        return None
    added = {
        str(token.content): index for index, token in tokenizer.get_added_tokens_decoder().items()
    }
    return Grammars(tokenizer.to_str(), end_ids=end_ids, added=added, warn=note)


def _model_window(config: Any, tokenizer: Any) -> int:
    """The longest text that the model was made for, in tokens."""
    lengths = [
        getattr(config.get_text_config(), "max_position_embeddings", None),
        tokenizer.model_max_length,
    ]
    known = [int(length) for length in lengths if length and 0 < length < ABSURD_LENGTH]
    return min(known, default=ABSURD_LENGTH)


def _sentence(exc: BaseException) -> str:
    text = " ".join(str(exc).split())
    return text if len(text) <= 300 else f"{text[:299]}…"
