"""An OpenAI-compatible server on loopback that answers what a test wrote down, over real HTTP."""

import json
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pydantic import JsonValue

from webmcp_agent.providers.base import JsonObject


@dataclass(frozen=True)
class Answer:
    """One answer to a chat completion."""

    status: int = 200
    body: JsonValue = None
    """Sent as JSON; None for a stream of `pieces`."""
    pieces: Sequence[str] = ()
    """What stands behind `data: `, piece by piece."""
    holds: bool = False
    """Behind the pieces nothing comes and nothing ends, until the other side is gone."""
    cuts: bool = False
    """The connection ends without an answer, or behind the pieces without an end."""


def piece(finish_reason: str | None = None, **delta: JsonValue) -> str:
    """One piece of a streamed reply."""
    choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return json.dumps({"choices": [choice]})


def streamed(
    *texts: str,
    calls: Sequence[JsonValue] = (),
    finish_reason: str = "stop",
    usage: JsonObject | None = None,
) -> Answer:
    """A whole reply in pieces."""
    pieces = [piece(content=text) for text in texts]
    pieces += [piece(tool_calls=[call]) for call in calls]
    pieces.append(piece(finish_reason))
    if usage is not None:
        pieces.append(json.dumps({"choices": [], "usage": usage}))
    return Answer(pieces=[*pieces, "[DONE]"])


@dataclass
class ModelServer:
    """The server, what it was asked, and what it will answer."""

    answers: list[Answer] = field(default_factory=list[Answer])
    models: Answer = Answer(body={"object": "list", "data": [{"id": "tiny"}]})
    asked: list[JsonObject] = field(default_factory=list[JsonObject])
    """Bodies of the chat completions, oldest first."""
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    """Headers of every request, in small letters."""
    holding: threading.Event = field(default_factory=threading.Event)
    """Set once an answer that holds has sent its pieces."""
    left: threading.Event = field(default_factory=threading.Event)
    """Set once the other side of such an answer is gone."""
    url: str = ""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    state: ModelServer

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away in mid-answer is no error here."""


class _Reply(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    @property
    def _state(self) -> ModelServer:
        assert isinstance(self.server, _Server)
        return self.server.state

    def do_GET(self) -> None:
        self._state.headers.append({key.lower(): value for key, value in self.headers.items()})
        self._send(self._state.models)

    def do_POST(self) -> None:
        state = self._state
        state.headers.append({key.lower(): value for key, value in self.headers.items()})
        length = int(self.headers["Content-Length"])
        state.asked.append(json.loads(self.rfile.read(length)))
        assert self.path.endswith("/chat/completions"), self.path
        self._send(state.answers.pop(0))

    def _send(self, answer: Answer) -> None:
        self.close_connection = True
        if answer.cuts and not answer.pieces:
            return
        self.send_response(answer.status)
        if answer.body is not None:
            content = json.dumps(answer.body).encode()
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            return
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for text in answer.pieces:
            self._chunk(f"data: {text}\n\n".encode())
        if answer.holds:
            self._state.holding.set()
            if self.connection.recv(1) == b"":  # waits until the other side closes
                self._state.left.set()
        elif not answer.cuts:
            self._chunk(b"")

    def _chunk(self, content: bytes) -> None:
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")

    def log_message(self, format: str, *args: object) -> None:
        """Silent: `asked` is the log."""


@contextmanager
def model_server() -> Generator[ModelServer]:
    """A server that runs inside the block."""
    server = _Server(("127.0.0.1", 0), _Reply)
    server.state = ModelServer(url=f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
