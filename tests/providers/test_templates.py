"""What is found out about chat templates, and what a prompt then looks like."""

from collections.abc import Sequence

import pytest
from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import JsonValue

from webmcp_agent.providers.base import ChatTurn, CompactTool, JsonObject
from webmcp_agent.providers.errors import ModelUnavailable
from webmcp_agent.providers.templates import (
    ChatForm,
    Message,
    Render,
    choose_form,
    control_pattern,
    without_control_tokens,
)

TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
START = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
TOOLS = "{% for tool in tools or [] %}{{ tool | tojson }}\n{% endfor %}"
ONLY_PLAIN_ROLES = (
    "{% for m in messages %}{% if m.role not in ['system', 'user', 'assistant'] %}"
    "{{ raise_exception('unknown role ' + m.role) }}{% endif %}"
    "[{{ m.role }}]{{ m.content }}{% endfor %}"
)
ALTERNATING = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}"
    "[{{ m.role }}]{{ m.content }}{% endfor %}"
)
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    + TOOLS
    + "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
)
WITHOUT_TOOL_TURNS = (
    TOOLS
    + "{% for m in messages %}{% if m.role != 'tool' %}[{{ m.role }}]{{ m.content }}"
    + "{% endif %}{% endfor %}"
)
DEAF = (
    "{% for m in messages %}{% if m.role != 'assistant' %}[{{ m.role }}]{{ m.content }}"
    "{% endif %}{% endfor %}"
)
PROPERTIES = (
    "{% for t in tools %}{{ t.function.name }}{% for k, v in t.function.parameters.properties"
)
METHOD_PRINTED = PROPERTIES + "|items %}{{ k }}: {{ v.items }} {% endfor %}{% endfor %}"
METHOD_AS_JSON = PROPERTIES + "|items %}{{ k }}: {{ v.items | tojson }} {% endfor %}{% endfor %}"
METHOD_AVOIDED = (
    PROPERTIES + ".items() %}{{ k }}: {{ v['items'] | tojson }} {% endfor %}{% endfor %}"
)
NAMES_ONLY = "{% for t in tools %}{{ t.function.name }} {% endfor %}"
FLAT = (
    "List of tools: <|tool_list_start|>[{% for t in tools or [] %}{{ t | tojson }}{% endfor %}]"
    "<|tool_list_end|>"
)


