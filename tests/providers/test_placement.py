"""Where a model goes, for machines of every kind."""

import json
import struct
from pathlib import Path

import pytest

from webmcp_agent.providers.errors import ModelUnavailable
from webmcp_agent.providers.placement import (
    Gpu,
    Machine,
    Placement,
    check_device,
    parameter_count,
    place,
)

GIB = 2**30
NOTHING = Machine()
QUICK_CPU = Machine(cpu_bfloat16=lambda: True)
AMPERE = Gpu("Card A", 8 * GIB, True)
TURING = Gpu("Card T", 8 * GIB, False)
FULL = Gpu("Card F", GIB, True)
MODEL = GIB
"""Parameters: 2.3 GiB in two bytes each, with headroom."""


@pytest.mark.parametrize(
    ("device", "dtype", "machine", "expected"),
    [
        pytest.param(
            "auto",
            "auto",
            NOTHING,
            Placement("cpu", "float32", "on the CPU in float32"),
            id="no GPU, no native bfloat16",
        ),
        pytest.param(
            "auto",
            "auto",
            QUICK_CPU,
            Placement("cpu", "bfloat16", "on the CPU in bfloat16"),
            id="no GPU, a CPU that is quicker in bfloat16",
        ),
        pytest.param(
            "cpu",
            "float16",
            Machine([AMPERE]),
            Placement("cpu", "float16", "on the CPU in float16"),
            id="the CPU asked for",
        ),
        pytest.param(
            "auto",
            "auto",
            Machine([AMPERE]),
            Placement("cuda:0", "bfloat16", "on Card A in bfloat16"),
            id="one GPU",
        ),
        pytest.param(
            "auto",
            "auto",
            Machine([TURING]),
            Placement("cuda:0", "float16", "on Card T in float16"),
            id="a GPU without bfloat16",
        ),
        pytest.param(
            "cuda",
            "float32",
            Machine([AMPERE]),
            Placement("cuda:0", "float32", "on Card A in float32"),
            id="a format asked for",
        ),
        pytest.param(
            "auto",
            "auto",
            Machine([FULL, AMPERE]),
            Placement("cuda:1", "bfloat16", "on Card A in bfloat16"),
            id="the GPU with room",
        ),
        pytest.param(
            "auto",
            "auto",
            Machine([FULL, FULL, FULL]),
            Placement("auto", "bfloat16", "on 3 GPUs in bfloat16"),
            id="several GPUs together",
        ),
        pytest.param(
            "auto",
            "auto",
            Machine([FULL]),
            Placement(
                "cpu",
                "float32",
                "on the CPU in float32, since the model needs 2.3 GiB "
                "and 1.0 GiB are free on the GPU",
            ),
            id="a full GPU",
        ),
        pytest.param(
            "mps",
            "auto",
            Machine(mps=True),
            Placement("mps", "float16", "on the Apple GPU in float16"),
            id="an Apple GPU asked for",
        ),
    ],
)
def test_device_and_number_format_are_chosen_and_told(
    device: str, dtype: str, machine: Machine, expected: Placement
) -> None:
    """`C-79`."""
    assert place(device, dtype, MODEL, machine) == expected


@pytest.mark.parametrize(
    ("quantize", "machine", "expected"),
    [
        pytest.param(
            "int8",
            Machine([Gpu("Card S", int(1.6 * GIB), True)]),
            Placement("cuda:0", "bfloat16", "on Card S in bfloat16, weights in int8"),
            id="what would not fit in 16 bits",
        ),
        pytest.param(
            "int4",
            Machine([FULL, FULL]),
            Placement("auto", "bfloat16", "on 2 GPUs in bfloat16, weights in int4"),
            id="several GPUs together",
        ),
        pytest.param(
            "int8",
            Machine([FULL]),
            Placement(
                "cpu",
                "float32",
                "on the CPU in float32, since the model needs 1.5 GiB "
                "and 1.0 GiB are free on the GPU, weights in int8",
            ),
            id="a full GPU",
        ),
        pytest.param(
            "int4",
            QUICK_CPU,
            Placement("cpu", "bfloat16", "on the CPU in bfloat16, weights in int4"),
            id="no GPU",
        ),
    ],
)
def test_weights_of_few_bits_need_less_room_and_are_told(
    quantize: str, machine: Machine, expected: Placement
) -> None:
    """`C-79`."""
    assert place("auto", "auto", MODEL, machine, quantize) == expected


@pytest.mark.parametrize(
    ("device", "machine", "message"),
    [
        ("cuda", NOTHING, "no CUDA device here, and device='cuda' was asked for"),
        ("cuda:1", Machine([AMPERE]), "there is no cuda:1: 1 CUDA device(s) here"),
        ("mps", NOTHING, "no Apple GPU here, and device='mps' was asked for"),
        ("cuda", Machine([FULL]), "the model needs 2.3 GiB and Card F has 1.0 GiB free"),
    ],
)
def test_a_device_asked_for_by_name_that_will_not_do_is_refused(
    device: str, machine: Machine, message: str
) -> None:
    """`C-79`: nothing goes to a disk or to another device quietly."""
    with pytest.raises(ModelUnavailable) as raised:
        place(device, "auto", MODEL, machine)
    assert str(raised.value) == message


def test_a_missing_device_is_found_without_knowing_the_model() -> None:
    """`C-79`: so it is refused before any download."""
    with pytest.raises(ModelUnavailable):
        check_device("cuda", NOTHING)
    check_device("auto", NOTHING)


def test_parameters_are_counted_from_the_headers_of_safetensors_files(tmp_path: Path) -> None:
    def file(name: str, header: dict[str, object]) -> Path:
        text = json.dumps(header).encode()
        (tmp_path / name).write_bytes(struct.pack("<Q", len(text)) + text)
        return tmp_path / name

    one = {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}
    scalar = {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}
    files = [
        file("a.safetensors", {"__metadata__": {"format": "pt"}, "x": one}),
        file("b.safetensors", {"y": one, "z": scalar}),
    ]
    assert parameter_count(files) == 12 + 12 + 1
