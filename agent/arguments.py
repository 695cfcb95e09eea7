"""A call's arguments between the model, which writes them flat, and the page with its own form."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from pydantic import JsonValue

from webmcp_agent.agent.choices import choices_in, chooses, with_own_labels
from webmcp_agent.agent.validation import InvalidArgs, ValidArgs, validate_args
from webmcp_agent.agent.wrappers import flat_tool, sent_args, shown_schema, wrapper_of
from webmcp_agent.browser.tools import JsonObject, PageTool
from webmcp_agent.providers.base import ToolConstraint


def checked_args(
    tool: PageTool, args: JsonObject, answers: Callable[[], Iterable[JsonValue]]
) -> ValidArgs | InvalidArgs:
    """The arguments as the page takes them, or why it would not, in the form that was written.

    `answers` gives what the page has answered: a choice is sent as they spell it, when the tool
    takes it so."""
    sent = sent_args(tool, args)
    if chooses(sent):
        own, changes = with_own_labels(sent, choices_in(answers()))
        valid = validate_args(tool, own)
        if changes and isinstance(valid, ValidArgs):
            return replace(valid, changes=[*changes, *valid.changes])
    valid = validate_args(tool, sent)
    if sent is args or isinstance(valid, ValidArgs):
        return valid
    told = validate_args(flat_tool(tool), args)
    return told if isinstance(told, InvalidArgs) else valid


def constraint_of(tool: PageTool, ask: str) -> ToolConstraint:
    """What the arguments of a shown tool are held to while a model writes them."""
    # What is shown of a wrapped tool depends on the request: no fingerprint stands for it.
    wrapped = wrapper_of(tool.input_schema) is not None
    return ToolConstraint(tool.name, shown_schema(tool, ask), "" if wrapped else tool.fingerprint)
