"""Tools whose parameters are one object: shown flat, called as the page wants them."""

import json
from dataclasses import replace

import pytest
from catalog_answers import catalog, written
from catalog_tools import (
    AMOUNT,
    CATALOG,
    CONTEXT,
    FILTERS,
    LINE,
    SEARCH_CATALOG,
    UPDATE_CART,
    a_list,
    a_text,
    an_object,
)
from hypothesis import given, strategies as st
from page_double import SEARCH, PageDouble, collect, request
from pydantic import JsonValue

from webmcp_agent.agent.history import messages_of
from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.ranking import rank_tools
from webmcp_agent.agent.request import RunRequest, user_message
from webmcp_agent.agent.schema import compact_schema
from webmcp_agent.agent.stream import ToolCall, ToolResult
from webmcp_agent.agent.tool_calls import write_call
from webmcp_agent.agent.trace import TraceEvent
from webmcp_agent.agent.validation import ValidArgs, validate_args
from webmcp_agent.agent.wrappers import flatten, restore, shown_schema, wrapper_of
from webmcp_agent.browser.tools import PageTool, ToolOk
from webmcp_agent.providers.base import ToolConstraint
from webmcp_agent.providers.scripted import ScriptedProvider

JsonObject = dict[str, JsonValue]

FIND = "Find boots"
FLAT = write_call("search_catalog", {"query": "boots"}, "tags")
WRAPPED = write_call("search_catalog", {"catalog": {"query": "boots"}}, "tags")


def with_choice(schema: JsonObject) -> JsonObject:
    return {**schema, "anyOf": [an_object({})]}


def names_shown(tool: PageTool, ask: str) -> list[str]:
    properties = shown_schema(tool, ask)["properties"]
    assert isinstance(properties, dict)
    return list(properties)


def test_a_tool_with_one_required_object_is_shown_without_it() -> None:
    (shown,) = rank_tools([SEARCH_CATALOG], FIND)
    assert shown.parameters == {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "Words to look for"}},
        "required": ["query"],
    }
    (shown,) = rank_tools([UPDATE_CART], "Add the boots twice")
    assert shown.parameters == {
        "type": "object",
        "properties": {"line_items": {"type": "array", "items": LINE}},
        "required": ["line_items"],
    }


@pytest.mark.parametrize(
    ("ask", "names"),
    [
        ("Find boots", ["query"]),
        ("Find boots under 50 euros", ["query", "filters"]),
        ("Find boots for 50 € at most", ["query", "filters"]),
        ("Show the next page", ["query", "pagination"]),
        ("What language do you speak?", ["query", "context"]),
    ],
)
def test_optional_objects_are_offered_when_the_request_has_a_word_of_theirs(
    ask: str, names: list[str]
) -> None:
    assert names_shown(SEARCH_CATALOG, ask) == names


def test_an_object_that_needs_nothing_is_offered_whole() -> None:
    tool = PageTool("t", "", an_object({"cart": an_object({"a": CONTEXT, "b": FILTERS})}, "cart"))
    assert names_shown(tool, FIND) == ["a", "b"]


