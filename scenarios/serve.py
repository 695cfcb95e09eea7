"""A folder or file over HTTP on a free local port, and the start addresses that people write.

Only 127.0.0.1 is listened on. Nothing is cached, no folder is listed, no file outside the served
folder and no hidden file is given out (`.well-known` excepted).
"""

import asyncio
import os
import re
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import MimeTypes
from pathlib import Path
from shutil import copyfileobj
from socket import SHUT_RDWR, socket
from socketserver import TCPServer
from sys import exception
from typing import Any
from urllib.parse import quote, unquote, urlsplit
from urllib.request import url2pathname

from webmcp_agent.scenarios.errors import PortTaken, StartNotFound

SHOP = Path(__file__).parent / "shop"
"""The demo shop's folder; its second face is the folder `ucp` in it."""

HOST = "127.0.0.1"

PAGE_SUFFIXES = {".html", ".htm"}

MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".htm": "text/html; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
"""Types that pages depend on, whatever the machine's own table says."""

OTHER_TYPES = MimeTypes()


@asynccontextmanager
async def serve_folder(path: Path, port: int = 0) -> AsyncGenerator[str]:
    """Serve a folder, or an HTML file with the folder around it; gives the address to open.

    The address of a folder ends in `/`. `port` 0 takes a free one. Everything is closed at the end.
    Raises: `StartNotFound` when there is neither folder nor HTML file, `PortTaken`."""
    folder, page = _folder_and_page(path)
    server = _listen(folder, port)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="serve", daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_port}/{quote(page)}"
    finally:
        await asyncio.to_thread(server.stop)


@asynccontextmanager
async def resolve_start(start: str) -> AsyncGenerator[str]:
    """The address that `start` names, served while the context lasts.

    `shop:` is the demo shop, `shop:ucp` its second face, `shop:product.html?id=…` a page of it; a
    local HTML file (also with `?…` or `#…`) or a folder with an `index.html` is served; `http:` and
    `https:` stay as they are.
    Raises: `StartNotFound` for everything else."""
    scheme = _scheme(start)
    if scheme in {"http", "https"}:
        _check_web_address(start)
        yield start
        return
    path, rest = _find_local(start, scheme)
    async with serve_folder(path) as address:
        yield address + rest


def _scheme(start: str) -> str:
    """The scheme in small letters; empty for a path, also for `C:\\x` and `localhost:8000`."""
    found = re.match(r"([a-z][a-z0-9+.-]+):(?!\d+(/|$))", start, re.IGNORECASE)
    return found[1].lower() if found else ""


def _check_web_address(start: str) -> None:
    try:
        parts = urlsplit(start)
        complete = bool(parts.hostname) and parts.port != 0
    except ValueError:  # a broken port or IPv6 address
        complete = False
    if not complete:
        raise StartNotFound(start, "a web address looks like http://127.0.0.1:8000/page.html.")


def _find_local(start: str, scheme: str) -> tuple[Path, str]:
    """What to serve, and what follows its address to reach the start."""
    match scheme:
        case "shop":
            page, extra = _split_extra(start.partition(":")[2].lstrip("/"), SHOP)
            whole, shop = page.resolve(), SHOP.resolve()
            faces = {shop: "", shop / "ucp": "ucp/"}
            if whole in faces:
                return SHOP, faces[whole] + extra
            if not (page.is_file() and whole.parent in faces):
                reason = (
                    f"the demo shop has no page {page.name!r}. The shop itself is shop:, "
                    "its second face shop:ucp"
                )
                raise StartNotFound(start, reason)
            return SHOP, faces[whole.parent] + quote(page.name) + extra
        case "file":
            page, extra = _split_extra(url2pathname(start.partition(":")[2].removeprefix("//")))
        case "":
            page, extra = _split_extra(start)
        case _:
            reason = f"{scheme}: is not supported. Use http:, https:, shop:, a folder or a file."
            raise StartNotFound(start, reason)
    if not start or not _exists(page := _at_home(page)):
        reason = "there is no such file or folder. A web address begins with http:// or https://"
        raise StartNotFound(start, reason)
    if page.is_dir() and not (page / "index.html").is_file():
        raise StartNotFound(start, "the folder has no index.html. Name the file to open.")
    return page, extra


