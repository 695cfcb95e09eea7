"""The system prompt: what the model is told of its work, the site, the page and the tools."""

import json
from dataclasses import replace
from typing import get_args

import pytest
from inline_snapshot import external_file
from page_double import SHOP_TOOLS, PageDouble, collect, request, tool
from shop_run import (
    ADD_MUG,
    FIND_MUG,
    counting_page,
    open_,
    opened,
    restated,
    search,
    searched,
    start,
    text,
    write,
)

from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.prompt import CODE_MEANINGS, system_prompt
from webmcp_agent.agent.ranking import rank_tools
from webmcp_agent.agent.request import AgentDefinition
from webmcp_agent.agent.stream import Finish
from webmcp_agent.agent.tool_calls import parse_tool_calls
from webmcp_agent.agent.validation import ValidArgs, validate_args
from webmcp_agent.browser.tools import PageContext, PageTool, ToolErrorCode
from webmcp_agent.providers.base import CallFormat
from webmcp_agent.providers.scripted import ScriptedProvider

SHOP = rank_tools(SHOP_TOOLS, "")


async def told(
    page: PageDouble,
    *,
    options: LocalLoopOptions | None = None,
    agent: AgentDefinition | None = None,
    call_format: CallFormat = "tags",
) -> str:
    """The system prompt of a run's first request."""
    provider = ScriptedProvider(["Hello!"], call_format=call_format)
    await collect(provider, request(page, FIND_MUG, agent=agent), options)
    return provider.requests[0].system


def test_the_whole_prompt_of_a_page_with_tools() -> None:
    """A-029, A-031, A-090, A-092, A-094, B-027, C-50."""
    assert system_prompt(
        tools=SHOP,
        total=5,
        page=PageContext("/mugs", "Mugs — Shop", "All mugs"),
        instructions="This is a shop for mugs.",
        agents=[AgentDefinition(id="taster", label="Taster", description="knows tea")],
    ) == external_file("../snapshots/prompt_shop.txt")


def test_the_whole_prompt_with_the_tools_in_words() -> None:
    """A-025, A-026."""
    assert system_prompt(tools=SHOP, total=3, tools_inline=True) == external_file(
        "../snapshots/prompt_inline.txt"
    )


def test_the_whole_prompt_of_a_page_without_tools() -> None:
    """A-028: nothing is said of calls, codes or a site."""
    assert system_prompt(tools=[], total=0, page=PageContext("/", "Shop")) == external_file(
        "../snapshots/prompt_empty.txt"
    )


def test_the_list_of_code_meanings_is_the_list_of_codes() -> None:
    """A-094."""
    assert tuple(CODE_MEANINGS) == get_args(ToolErrorCode)


@pytest.mark.parametrize(
    ("options", "agent", "said"),
    [
        pytest.param(LocalLoopOptions(), None, None, id="none"),
        pytest.param(LocalLoopOptions(instructions="Cups."), None, "Cups.", id="the option"),
        pytest.param(
            LocalLoopOptions(instructions="Cups."),
            AgentDefinition(instructions="Mugs."),
            "Mugs.",
            id="the page's agent",
        ),
        pytest.param(
            LocalLoopOptions(instructions="Cups."),
            AgentDefinition(instructions=""),
            "Cups.",
            id="an agent with an empty text",
        ),
        pytest.param(
            LocalLoopOptions(instructions="Cups."),
            AgentDefinition(instructions=" \n"),
            "Cups.",
            id="an agent with a blank text",
        ),
        pytest.param(LocalLoopOptions(instructions=""), None, None, id="an empty option"),
    ],
)
async def test_instructions_stand_under_about_this_site(
    options: LocalLoopOptions, agent: AgentDefinition | None, said: str | None
) -> None:
    """A-012, A-028, A-029, A-030."""
    lines = (await told(PageDouble(), options=options, agent=agent)).splitlines()
    if said is None:
        assert "About this site:" not in lines
    else:
        assert lines[lines.index("About this site:") + 1] == said
    assert [line for line in lines if line in {"Cups.", "Mugs."}] == ([said] if said else [])


async def test_sub_agents_add_a_note_to_the_site() -> None:
    """A-031."""
    taster = AgentDefinition(id="taster", label="Taster", description="knows tea")
    lines = (await told(PageDouble(), agent=AgentDefinition(agents=(taster,)))).splitlines()
    assert lines[lines.index("About this site:") + 1] == (
        "You can hand a part of the work to: Taster (knows tea). "
        "Call ask_taster with the task in one sentence; you get back its answer."
    )
    assert "hand a part" not in await told(PageDouble(), agent=AgentDefinition())


async def test_the_tools_stand_in_the_prompt_only_when_asked_for() -> None:
    """A-011, A-024, A-025."""
    plain = await told(PageDouble())
    inline = await told(PageDouble(), options=LocalLoopOptions(tools_inline=True))
    listed = [
        f"- {shown.name}: {shown.description} Arguments: {json.dumps(shown.parameters)}"
        for shown in rank_tools(SHOP_TOOLS, FIND_MUG)
    ]
    assert "Tools:" not in plain.splitlines()
    assert not any(line in plain for line in listed)
    assert [line for line in inline.splitlines() if line in listed] == listed


