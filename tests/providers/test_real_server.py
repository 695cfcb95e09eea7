"""The server provider against `transformers serve`, a real OpenAI-compatible process."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_double import PageDouble, collect, request as ask

from webmcp_agent.agent.loop import LocalLoopOptions
from webmcp_agent.agent.stream import Finish, RunError
from webmcp_agent.providers.abort import AbortController
from webmcp_agent.providers.base import (
    Available,
    ChatTurn,
    GenerateRequest,
    ToolConstraint,
    Usage,
)
from webmcp_agent.providers.errors import Aborted
from webmcp_agent.providers.huggingface import TransformersProvider
from webmcp_agent.providers.server import ServerProvider

pytestmark = pytest.mark.model

REQUEST = GenerateRequest(
    "Be kind.",
    (ChatTurn("user", "Find a blue mug"),),
    (),
    constraints=(ToolConstraint("search", {"type": "object"}, "f"),),
)


START_LIMIT_S = 300
"""It imports torch, which takes long on a busy machine."""


@pytest.fixture(scope="module")
def served(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `transformers serve` with the tiny model."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    program = "from transformers.cli.transformers import main; main()"
    arguments = ["serve", str(tiny_model), "--host", "127.0.0.1", "--port", str(port)]
    home = str(tmp_path_factory.mktemp("home"))
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments, "--device", "cpu"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "HF_HOME": home, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    ) as process:
        assert process.stdout is not None
        limit = threading.Timer(START_LIMIT_S, process.kill)
        limit.start()
        said: list[str] = []
        for line in process.stdout:  # until it says where it listens
            said.append(line)
            if f"127.0.0.1:{port}" in line:
                break
        else:
            pytest.fail("the server did not start:\n" + "".join(said[-20:]))
        limit.cancel()
        rest = threading.Thread(target=process.stdout.read, daemon=True)  # keeps the pipe empty
        rest.start()
        yield f"http://127.0.0.1:{port}"
        process.terminate()
        rest.join(30)


async def test_a_real_server_says_what_the_same_model_says_here(
    served: str, tiny_model: Path, tmp_path: Path
) -> None:
    """C-63, C-64: same greedy text and tokens; the limit is told as `length`."""
    here = TransformersProvider(
        model=str(tiny_model),
        cache_dir=tmp_path,
        max_new_tokens=3,
        dtype="float32",
        constrained=False,  # as that server decodes
    )
    await here.prepare(lambda _: None)
    expected = await here.generate(REQUEST)
    here.dispose()
    server = ServerProvider(served, str(tiny_model), max_new_tokens=3)

    result = await server.generate(REQUEST)

    assert await server.availability() == Available()
    assert (result.text, result.finish_reason) == (expected.text, "length")
    assert expected.usage is not None
    assert result.usage == Usage(expected.usage.prompt_tokens, 0, 3)
    assert await server.generate(REQUEST) == result


async def test_a_run_goes_through_a_real_server(served: str, tiny_model: Path) -> None:
    """C-63: whatever a random model writes, the run ends in order."""
    server = ServerProvider(served, str(tiny_model), max_new_tokens=20)
    parts = await collect(
        server, ask(PageDouble(), "Open product 7"), LocalLoopOptions(tools_inline=True)
    )
    assert isinstance(parts[-1], Finish | RunError)
    assert not isinstance(parts[-1], RunError), parts[-1]


async def test_stop_ends_a_generation_of_a_real_server(served: str, tiny_model: Path) -> None:
    """B-045: the next generation is not behind the stopped one for its 100,000 tokens."""
    server = ServerProvider(served, str(tiny_model), max_new_tokens=100_000)
    stop = AbortController()
    request = GenerateRequest(
        REQUEST.system, REQUEST.messages, (), signal=stop.signal, on_token=lambda _: stop.abort()
    )
    async with asyncio.timeout(60):
        with pytest.raises(Aborted):
            await server.generate(request)
        short = ServerProvider(served, str(tiny_model), max_new_tokens=1)
        assert (await short.generate(REQUEST)).usage is not None
