"""On which device and in which number format a model runs: a decision, from what is there.

Pure: `huggingface.py` looks at the machine and does what is decided here. Nothing is ever put on
a disk or left out quietly: a model goes whole onto the GPUs, or whole onto the CPU, or nowhere.
"""

import json
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from webmcp_agent.providers.errors import ModelUnavailable

Dtype = Literal["bfloat16", "float16", "float32"]

DTYPE_BYTES: dict[Dtype, int] = {"bfloat16": 2, "float16": 2, "float32": 4}

QUANTIZED_BYTES: dict[str, float] = {"int8": 1.3, "int4": 1.0}
"""Per parameter of a whole model in which embeddings and the last layer keep 16 bits: in shapes of
0.1 to 8 billion they are 10 to 28 % of all, and 8 bits came to at most 1.28, 4 bits to 0.96."""

DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?")

HEADROOM = 1.15
"""Of a device's free memory, this much per byte of weights: room for the cache and for work."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One CUDA device."""

    name: str
    free_bytes: int
    bfloat16: bool
    """Whether it computes bfloat16 itself (compute capability 8.0 and later)."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What a model could run on."""

    gpus: Sequence[Gpu] = ()
    mps: bool = False
    cpu_bfloat16: Callable[[], bool] = lambda: False
    """Whether bfloat16 is clearly quicker than float32 on the CPU; asked only when it matters."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the model goes."""

    device_map: str
    """A torch device, or `auto`: over all GPUs."""
    dtype: Dtype
    text: str
    """For people: "on the CPU in float32", and why, when it was not the first choice."""


def check_device(device: str, machine: Machine) -> None:
    """Raise `ModelUnavailable` when a device that was asked for by name is not there."""
    if device.startswith("cuda"):
        index = int(device.partition(":")[2] or 0)
        if not machine.gpus:
            raise ModelUnavailable(f"no CUDA device here, and device={device!r} was asked for")
        if index >= len(machine.gpus):
            raise ModelUnavailable(f"there is no {device}: {len(machine.gpus)} CUDA device(s) here")
    elif device == "mps" and not machine.mps:
        raise ModelUnavailable("no Apple GPU here, and device='mps' was asked for")


def place(
    device: str, dtype: str, parameters: int, machine: Machine, quantize: str | None = None
) -> Placement:
    """The device and number format for a model of so many parameters.

    `quantize` is one of `QUANTIZED_BYTES`, the weights' own format; the other one is then that of
    results and of what is not quantized. Raises `ModelUnavailable` when a device asked for by name
    is missing or too small; `auto` takes the GPUs when the weights fit there, else the CPU, and
    says why."""
    check_device(device, machine)
    placement = _placed(device, dtype, parameters, machine, quantize)
    if quantize is None:
        return placement
    return replace(placement, text=f"{placement.text}, weights in {quantize}")


def _placed(
    device: str, dtype: str, parameters: int, machine: Machine, quantize: str | None
) -> Placement:
    if device == "mps":
        return _placement("mps", "the Apple GPU", _chosen(dtype, "float16"))
    if device == "cpu" or (device == "auto" and not machine.gpus):
        return _on_cpu(dtype, machine)
    if device != "auto":
        index = int(device.partition(":")[2] or 0)
        gpu = machine.gpus[index]
        format_ = _gpu_dtype(dtype, [gpu])
        needed = _needed(parameters, format_, quantize)
        if needed > gpu.free_bytes:
            raise ModelUnavailable(
                f"the model needs {_gib(needed)} and {gpu.name} has {_gib(gpu.free_bytes)} free"
            )
        return _placement(f"cuda:{index}", gpu.name, format_)
    format_ = _gpu_dtype(dtype, machine.gpus)
    needed = _needed(parameters, format_, quantize)
    roomiest = max(range(len(machine.gpus)), key=lambda index: machine.gpus[index].free_bytes)
    if needed <= machine.gpus[roomiest].free_bytes:
        return _placement(f"cuda:{roomiest}", machine.gpus[roomiest].name, format_)
    together = sum(gpu.free_bytes for gpu in machine.gpus)
    if len(machine.gpus) > 1 and needed <= together:
        return _placement("auto", f"{len(machine.gpus)} GPUs", format_)
    on_cpu = _on_cpu(dtype, machine)
    why = f", since the model needs {_gib(needed)} and {_gib(together)} are free on the GPU"
    return Placement(on_cpu.device_map, on_cpu.dtype, on_cpu.text + why)


def parameter_count(files: Sequence[Path]) -> int:
    """How many numbers the safetensors files hold, read from their headers alone."""
    count = 0
    for file in files:
        with file.open("rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            header: dict[str, dict[str, JsonValue]] = json.loads(opened.read(length))
        for name, tensor in header.items():
            shape = tensor.get("shape")
            if name != "__metadata__" and isinstance(shape, list):
                count += prod(size for size in shape if isinstance(size, int))
    return count


def _on_cpu(dtype: str, machine: Machine) -> Placement:
    if dtype != "auto":
        return _placement("cpu", "the CPU", _chosen(dtype, "float32"))
    return _placement("cpu", "the CPU", "bfloat16" if machine.cpu_bfloat16() else "float32")


def _placement(device_map: str, where: str, dtype: Dtype) -> Placement:
    return Placement(device_map, dtype, f"on {where} in {dtype}")


def _gpu_dtype(dtype: str, gpus: Sequence[Gpu]) -> Dtype:
    return _chosen(dtype, "bfloat16" if all(gpu.bfloat16 for gpu in gpus) else "float16")


def _chosen(dtype: str, automatic: Dtype) -> Dtype:
    for known in DTYPE_BYTES:
        if known == dtype:
            return known
    return automatic


def _needed(parameters: int, dtype: Dtype, quantize: str | None) -> int:
    each = DTYPE_BYTES[dtype] if quantize is None else QUANTIZED_BYTES[quantize]
    return int(parameters * each * HEADROOM)


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
