"""Choices that a model writes in another case than the product's own list."""

import pytest
from catalog_answers import catalog, product, written
from catalog_tools import a_list, a_text, an_object
from hypothesis import given, strategies as st
from page_double import PageDouble, collect, request
from pydantic import JsonValue

from webmcp_agent.agent.choices import choices_in, with_own_labels
from webmcp_agent.agent.history import messages_of
from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.request import RunRequest, user_message
from webmcp_agent.agent.stream import ToolCall
from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.agent.trace import TraceEvent
from webmcp_agent.browser.tools import PageTool, ToolOk
from webmcp_agent.providers.scripted import ScriptedProvider

JsonObject = dict[str, JsonValue]

OWN = choices_in([product(1)])
CHOICE = an_object({"name": a_text("Option"), "label": a_text("Value")}, "name", "label")
GET_PRODUCT = PageTool(
    name="get_product",
    description="Get one product.",
    input_schema=an_object(
        {"catalog": an_object({"id": a_text("Product id"), "selected": a_list(CHOICE)}, "id")},
        "catalog",
    ),
    fingerprint="product-1",
)


def selected(name: str, label: str) -> JsonObject:
    return {"selected": [{"name": name, "label": label}]}


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        (selected("Color", "Blue"), selected("Color", "Blue")),
        (selected("color", "blue"), selected("Color", "Blue")),
        (selected("COLOR", " red "), selected("Color", "Red")),
        (selected("Size", "４２"), selected("Size", "42")),
        (selected("Color", "navy"), selected("Color", "navy")),
        (selected("Size", "blue"), selected("Size", "blue")),
        (selected("Width", "blue"), selected("Width", "blue")),
        ({"title": "blue"}, {"title": "blue"}),
        ({"buyer": {"name": "color"}}, {"buyer": {"name": "color"}}),
    ],
)
def test_a_choice_is_sent_as_the_product_spells_it(said: JsonObject, sent: JsonObject) -> None:
    assert with_own_labels(said, OWN)[0] == sent


def test_a_choice_that_is_spelled_in_two_ways_is_sent_as_it_was_written() -> None:
    options: list[JsonValue] = [{"name": "Color", "values": ["Blue", {"value": "BLUE"}, "Red"]}]
    own = choices_in([{"options": options}])
    assert with_own_labels(selected("Color", "blue"), own) == (selected("Color", "blue"), [])
    assert with_own_labels(selected("Color", "red"), own) == (
        selected("Color", "Red"),
        ['selected.0.label: "red" sent as "Red"'],
    )


async def test_a_run_learns_the_choices_from_its_answers_and_from_those_before_it() -> None:
    pick = write_call("get_product", {"id": "p", **selected("color", "blue")}, "tags")
    first = write_call("get_product", {"id": "p"}, "tags")
    answer = ToolOk(written(product(1)), product(1))
    page = PageDouble([GET_PRODUCT], answers={"get_product": answer})
    events: list[TraceEvent] = []
    parts = await collect(
        ScriptedProvider([first, pick, "It is blue."]),
        request(page, "Show the boot in blue"),
        LocalLoopOptions(trace=events.append),
    )
    sent = {"catalog": {"id": "p", **selected("Color", "Blue")}}
    assert [part.args for part in parts if isinstance(part, ToolCall)][1] == sent
    assert [event.data["changes"] for event in events if event.type == "args"] == [
        [
            'catalog.selected.0.name: "color" sent as "Color"',
            'catalog.selected.0.label: "blue" sent as "Blue"',
        ]
    ]
    messages = [user_message("Show it"), *messages_of(parts), user_message("In blue", "u2")]
    later = ScriptedProvider([pick, "It is blue."])
    again = await collect(later, RunRequest(messages, page))
    assert [part.args for part in again if isinstance(part, ToolCall)] == [sent]


async def test_what_the_tool_itself_spells_otherwise_stays_as_it_was_written() -> None:
    label: JsonObject = {"type": "string", "enum": ["blue"]}
    tool = PageTool("pick", "Pick", an_object({"name": a_text("Option"), "label": label}))
    page = PageDouble([GET_PRODUCT, tool], answers={"pick": "Picked."})
    page.answers["get_product"] = ToolOk(written(product(1)), product(1))
    replies = [
        write_call("get_product", {"id": "p"}, "tags"),
        write_call("pick", {"name": "Color", "label": "blue"}, "tags"),
        "Picked.",
    ]
    await collect(ScriptedProvider(replies), request(page, "Show the boot in blue"))
    assert page.calls[1] == ("pick", {"name": "Color", "label": "blue"})


_values = st.recursive(
    st.one_of(st.none(), st.integers(), st.sampled_from(["Blue", "blue", "Color", "color"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["name", "label", "value", "values", "options", "other"]), inner
        ),
    ),
    max_leaves=12,
)


@given(_values, st.dictionaries(st.sampled_from(["selected", "name", "label"]), _values))
def test_only_the_case_of_choices_ever_changes(answer: JsonValue, args: JsonObject) -> None:
    sent, changes = with_own_labels(args, choices_in([answer]))
    assert str(sent).casefold() == str(args).casefold()
    assert bool(changes) == (sent != args)
    assert with_own_labels(sent, choices_in([answer])) == (sent, [])


def test_a_long_answer_is_looked_at_up_to_a_bound() -> None:
    assert choices_in([catalog(20)])["color"] == {
        "blue": frozenset({"Blue"}),
        "red": frozenset({"Red"}),
    }
