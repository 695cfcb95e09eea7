"""Models that run on your machine, or on one that you name.

Importing this loads no model library: each provider is loaded when it is built.
"""

from webmcp_agent.providers.abort import AbortController, AbortSignal
from webmcp_agent.providers.base import (
    Available,
    CallFormat,
    ChatTurn,
    CompactTool,
    Disposable,
    Downloading,
    Fits,
    GenerateRequest,
    GenerateResult,
    LocalProvider,
    ModelChoice,
    NeedsDownload,
    OffersModels,
    PromptParts,
    ProviderAvailability,
    ToolConstraint,
    Unavailable,
    Usage,
)
from webmcp_agent.providers.detection import (
    DetectedProvider,
    create_server_provider,
    create_transformers_provider,
    detect_local_providers,
    provider_from_name,
)
from webmcp_agent.providers.errors import (
    Aborted,
    DownloadFailed,
    ModelFailed,
    ModelUnavailable,
    NotReady,
    PromptTooLong,
    ProviderError,
    RecordingMissing,
    ScriptExhausted,
)
from webmcp_agent.providers.recorded import RecordedProvider
from webmcp_agent.providers.scripted import ScriptedProvider

__all__ = [
    "AbortController",
    "AbortSignal",
    "Aborted",
    "Available",
    "CallFormat",
    "ChatTurn",
    "CompactTool",
    "DetectedProvider",
    "Disposable",
    "DownloadFailed",
    "Downloading",
    "Fits",
    "GenerateRequest",
    "GenerateResult",
    "LocalProvider",
    "ModelChoice",
    "ModelFailed",
    "ModelUnavailable",
    "NeedsDownload",
    "NotReady",
    "OffersModels",
    "PromptParts",
    "PromptTooLong",
    "ProviderAvailability",
    "ProviderError",
    "RecordedProvider",
    "RecordingMissing",
    "ScriptExhausted",
    "ScriptedProvider",
    "ToolConstraint",
    "Unavailable",
    "Usage",
    "create_server_provider",
    "create_transformers_provider",
    "detect_local_providers",
    "provider_from_name",
]
