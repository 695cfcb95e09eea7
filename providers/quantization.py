"""Weights in 8 or 4 bits, made so while a model is loaded, with bitsandbytes.

Large products' weights alone: embeddings, norms and the last layer keep their number format. It is
for models that would not fit: 16 bits are quicker where they do, and more exact.
"""

import logging
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from webmcp_agent.providers.errors import ModelUnavailable

Quantize = Literal["int8", "int4"]

LIBRARY = "bitsandbytes"

_LOGGER = logging.getLogger(LIBRARY)


def missing_library() -> str:
    """What to install before weights can be quantized; empty when it is there."""
    if find_spec(LIBRARY) is not None:
        return ""
    return f'{LIBRARY} is not installed: pip install "webmcp-agent[quantize]"'


def quantization(quantize: Quantize, device: str, dtype: str) -> Any:
    """The library's settings for weights in `quantize` bits and results in `dtype`.

    8 bits with outliers kept exact, 4 bits as NF4 in blocks of 64 (Dettmers et al., LLM.int8(),
    2022, and QLoRA, 2023). Raises `ModelUnavailable` without the library, and for a kind of device
    that it does not serve."""
    if missing := missing_library():
        raise ModelUnavailable(missing)
    # It warns at each pass of a format that it converts, and of kernels on the hub when imported.
    _LOGGER.setLevel(logging.ERROR)
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    library: Any = import_module(LIBRARY)
    kind = "cuda" if device == "auto" else device.partition(":")[0]
    served: set[str] = set(library.supported_torch_devices)
    if kind not in served:
        raise ModelUnavailable(f"{LIBRARY} {library.__version__} has no {quantize} for {kind}")
    if quantize == "int8":
        return transformers.BitsAndBytesConfig(load_in_8bit=True)
    return transformers.BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_compute_dtype=getattr(torch, dtype),
    )