def test_a_flat_tool_keeps_its_depth_before_its_descriptions() -> None:
    address = an_object({f"line_{at}": a_text("A line of the address" * 4) for at in range(9)})
    method = an_object({"type": a_text("How"), "destinations": a_list(address)})
    checkout = an_object({"fulfillment": an_object({"methods": a_list(method)})})
    tool = PageTool("update_checkout", "", an_object({"checkout": checkout}, "checkout"))
    (shown,) = rank_tools([tool], "Deliver it to my door")
    assert len(json.dumps(shown.parameters)) <= 1200
    lines = an_object({f"line_{at}": {"type": "string"} for at in range(9)})
    method = an_object({"type": {"type": "string"}, "destinations": a_list(lines)})
    assert shown.parameters == an_object({"fulfillment": an_object({"methods": a_list(method)})})


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(an_object({"query": a_text("Words")}, "query"), id="a plain text"),
        pytest.param(an_object({"a": CATALOG}), id="nothing is required"),
        pytest.param(an_object({"a": CATALOG, "b": CATALOG}, "a", "b"), id="two are required"),
        pytest.param(
            an_object({"a": an_object({"a": AMOUNT})}, "a"), id="a name inside is the wrapper's"
        ),
        pytest.param(
            an_object({"a": an_object({"b": AMOUNT}), "b": AMOUNT}, "a"), id="a name stands twice"
        ),
        pytest.param(with_choice(an_object({"a": CATALOG}, "a")), id="a choice outside"),
        pytest.param(an_object({"a": with_choice(CATALOG)}, "a"), id="a choice inside"),
        pytest.param(
            an_object({"a": {**CATALOG, "type": ["object", "null"]}}, "a"), id="it may be null"
        ),
        pytest.param(an_object({"a": {"type": "object"}}, "a"), id="no names are known"),
        pytest.param(
            an_object({"a": an_object({"b": {"$ref": "#/properties/a"}})}, "a"),
            id="it is referred to",
        ),
        pytest.param(an_object({"a": {**CATALOG, "minProperties": 1}}, "a"), id="a count inside"),
        pytest.param(None, id="no parameters"),
        pytest.param("{", id="no JSON"),
    ],
)
def test_other_tools_are_shown_as_they_are(schema: JsonObject | str | None) -> None:
    tool = PageTool("t", "", schema)
    assert wrapper_of(schema) is None
    assert rank_tools([tool], FIND)[0].parameters == compact_schema(schema)


def test_an_object_that_is_referred_to_and_what_stands_beside_it_are_flattened() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "catalog": {"$ref": "#/$defs/catalog", "description": "The search"},
            "dry_run": {"type": "boolean"},
        },
        "required": ["catalog"],
        "$defs": {"catalog": {**CATALOG, "additionalProperties": False}, "unused": AMOUNT},
    }
    wrapper = wrapper_of(json.dumps(schema))
    assert wrapper is not None
    assert (wrapper.name, wrapper.beside) == ("catalog", frozenset({"dry_run"}))
    assert wrapper.schema["required"] == ["query"]
    assert wrapper.schema["additionalProperties"] is False
    assert restore({"query": "x", "dry_run": True}, wrapper) == {
        "catalog": {"query": "x"},
        "dry_run": True,
    }


_args = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["catalog", "query", "filters", "dry_run", "other"]), inner, max_size=4
        ),
    ),
    max_leaves=8,
)
_schemas = st.sampled_from(
    [
        SEARCH_CATALOG.input_schema,
        an_object({"catalog": CATALOG, "dry_run": {"type": "boolean"}}, "catalog"),
        an_object({"catalog": {**CATALOG, "additionalProperties": False}}, "catalog"),
    ]
)


@given(
    _schemas,
    st.dictionaries(st.sampled_from(["query", "filters", "dry_run", "other"]), _args, max_size=3),
    _args,
)
def test_flat_arguments_are_what_was_sent_again_once_they_are_restored(
    schema: JsonObject, others: JsonObject, inner: JsonValue
) -> None:
    wrapper = wrapper_of(schema)
    assert wrapper is not None
    args: JsonObject = {**others, "catalog": inner}
    assert restore(flatten(args, wrapper), wrapper) == args
    assert restore(args, wrapper) == args


@given(
    _schemas,
    st.dictionaries(st.sampled_from(["query", "filters", "dry_run", "other"]), _args, max_size=4),
)
def test_flat_arguments_are_right_just_when_the_restored_ones_are(
    schema: JsonObject, args: JsonObject
) -> None:
    wrapper = wrapper_of(schema)
    assert wrapper is not None
    flat = validate_args(PageTool("t", "", wrapper.schema), args)
    sent = validate_args(PageTool("t", "", schema), restore(args, wrapper))
    assert isinstance(flat, ValidArgs) == isinstance(sent, ValidArgs)
    if isinstance(flat, ValidArgs) and isinstance(sent, ValidArgs):
        assert restore(flat.args, wrapper) == sent.args