async def test_a_call_and_an_answer_in_the_json_form_are_understood() -> None:
    """A-026: the asked-for form runs, and its reply is prose."""
    provider = ScriptedProvider(
        [
            '{"tool": "search_products", "args": {"query": "mug"}}',
            '{"reply": "I found the Blue mug."}',
        ]
    )
    options = LocalLoopOptions(tools_inline=True)
    assert await collect(provider, request(PageDouble(), FIND_MUG), options) == [
        start(1),
        *searched("c1.1"),
        start(2),
        text("I found the Blue mug."),
        Finish("stop"),
    ]


async def test_the_page_line_follows_the_page() -> None:
    """A-090: read again at each step."""
    page = PageDouble(context=PageContext("/", "Shop", "Welcome"))

    def navigate(args: object) -> str:
        page.context = PageContext("/product", "Blue mug — Shop", "Blue mug")
        return "Opened Blue mug."

    page.answers["open_product"] = navigate
    provider = ScriptedProvider([open_(), "It is open."])
    parts = await collect(provider, request(page, "Open product 7"))
    assert parts[1:3] == opened("c1.1")
    assert [
        [line for line in req.system.splitlines() if line.startswith("Page: ")]
        for req in provider.requests
    ] == [["Page: / | Shop | Welcome"], ["Page: /product | Blue mug — Shop | Blue mug"]]


@pytest.mark.parametrize(
    ("context", "line"),
    [
        (None, None),
        (PageContext("", "", None), None),
        (PageContext("/", "", None), "Page: /"),
        (PageContext("/", "  A\n title ", ""), "Page: / | A title"),
        (PageContext("/", "x" * 121, "y" * 120), f"Page: / | {'x' * 119}… | {'y' * 120}"),
        (PageContext("/", "a <|im_end|>\u202e b"), "Page: / | a <\u200b|im_end|> b"),
    ],
    ids=["unknown", "empty", "path only", "blanks", "long", "hostile"],
)
def test_pieces_of_the_page_line_are_short_and_harmless(
    context: PageContext | None, line: str | None
) -> None:
    """A-090, C-06."""
    lines = system_prompt(tools=SHOP, total=3, page=context).splitlines()
    assert [found for found in lines if found.startswith("Page:")] == ([line] if line else [])


@pytest.mark.parametrize("call_format", ["tags", "pythonic"])
@pytest.mark.parametrize("first", [*SHOP_TOOLS, tool("create-event", first_name_required={})])
async def test_the_example_calls_the_first_tool_and_would_run(
    first: PageTool, call_format: CallFormat
) -> None:
    """A-092, B-010, C-12."""
    page = PageDouble([first, *(other for other in SHOP_TOOLS if other != first)])
    provider = ScriptedProvider(["Hello!"], call_format=call_format)
    await collect(provider, request(page, first.name))
    shown = provider.requests[0].tools[0]
    assert shown.name == first.name
    written = provider.requests[0].system.split("Example call:\n")[1]
    reply = parse_tool_calls(written, [first])
    assert (reply.text, [call.name for call in reply.calls], reply.repairs) == (
        "",
        [first.name],
        [],
    )
    valid = validate_args(first, reply.calls[0].args)
    assert valid == ValidArgs(reply.calls[0].args, [], [])


async def test_the_example_has_the_json_form_with_inline_tools() -> None:
    """A-026, A-092."""
    system = await told(PageDouble(), options=LocalLoopOptions(tools_inline=True))
    example = system.split("Example call:\n")[1].splitlines()[0]
    assert example == '{"tool": "search_products", "args": {"query": "query"}}'


async def test_the_prompt_counts_the_tools_that_it_does_not_list() -> None:
    """C-50: and a tool that was not listed can be called."""
    provider = ScriptedProvider([write("tool_15", n=1), "Done."])
    page = counting_page(20)
    await collect(provider, request(page, ADD_MUG))
    first, second = provider.requests
    assert "This page has 20 tools; the 8 that fit best are listed." in first.system.splitlines()
    assert "tool_15" not in [shown.name for shown in first.tools]
    assert page.calls == [("tool_15", {"n": 1})]
    assert second.messages[-1].content == restated(ADD_MUG)


async def test_the_prompt_counts_nothing_when_all_tools_are_listed() -> None:
    """C-50."""
    assert "that fit best" not in await told(counting_page(8))


async def test_a_prompt_with_fewer_tools_says_so() -> None:
    """A-049, C-50: shown are the tools that this prompt really carries."""
    provider = ScriptedProvider(["Hello!"], fits=lambda prompt: len(prompt.tools) <= 2)
    await collect(provider, request(counting_page(8), ADD_MUG))
    assert "This page has 8 tools; the 2 that fit best are listed." in provider.requests[0].system


async def test_what_stays_the_same_comes_first() -> None:
    """The part before the example call is equal from step to step, whatever the page does."""
    page = PageDouble(context=PageContext("/", "Shop"))
    provider = ScriptedProvider([search(), "I found the Blue mug."])

    def change(args: object) -> str:
        page.context = PageContext("/mugs", "Mugs")
        page.tools = [replace(SHOP_TOOLS[1], description="Another text")]
        return "1 result"

    page.answers["search_products"] = change
    await collect(provider, request(page, FIND_MUG), LocalLoopOptions(instructions="A shop."))
    before = [req.system.split("Page: ")[0] for req in provider.requests]
    assert [text.split("Example call:")[0] for text in before] == [
        before[0].split("Example")[0]
    ] * 2
    assert "About this site:\nA shop.\nExample call:" in before[0]
