"""Do a request with a page's tools and a local model.

The loop, the adapter around it, the pure functions that it is made of, its stream parts, and the
provider types again, so that one import serves. Importing this loads no engine and no browser.
"""

from webmcp_agent.agent.adapter import (
    AgentAdapter,
    LocalAdapter,
    LocalAdapterOptions,
    create_local_adapter,
)
from webmcp_agent.agent.history import cut_to_last_call, messages_of
from webmcp_agent.agent.loop import run_local_agent
from webmcp_agent.agent.options import LocalLoopOptions
from webmcp_agent.agent.ranking import rank_tools
from webmcp_agent.agent.request import (
    AgentDefinition,
    AgentRunRequest,
    CallPart,
    ChatMessage,
    RunRequest,
    TextPart,
    user_message,
)
from webmcp_agent.agent.schema import compact_schema
from webmcp_agent.agent.stream import (
    AgentStreamPart,
    CallReport,
    Finish,
    MessageStart,
    RunError,
    RunReport,
    TextDelta,
    ToolCall,
    ToolError,
    ToolResult,
    part_from_json,
    report_of,
)
from webmcp_agent.agent.tool_calls import (
    ParsedCall,
    ParsedReply,
    parse_tool_calls,
    write_call,
)
from webmcp_agent.agent.trace import TraceEvent
from webmcp_agent.agent.validation import InvalidArgs, ValidArgs, validate_args
from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.base import (
    Available,
    CallFormat,
    ChatTurn,
    CompactTool,
    Downloading,
    GenerateRequest,
    GenerateResult,
    LocalProvider,
    ModelChoice,
    NeedsDownload,
    PromptParts,
    ProviderAvailability,
    ToolConstraint,
    Unavailable,
    Usage,
)

__all__ = [
    "AbortController",
    "AbortSignal",
    "AgentAdapter",
    "AgentDefinition",
    "AgentRunRequest",
    "AgentStreamPart",
    "Available",
    "CallFormat",
    "CallPart",
    "CallReport",
    "ChatMessage",
    "ChatTurn",
    "CompactTool",
    "Downloading",
    "Finish",
    "GenerateRequest",
    "GenerateResult",
    "InvalidArgs",
    "LocalAdapter",
    "LocalAdapterOptions",
    "LocalLoopOptions",
    "LocalProvider",
    "MessageStart",
    "ModelChoice",
    "NeedsDownload",
    "ParsedCall",
    "ParsedReply",
    "PromptParts",
    "ProviderAvailability",
    "RunError",
    "RunReport",
    "RunRequest",
    "TextDelta",
    "TextPart",
    "ToolCall",
    "ToolConstraint",
    "ToolError",
    "ToolResult",
    "TraceEvent",
    "Unavailable",
    "Usage",
    "ValidArgs",
    "compact_schema",
    "create_local_adapter",
    "cut_to_last_call",
    "messages_of",
    "parse_tool_calls",
    "part_from_json",
    "rank_tools",
    "report_of",
    "run_local_agent",
    "user_message",
    "validate_args",
    "write_call",
]