def page() -> PageDouble:
    answer = ToolOk(written(catalog(20)))
    return PageDouble([SEARCH_CATALOG, UPDATE_CART], answers={"search_catalog": answer})


@pytest.mark.parametrize("reply", [FLAT, WRAPPED])
async def test_the_page_gets_its_own_form_and_the_model_reads_the_flat_one(reply: str) -> None:
    provider = ScriptedProvider([reply, "I found boots."])
    events: list[TraceEvent] = []
    parts = await collect(provider, request(page(), FIND), LocalLoopOptions(trace=events.append))
    sent = {"catalog": {"query": "boots"}}
    assert [part.args for part in parts if isinstance(part, ToolCall)] == [sent]
    assert [event.data["args"] for event in events if event.type == "call"] == [sent]
    first, second = provider.requests
    assert second.messages[1].content == FLAT
    assert first.constraints is not None
    assert first.constraints[0] == ToolConstraint(
        "search_catalog", shown_schema(SEARCH_CATALOG, FIND), ""
    )
    assert compact_schema(first.constraints[0].schema) == first.tools[0].parameters
    assert '{"name": "search_catalog", "arguments": {"query": "query"}}' in first.system


async def test_calls_of_the_history_are_written_flat() -> None:
    first = await collect(ScriptedProvider([FLAT, "I found boots."]), request(page(), FIND))
    provider = ScriptedProvider(["They are all boots."])
    messages = [user_message(FIND), *messages_of(first), user_message("Which?", "u2")]
    await collect(provider, RunRequest(messages, page()))
    turns = provider.requests[0].messages
    assert turns[1].content == FLAT
    (result,) = [part for part in first if isinstance(part, ToolResult)]
    assert len(result.text) > 80_000
    assert turns[2].content.startswith('[page content] {"products":[{"id":"gid://shop/Product/1')
    assert len(turns[2].content) <= 1500


async def test_what_is_wrong_is_told_in_the_form_that_was_written() -> None:
    missing = write_call("search_catalog", {"filters": {"price": {"max": "cheap"}}}, "tags")
    provider = ScriptedProvider([missing, FLAT, "I found boots."])
    await collect(provider, request(page(), FIND))
    told = provider.requests[1].messages[-1].content
    assert told == (
        'Error: search_catalog: missing "query" (Words to look for); "filters.price.max" must be '
        'a whole number, not the text "cheap". Try again.'
    )


async def test_the_trace_keeps_a_long_answer_whole_up_to_its_bound() -> None:
    events: list[TraceEvent] = []
    provider = ScriptedProvider([FLAT, "I found boots."])
    await collect(provider, request(page(), FIND), LocalLoopOptions(trace=events.append))
    (call,) = [event for event in events if event.type == "call"]
    assert call.data["answer"] == written(catalog(20))
    events.clear()
    long = replace(page(), answers={"search_catalog": ToolOk("x" * 200_000)})
    provider = ScriptedProvider([FLAT, "I found boots."])
    await collect(provider, request(long, FIND), LocalLoopOptions(trace=events.append))
    (call,) = [event for event in events if event.type == "call"]
    assert call.data["answer"] == "x" * 99_999 + "…"


async def test_a_page_without_wrappers_gets_its_schemas_unchanged() -> None:
    provider = ScriptedProvider(["Hello."])
    await collect(provider, request(PageDouble([SEARCH]), FIND))
    assert isinstance(SEARCH.input_schema, dict)
    assert provider.requests[0].constraints == (
        ToolConstraint(SEARCH.name, SEARCH.input_schema, SEARCH.fingerprint),
    )
