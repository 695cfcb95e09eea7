"""One Chromium per run, and two small sites on loopback that note what is asked of them."""

import mimetypes
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from asked import Asked
from playwright.async_api import Browser

from webmcp_agent.browser.launch import open_chromium

PAGES = Path(__file__).parent / "pages"


class _Site(ThreadingHTTPServer):
    """Serves `pages/` and a few addresses that behave in their own way."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.asked = Asked()
        self.release = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that goes away in mid-answer is no error here."""


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        assert isinstance(self.server, _Site)
        if self.path != "/favicon.ico":  # which a browser asks for by itself, now and then
            self.server.asked.note(self.path)
        path = parts.path
        if path.startswith("/held/"):  # comes when the test lets it
            self.server.release.wait(20)
            path = path.removeprefix("/held")
        if path == "/empty":
            self.send_response(HTTPStatus.NO_CONTENT)
            self.end_headers()
        elif path == "/cut":
            self.close_connection = True
        elif path == "/redirect":
            self.send_response(HTTPStatus.FOUND)
            self.send_header("Location", parse_qs(parts.query)["to"][0])
            self.end_headers()
        elif path == "/endless.csv":
            self._pour()
        elif path.startswith("/file/"):
            self._send(b"id\n1\n", "text/csv", attachment=path.rpartition("/")[2])
        elif (file := PAGES / path.lstrip("/")).is_file():
            self._send(file.read_bytes(), mimetypes.guess_type(file.name)[0] or "text/plain")
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _send(self, body: bytes, kind: str, attachment: str | None = None) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if attachment:
            self.send_header("Content-Disposition", f"attachment; filename={attachment}")
        self.end_headers()
        self.wfile.write(body)

    def _pour(self) -> None:
        """A file without an end, until the browser has had enough."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/csv")
        self.send_header("Content-Disposition", "attachment; filename=endless.csv")
        self.end_headers()
        self.close_connection = True
        with suppress(OSError):
            while True:
                self.wfile.write(b"id\n" * 20_000)

    def log_message(self, format: str, *args: object) -> None:
        """Silent: `asked` is the log."""


@contextmanager
def _served() -> Generator[_Site]:
    site = _Site()
    thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield site
    finally:
        site.release.set()
        site.shutdown()
        site.server_close()
        thread.join()


@pytest.fixture(scope="session")
def _here() -> Generator[_Site]:
    with _served() as site:
        yield site


@pytest.fixture(scope="session")
def _there() -> Generator[_Site]:
    with _served() as site:
        yield site


@pytest.fixture
def site(_here: _Site) -> str:
    """The address of the site, without a slash at its end."""
    return f"http://127.0.0.1:{_here.server_port}"


@pytest.fixture
def other_site(_there: _Site) -> str:
    """The same pages from another origin."""
    return f"http://127.0.0.1:{_there.server_port}"


@pytest.fixture
def asked_here(_here: _Site) -> Asked:
    """What the site is asked from now on."""
    _here.asked.clear()
    return _here.asked


@pytest.fixture
def neighbour(_there: _Site) -> str:
    """The same pages from another site, whose frames have a process of their own."""
    return f"http://localhost:{_there.server_port}"


@pytest.fixture
def asked_there(_there: _Site) -> list[str]:
    """What the other site is asked from now on, pictures of tabs apart."""
    _there.asked.clear()
    return _there.asked


@pytest.fixture
def release(_here: _Site) -> Generator[threading.Event]:
    """Lets the addresses below `/held/` answer, once it is set."""
    _here.release.clear()
    yield _here.release
    _here.release.set()


@pytest.fixture(scope="session")
async def chromium() -> AsyncGenerator[Browser]:
    """A Chromium with WebMCP on."""
    async with open_chromium() as browser:
        yield browser