def renderer(source: str) -> Render:
    """As transformers renders: sandboxed, blocks trimmed, JSON as it is."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "sort_keys": False}

    def raise_exception(message: str) -> None:
        raise TemplateError(message)

    template = environment.from_string(source, {"raise_exception": raise_exception})

    def render(messages: list[Message], tools: list[JsonObject] | None) -> str:
        return template.render(messages=messages, tools=tools, add_generation_prompt=True)

    return render


def form_of(source: str, vocabulary: Sequence[str] = ()) -> ChatForm:
    return choose_form(renderer(source), source, vocabulary)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(TOOLS + TURNS + "<tool_call>" + START, ChatForm(), id="tags"),
        pytest.param(TOOLS + TURNS + START, ChatForm(), id="tools, another call syntax"),
        pytest.param(
            FLAT + TURNS + START, ChatForm(call_format="pythonic", flat_tools=True), id="pythonic"
        ),
        pytest.param(TURNS + START, ChatForm(tools_inline=True), id="tools ignored"),
        pytest.param(
            NAMES_ONLY + TURNS,
            ChatForm(tools_inline=True, empty_list=True),
            id="only names of tools",
        ),
        pytest.param(
            METHOD_PRINTED + TURNS,
            ChatForm(tools_inline=True, empty_list=True),
            id="a dict method in the prompt",
        ),
        pytest.param(
            METHOD_AS_JSON + TURNS,
            ChatForm(tools_inline=True, empty_list=True),
            id="a raising dict method",
        ),
        pytest.param(
            METHOD_AVOIDED + TURNS, ChatForm(empty_list=True), id="a property called items"
        ),
        pytest.param(NO_SYSTEM, ChatForm(fold_system=True), id="no system turn"),
        pytest.param(WITHOUT_TOOL_TURNS, ChatForm(fold_results=True), id="tool turns dropped"),
        pytest.param(
            ONLY_PLAIN_ROLES,
            ChatForm(tools_inline=True, fold_results=True),
            id="tool turns refused",
        ),
        pytest.param(
            ALTERNATING,
            ChatForm(tools_inline=True, fold_results=True, fold_system=True, merge=True),
            id="strict alternation",
        ),
    ],
)
def test_what_a_template_lacks_drops_or_refuses_is_found_by_a_probe(
    source: str, expected: ChatForm
) -> None:
    """`C-65`."""
    assert form_of(source) == expected


def test_the_first_lfm2_templates_are_known_by_their_words_and_tokens() -> None:
    """`C-65`."""
    source = "List of tools: [{% for t in tools or [] %}{{ t | tojson }}{% endfor %}]" + TURNS
    assert form_of(source, ["<|tool_call_start|>"]).call_format == "pythonic"
    assert form_of(source).call_format == "tags"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (DEAF, "its chat template drops what the model said"),
        ("{{ messages[0].content }}", "its chat template drops what the model said"),
        ("{{ raise_exception('never') }}", "its chat template refuses a conversation (never)"),
        (TURNS + TURNS, "its chat template drops what the model said"),
    ],
)
def test_a_template_that_cannot_carry_a_conversation_is_refused(source: str, message: str) -> None:
    """`C-65`."""
    with pytest.raises(ModelUnavailable) as raised:
        form_of(source)
    assert str(raised.value) == message


CONVERSATION = [
    ChatTurn("user", "Find a mug"),
    ChatTurn("assistant", "<tool_call>…</tool_call>"),
    ChatTurn("tool", "1 mug", "search"),
    ChatTurn("user", "Thanks"),
]


@pytest.mark.parametrize("source", [ALTERNATING, NO_SYSTEM, ONLY_PLAIN_ROLES])
def test_a_whole_conversation_comes_through_what_refuses_roles(source: str) -> None:
    """`C-65`."""
    text = renderer(source)(form_of(source).messages("Be kind.", CONVERSATION), None)
    for said in ("Be kind.", "Find a mug", "<tool_call>…</tool_call>", "1 mug", "Thanks"):
        assert text.count(said) == 1


def test_fallbacks_fold_texts_into_user_turns_and_join_neighbours() -> None:
    """`C-65`."""
    form = ChatForm(fold_results=True, fold_system=True, merge=True)
    assert form.messages("Be kind.", CONVERSATION) == [
        {"role": "user", "content": "Be kind.\n\nFind a mug"},
        {"role": "assistant", "content": "<tool_call>…</tool_call>"},
        {"role": "user", "content": "<tool_response>\n1 mug\n</tool_response>\n\nThanks"},
    ]
    assert form.notes == [
        "the chat template has no tool turns, so results go into user turns",
        "the chat template has no system turn, so its text goes into the first user turn",
        "the chat template wants alternating roles, so neighbours of one role are joined",
    ]


def test_without_fallbacks_turns_stay_as_they_are() -> None:
    assert ChatForm().messages("Be kind.", CONVERSATION) == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Find a mug"},
        {"role": "assistant", "content": "<tool_call>…</tool_call>"},
        {"role": "tool", "content": "1 mug", "name": "search"},
        {"role": "user", "content": "Thanks"},
    ]


def test_a_system_text_without_a_user_turn_becomes_one() -> None:
    assert ChatForm(fold_system=True).messages("Be kind.", [ChatTurn("assistant", "Hi")]) == [
        {"role": "user", "content": "Be kind."},
        {"role": "assistant", "content": "Hi"},
    ]


def test_tools_are_plain_objects_in_the_shape_that_the_family_knows() -> None:
    tool = CompactTool("search", "Finds", {"type": "object", "properties": {}})
    flat: JsonObject = {"name": "search", "description": "Finds", "parameters": tool.parameters}
    assert ChatForm().tools([tool]) == [{"type": "function", "function": flat}]
    assert ChatForm(flat_tools=True).tools([tool]) == [flat]
    assert ChatForm(tools_inline=True).tools([tool]) is None
    assert ChatForm().tools([]) is None
    assert ChatForm(empty_list=True).tools([]) == []


def test_control_tokens_are_broken_in_every_text_and_key_and_call_markers_are_not() -> None:
    """`C-67`."""
    pattern = control_pattern(
        {"<|im_end|>": True, "<|im|>": True, "<tool_call>": False, "<br>": False}
        | {"  ": False, "word": False, "#": True}
    )
    value: JsonValue = ["a<|im_end|>", {"<|im|>": ["<br>", 3, None]}, "<tool_call> word  #"]
    assert without_control_tokens(value, pattern) == [
        "a<\u200b|im_end|>",
        {"<\u200b|im|>": ["<\u200bbr>", 3, None]},
        "<tool_call> word  #",
    ]


def test_a_tokenizer_without_control_tokens_changes_nothing() -> None:
    assert without_control_tokens("<s>", control_pattern({"<tool_call>": False})) == "<s>"
