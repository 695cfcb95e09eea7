"""A device's memory: whether it has run out, whether the device is dead, and giving it back."""

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def out_of_memory(exc: BaseException) -> bool:
    """Whether a device ran out of memory."""
    import torch

    text = str(exc).lower()
    return isinstance(exc, torch.OutOfMemoryError) or (
        isinstance(exc, RuntimeError)
        and ("out of memory" in text or "can't allocate memory" in text)
    )


def device_is_dead(exc: BaseException, device: "torch.device") -> bool:
    """Whether a GPU cannot be used any more in this process."""
    return device.type == "cuda" and "CUDA error" in str(exc)


def free_memory() -> None:
    """Give back what nothing refers to any more."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