def _split_extra(text: str, folder: Path | None = None) -> tuple[Path, str]:
    """The path, and a query or fragment behind it; a file that is really named `a?b` wins."""
    base = folder or Path()
    if text and _exists(base / text):
        return base / text, ""
    path = re.split(r"[?#]", text, maxsplit=1)[0]
    return base / path, text[len(path) :]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that no file can have, say one of a thousand characters
        return False


def _at_home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # nobody is called so
        return path


def _folder_and_page(path: Path) -> tuple[Path, str]:
    if path.is_dir():
        return path.resolve(), ""
    if not path.is_file():
        raise StartNotFound(str(path), "there is no such file or folder.")
    if path.suffix.lower() not in PAGE_SUFFIXES:
        raise StartNotFound(str(path), "it is no HTML file.")
    whole = path.resolve()
    return whole.parent, whole.name


def _listen(folder: Path, port: int) -> "_FolderServer":
    try:
        return _FolderServer(folder, port)
    except (OSError, OverflowError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        raise PortTaken(port, reason) from exc


class _FolderServer(ThreadingHTTPServer):
    """Serves one folder, one thread per connection; knows its connections, to end them."""

    daemon_threads = True
    allow_reuse_address = os.name != "nt"  # there it would let two servers share a port
    request_queue_size = 64

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self._open: set[socket] = set()
        super().__init__((HOST, port), _FolderRequest)

    def server_bind(self) -> None:
        # Past HTTPServer, which asks the name service for our own name and may wait for it.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(exception(), OSError):  # a browser that hangs up is no error
            super().handle_error(request, client_address)

    def stop(self) -> None:
        """End the loop, the connections that browsers keep open, and the port."""
        self.shutdown()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(SHUT_RDWR)
        self.server_close()


class _FolderRequest(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "webmcp-agent"
    sys_version = ""
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the program that serves has its own output."""

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def _answer(self) -> None:
        names = self._names()
        try:
            target = self._target(names)
            if target is None:
                self.send_error(HTTPStatus.NOT_FOUND)
            elif target.is_dir():
                self._redirect(names)
            else:
                self._send(target)
        except OSError as exc:
            # A name that is too long, a file that may not be read; a lost connection ends here too.
            if isinstance(exc, ConnectionError):
                raise
            self.send_error(HTTPStatus.NOT_FOUND)

    def _names(self) -> list[str]:
        path = re.split(r"[?#]", self.path, maxsplit=1)[0]
        return [name for name in unquote(path).split("/") if name]

    def _target(self, names: list[str]) -> Path | None:
        """The file to send, a folder whose address lacks its `/`, or None for neither."""
        hidden = any(name.startswith(".") and name != ".well-known" for name in names)
        if hidden or any(character in name for name in names for character in "\0\\"):
            return None
        assert isinstance(self.server, _FolderServer)
        folder = self.server.folder
        path = folder.joinpath(*names)
        asks_folder = re.split(r"[?#]", self.path, maxsplit=1)[0].endswith("/")
        index = path / "index.html"
        if path.is_dir() and index.is_file() and not asks_folder:
            return path
        file = (index if asks_folder else path).resolve()
        return file if file.is_file() and file.is_relative_to(folder) else None

    def _redirect(self, names: list[str]) -> None:
        query = self.path.partition("?")[2]
        location = "/" + "".join(f"{quote(name)}/" for name in names)
        self.send_response(HTTPStatus.MOVED_PERMANENTLY)
        self.send_header("Location", location + (f"?{query}" if query else ""))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, file: Path) -> None:
        suffix = file.suffix.lower()
        other = OTHER_TYPES.guess_type(file.name)[0] or "application/octet-stream"
        with file.open("rb") as content:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", MEDIA_TYPES.get(suffix, other))
            self.send_header("Content-Length", str(os.fstat(content.fileno()).st_size))
            self.end_headers()
            if self.command != "HEAD":
                copyfileobj(content, self.wfile)
