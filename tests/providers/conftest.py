"""A tiny real Transformers model with a real tokenizer and chat template, and a way to lead it."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from webmcp_agent.providers.generation import Engine

CHAT_TEMPLATE = """\
{%- set spoken = messages -%}
{%- set start = '' -%}
{%- if messages and messages[0].role == 'system' -%}
  {%- set start = messages[0].content -%}
  {%- set spoken = messages[1:] -%}
{%- endif -%}
{%- if start or tools -%}
  {{- '<|im_start|>system\\n' + start -}}
  {%- if tools -%}
    {{- '\\nTools, one a line:\\n' -}}
    {%- for tool in tools -%}{{- tool | tojson + '\\n' -}}{%- endfor -%}
    {{- 'Calls are written <tool_call>{"name": NAME, "arguments": {}}</tool_call>' -}}
  {%- endif -%}
  {{- '<|im_end|>\\n' -}}
{%- endif -%}
{%- for turn in spoken -%}
  {%- if turn.role == 'tool' -%}
    {{- '<|im_start|>user\\n<tool_response>\\n' + turn.content -}}
    {{- '\\n</tool_response><|im_end|>\\n' -}}
  {%- else -%}
    {{- '<|im_start|>' + turn.role + '\\n' + turn.content + '<|im_end|>\\n' -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {{- '<|im_start|>assistant\\n' -}}
  {%- if enable_thinking -%}{{- '<think>\\n' -}}{%- endif -%}
{%- endif -%}
"""

CORPUS = [
    '{"name": "search_products", "arguments": {"query": "blue mug", "max_price": 20}}',
    '{"tool": "open_product", "args": {"id": 7}} {"reply": "It costs 8 euros."}',
    'search_products(query="blue mug", max_price=20), open_product(id=7)',
    "The blue mug costs 8 euros, and the red one costs 9. Shall I open its page for you?",
    "You are the assistant on this web page. You act with the page's tools.",
    "user assistant system tool result error try again",
]

SPECIAL = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|tool_call_start|>",
    "<|tool_call_end|>",
]
PLAIN = ["<tool_call>", "</tool_call>", "<think>", "</think>"]


def build_tokenizer() -> Any:
    """A byte-level BPE tokenizer with markers of both call formats."""
    tokenizers: Any = import_module("tokenizers")
    transformers: Any = import_module("transformers")
    backend = tokenizers.Tokenizer(tokenizers.models.BPE())
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=500,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=SPECIAL,
        show_progress=False,
    )
    backend.train_from_iterator(CORPUS * 4, trainer)
    backend.add_tokens(
        [tokenizers.AddedToken(text, special=False, normalized=False) for text in PLAIN]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=CHAT_TEMPLATE,
    )


def build_model(vocabulary: int, **fields: Any) -> Any:
    """A random model with the layers of a real one; equal on every run."""
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    torch.set_num_threads(1)  # tiny products gain nothing from more, and lose on a busy machine
    torch.manual_seed(7)
    kind = fields.pop("kind", "LlamaConfig")
    size = fields.pop("size", 32)
    config = getattr(transformers, kind)(
        vocab_size=vocabulary,
        hidden_size=size,
        intermediate_size=2 * size,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2048,
        bos_token_id=None,
        eos_token_id=2,
        pad_token_id=0,
        initializer_range=0.5,
        **fields,
    )
    return transformers.AutoModelForCausalLM.from_config(config).eval()


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `save_pretrained` leaves it: a random Llama of 50,000 parameters."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    tokenizer = build_tokenizer()
    build_model(len(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_tokenizer() -> Any:
    """The tokenizer of `tiny_model`."""
    return build_tokenizer()


@pytest.fixture(scope="session")
def new_model() -> Callable[..., Any]:
    """Builds a random model: `new_model(vocabulary, kind="LlamaConfig", size=32, **config)`."""
    return build_model


Lead = Callable[[Engine, int, str], None]


@pytest.fixture
def lead() -> Iterator[Lead]:
    """Makes a model want to write a text: `lead(engine, prompt_tokens, text)`.

    The model runs as it is; behind its last layer the token that goes on with the text, or ends
    the turn behind it, is made the likeliest. Where the reply has left the text the model is on
    its own, up to the end of a call, where it ends the turn."""

    hooks: dict[int, Any] = {}

    def lead_model(engine: Engine, prompt_tokens: int, text: str) -> None:
        read: dict[int, int] = {}

        def behind(_: Any, __: Any, given: dict[str, Any], output: Any) -> Any:
            new = [int(token) for token in given["input_ids"][0]]
            end = int(given["attention_mask"].shape[1])
            read.update(zip(range(end - len(new), end), new, strict=True))
            reply = [read[index] for index in range(prompt_tokens, end)]
            # A row for each token behind which the model was asked, the newest last.
            for row in range(min(output.logits.shape[1], len(reply) + 1)):
                wanted = wanted_behind(reply[: len(reply) - row])
                if wanted is not None:
                    output.logits[:, -1 - row, wanted] += 1000.0
            return output

        def wanted_behind(reply: list[int]) -> int | None:
            written = engine.tokenizer.decode(reply, skip_special_tokens=False)
            whole = engine.tokenizer.encode(text, add_special_tokens=False).ids
            rest = [min(engine.end_ids)]
            if reply == whole[: len(reply)]:
                rest = whole[len(reply) :] or rest
                written = text
            elif text.startswith(written) and text != written:
                rest = engine.tokenizer.encode(text[len(written) :], add_special_tokens=False).ids
            if text.startswith(written) or written.endswith(("</tool_call>", "<|tool_call_end|>")):
                return rest[0]
            return None

        if id(engine) in hooks:
            hooks.pop(id(engine)).remove()
        hooks[id(engine)] = engine.model.register_forward_hook(behind, with_kwargs=True)

    yield lead_model
    for hook in hooks.values():
        hook.remove()
