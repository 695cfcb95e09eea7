"""What a model provider raises.

ProviderError
├── Aborted            Stop was pressed, or the wait for the model ran out
├── NotReady           `generate` was called before `prepare` was done
├── PromptTooLong      the prompt does not fit the model's window
├── ModelUnavailable   no such model, a missing library, a wrong file
├── ModelFailed        the engine behind a provider failed, or answered with something else
├── DownloadFailed     the model's files could not be had whole
├── ScriptExhausted    a scripted provider has no reply left
└── RecordingMissing   a recorded provider was asked something new
"""


class ProviderError(Exception):
    """Base of everything that this folder raises."""


class Aborted(ProviderError):
    """The work was stopped on request."""


class NotReady(ProviderError):
    """The model is not loaded; call `prepare` first."""


class PromptTooLong(ProviderError):
    """The prompt and the room for a reply exceed the model's window."""


class ModelUnavailable(ProviderError):
    """The model cannot run here; the message says why and what to do."""


class ModelFailed(ProviderError):
    """The engine that runs the model failed; the message has its own words."""


class DownloadFailed(ProviderError):
    """A model file could not be downloaded whole; what had arrived is kept for the next try."""


class ScriptExhausted(ProviderError):
    """The script has no further reply."""


class RecordingMissing(ProviderError):
    """No recording of this request."""
