"""Where a call begins in a reply that comes in pieces of any length."""

import pytest
from hypothesis import given, strategies as st

from webmcp_agent.providers.triggers import ReplyWatch, Start


def first_start(
    text: str, *, size: int = 1, reasoning: bool = False, inline: bool = False
) -> tuple[Start | None, str]:
    """The first start, and the text up to and with it."""
    watch = ReplyWatch(reasoning=reasoning, inline=inline)
    for at in range(0, len(text), size):
        if start := watch.read(text[at : at + size]):
            return start, text[: at + size].removesuffix(start.rest)
    return None, text


STARTS = [
    pytest.param("<tool_call>\n{", "tags", "<tool_call>", id="tags"),
    pytest.param("Sure! <tool_call>{", "tags", "Sure! <tool_call>", id="tags behind prose"),
    pytest.param("<|tool_call_start|>[a", "pythonic", "<|tool_call_start|>", id="pythonic"),
    pytest.param('{"name": "a"', "bare", '{"name"', id="bare"),
    pytest.param('\n { "name": 1', "bare", '\n { "name"', id="bare with blanks"),
    pytest.param('<think>x</think>\n{"name":', "bare", '<think>x</think>\n{"name"', id="thought"),
    pytest.param(
        '```json\n{\n  "name": 1', "spread", '```json\n{\n  "name"', id="fenced, over lines"
    ),
    pytest.param('```\n{"name": 1', "bare", '```\n{"name"', id="in a plain code fence"),
    pytest.param('[\n{"name": 1', "list", '[\n{"name"', id="in a list"),
    pytest.param('```json\n[{"name": 1', "list", '```json\n[{"name"', id="in a fenced list"),
    pytest.param(
        "<think><tool_call></think><tool_call>x",
        "tags",
        "<think><tool_call></think><tool_call>",
        id="behind reasoning that holds a marker",
    ),
]

NO_STARTS = [
    pytest.param("The mug costs 8 euros.", id="prose"),
    pytest.param('The answer is {"name": "mug"}', id="an object inside prose"),
    pytest.param('{"title": "mug", "name": "x"}', id="another object"),
    pytest.param('{"names": 1}', id="a longer key"),
    pytest.param('Here:\n```json\n{"name": "mug"}', id="a fence behind prose"),
    pytest.param('```python\nprint({"name": 1})', id="other code in a fence"),
    pytest.param('["name"]', id="a list of texts"),
    pytest.param("<think><tool_call>{}", id="inside reasoning"),
    pytest.param("<|im_end|><tool_call>", id="behind the end of the turn"),
    pytest.param("<tool_calls>", id="a longer marker"),
]


@pytest.mark.parametrize(("text", "how", "read"), STARTS)
def test_a_call_starts_where_the_model_starts_it(text: str, how: str, read: str) -> None:
    """`C-70`."""
    for size in (1, 3, len(text)):
        start, before = first_start(text, size=size)
        assert start is not None
        assert (start.how, before) == (how, read)


@pytest.mark.parametrize("text", NO_STARTS)
def test_nothing_else_starts_one(text: str) -> None:
    """`C-70`."""
    for size in (1, 3, len(text)):
        assert first_start(text, size=size)[0] is None


def test_an_object_with_a_tool_starts_a_call_only_where_tools_are_listed_in_the_prompt() -> None:
    """`C-70`."""
    text = '{"tool": "search"'
    assert first_start(text, inline=True)[0] == Start("inline", "")
    assert first_start(text)[0] is None


def test_a_prompt_that_ends_inside_reasoning_keeps_calls_from_starting() -> None:
    """`C-70`."""
    assert first_start("<tool_call>", reasoning=True)[0] is None
    start, _ = first_start("hm</think>\n\n<tool_call>", reasoning=True)
    assert start == Start("tags", "")


def test_reasoning_is_known_while_it_lasts() -> None:
    watch = ReplyWatch()
    told: list[bool] = []
    for piece in ("<thi", "nk>a", "b", "</think", ">", "c"):
        watch.read(piece)
        told.append(watch.reasoning)
    assert told == [False, True, True, True, False, False]


def test_a_text_that_ends_the_turn_is_noticed() -> None:
    watch = ReplyWatch()
    watch.read("It costs 8 euros.<tool_resp")
    assert not watch.ended
    watch.read("onse>")
    assert watch.ended


def test_a_second_call_starts_behind_the_first() -> None:
    watch = ReplyWatch()
    assert watch.read("<tool_call>") == Start("tags", "")
    watch.resume()
    assert watch.read(' and {"name": 1} ') is None
    assert watch.read("<tool_call>{") == Start("tags", "{")


PIECES = st.lists(
    st.sampled_from(
        ["<tool_call>", "<|tool_call_start|>", "<think>", "</think>", '{"name"', "<|im_end|>"]
        + ["{", '"', "n", "a", " ", "<", ">", "tool", "_call", "\n", "/think"]
    ),
    max_size=12,
)


@given(pieces=PIECES, size=st.integers(1, 7))
def test_the_start_does_not_depend_on_how_the_text_is_cut(pieces: list[str], size: int) -> None:
    """`C-70`."""
    text = "".join(pieces)
    start, before = first_start(text, size=1)
    again, also_before = first_start(text, size=size)
    assert (start and start.how, before) == (again and again.how, also_before)
