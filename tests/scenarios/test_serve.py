"""A folder over HTTP, asked by a plain client, and the start addresses that people write."""

import asyncio
import socket
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from webmcp_agent.scenarios.errors import PortTaken, ScenarioError, StartNotFound
from webmcp_agent.scenarios.serve import SHOP, resolve_start, serve_folder

Answer = tuple[int, dict[str, str], bytes]


def request(connection: HTTPConnection, path: str, method: str = "GET") -> Answer:
    """The path goes out as it is written: no client tidies it up."""
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    connection.putheader("Host", "127.0.0.1")
    connection.endheaders()
    response = connection.getresponse()
    headers = {name.lower(): value for name, value in response.getheaders()}
    return response.status, headers, response.read()


async def ask(address: str, path: str, method: str = "GET") -> Answer:
    """One request on its own connection, to the server that `address` names."""
    parts = urlsplit(address)
    assert parts.hostname == "127.0.0.1"
    connection = HTTPConnection(parts.hostname, parts.port, timeout=5)
    try:
        return await asyncio.to_thread(request, connection, path, method)
    finally:
        connection.close()


async def get(address: str) -> Answer:
    parts = urlsplit(address)
    return await ask(address, parts.path + (f"?{parts.query}" if parts.query else ""))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder `site` with a neighbour that must never be given out."""
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    folder = tmp_path / "site"
    (folder / "sub").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / ".git").mkdir()
    (folder / ".well-known").mkdir()
    for name, text in {
        "index.html": "<h1>first</h1>",
        "page two é.html": "<h1>two</h1>",
        "sub/index.html": "<h1>sub</h1>",
        "app.js": "export const one = 1;",
        "part.mjs": "export {};",
        "style.css": "p { color: red; }",
        "icon.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
        "data.json": '{"name": "é"}',
        "photo.png": "not really",
        "blob.unheardof": "bytes",
        ".env": "secret",
        ".git/config": "secret",
        ".well-known/thing.json": "{}",
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/index.html?x=1#y", "text/html; charset=utf-8"),
        ("/page%20two%20%C3%A9.html", "text/html; charset=utf-8"),
        ("/sub/", "text/html; charset=utf-8"),
        ("/app.js", "text/javascript; charset=utf-8"),
        ("/part.mjs", "text/javascript; charset=utf-8"),
        ("/style.css", "text/css; charset=utf-8"),
        ("/icon.svg", "image/svg+xml; charset=utf-8"),
        ("/data.json", "application/json; charset=utf-8"),
        ("/.well-known/thing.json", "application/json; charset=utf-8"),
        ("/photo.png", "image/png"),
        ("/blob.unheardof", "application/octet-stream"),
    ],
)
async def test_a_file_is_served_whole_with_its_type_and_never_cached(
    site: Path, path: str, media_type: str
) -> None:
    async with serve_folder(site) as address:
        status, headers, body = await ask(address, path)
        _, head_headers, no_body = await ask(address, path, "HEAD")
    assert (status, headers["content-type"], headers["cache-control"], no_body) == (
        200,
        media_type,
        "no-store",
        b"",
    )
    assert int(headers["content-length"]) == len(body) == int(head_headers["content-length"]) > 0


@pytest.mark.parametrize(
    "path",
    [
        "/missing.html",
        "/empty/",
        "/empty",
        "/sub/index.html/",
        "/../secret.txt",
        "/sub/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/..%5csecret.txt",
        "/.env",
        "/.git/config",
        "/index.html%00.png",
        "/link.txt",
        "/" + "long" * 2000,
        "http://127.0.0.1/index.html",
    ],
)
async def test_what_is_not_a_file_of_the_folder_is_not_found(site: Path, path: str) -> None:
    (site / "link.txt").symlink_to(site.parent / "secret.txt")
    async with serve_folder(site) as address:
        status, headers, body = await ask(address, path)
    assert (status, headers["cache-control"], b"secret" in body) == (404, "no-store", False)


@pytest.mark.parametrize(
    ("path", "location"),
    [("/sub", "/sub/"), ("/sub?a=b", "/sub/?a=b"), ("//sub", "/sub/")],
)
async def test_a_folder_without_its_slash_is_redirected_on_the_same_host(
    site: Path, path: str, location: str
) -> None:
    async with serve_folder(site) as address:
        status, headers, _ = await ask(address, path)
    assert (status, headers["location"]) == (301, location)


async def test_an_html_file_is_served_with_the_folder_around_it(site: Path) -> None:
    async with serve_folder(site / "page two é.html") as address:
        assert urlsplit(address).path == "/page%20two%20%C3%A9.html"
        assert (await get(address))[2] == b"<h1>two</h1>"
        assert (await ask(address, "/app.js"))[2] == b"export const one = 1;"


async def test_many_requests_at_once_are_all_answered(site: Path) -> None:
    async with serve_folder(site) as address:
        answers = await asyncio.gather(*(ask(address, "/app.js") for _ in range(40)))
    assert {(status, body) for status, _, body in answers} == {(200, b"export const one = 1;")}


async def test_after_the_end_nothing_answers_not_even_a_kept_connection(site: Path) -> None:
    async with serve_folder(site) as address:
        port = urlsplit(address).port
        assert port is not None
        kept = HTTPConnection("127.0.0.1", port, timeout=5)
        assert (await asyncio.to_thread(request, kept, "/"))[0] == 200
    with pytest.raises((OSError, HTTPException)):
        await asyncio.to_thread(request, kept, "/")
    kept.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5).close()


async def test_an_open_silent_connection_does_not_delay_the_end(site: Path) -> None:
    async with asyncio.timeout(5):
        async with serve_folder(site) as address:
            port = urlsplit(address).port
            silent = socket.create_connection(("127.0.0.1", port or 0), timeout=5)
            assert (await get(address))[0] == 200
    with suppress(ConnectionError):
        assert silent.recv(1) == b""
    silent.close()


async def test_a_given_port_is_used_and_a_taken_one_is_named(site: Path) -> None:
    async with serve_folder(site) as first:
        port = urlsplit(first).port
        assert port is not None
        with pytest.raises(PortTaken) as caught:
            async with serve_folder(site, port):
                raise NotImplementedError
    async with serve_folder(site, port) as second:
        assert second == f"http://127.0.0.1:{port}/"
    assert caught.value.port == port
    assert str(caught.value).startswith(f"Port {port} cannot be used (")


async def test_an_impossible_port_is_named(site: Path) -> None:
    with pytest.raises(PortTaken, match="Port 70000 cannot be used"):
        async with serve_folder(site, 70000):
            raise NotImplementedError


@pytest.mark.parametrize("name", ["nowhere", "site/app.js"])
async def test_only_a_folder_or_an_html_file_can_be_served(site: Path, name: str) -> None:
    with pytest.raises(StartNotFound):
        async with serve_folder(site.parent / name):
            raise NotImplementedError


@pytest.mark.parametrize(
    "start",
    [
        "http://127.0.0.1:9/x?y=1#z",
        "https://example.org",
        "HTTP://example.org/",
        "http://[::1]:80/",
    ],
)
async def test_a_web_address_stays_as_it_is(start: str) -> None:
    async with resolve_start(start) as address:
        assert address == start


@pytest.mark.parametrize(
    ("start", "rest"),
    [
        ("shop:", ""),
        ("SHOP:", ""),
        ("shop:?q=mug", "?q=mug"),
        ("shop:cart.html", "cart.html"),
        ("shop:/product.html?id=brass-pen#more", "product.html?id=brass-pen#more"),
        ("shop:ucp", "ucp/"),
        ("shop:ucp?q=mug", "ucp/?q=mug"),
        ("shop:ucp/product.html?id=brass-pen", "ucp/product.html?id=brass-pen"),
    ],
)
async def test_shop_starts_the_demo_shop_at_any_of_its_pages(start: str, rest: str) -> None:
    async with resolve_start(start) as address:
        assert address == f"http://127.0.0.1:{urlsplit(address).port}/{rest}"
        assert b"Tarnhill" in (await get(address))[2]


async def test_a_local_file_or_folder_is_served(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (site / "odd?name.html").write_text("<h1>odd</h1>", encoding="utf-8")
    monkeypatch.chdir(site.parent)
    monkeypatch.setenv("HOME", str(site.parent))
    starts = {
        "site": ("/", b"first"),
        str(site): ("/", b"first"),
        "site/sub": ("/", b"sub"),
        "site/index.html": ("/index.html", b"first"),
        "~/site/index.html": ("/index.html", b"first"),
        "site/index.html?id=3#part": ("/index.html", b"first"),
        "site/odd?name.html": ("/odd%3Fname.html", b"odd"),
        f"{site.as_uri()}/page%20two%20%C3%A9.html?id=3": ("/page%20two%20%C3%A9.html", b"two"),
    }
    found: dict[str, tuple[str, bytes]] = {}
    for start in starts:
        async with resolve_start(start) as address:
            body = (await get(address))[2]
            found[start] = (urlsplit(address).path, body.removeprefix(b"<h1>")[:-5])
            assert ("id=3" in address) == ("id=3" in start)
    assert found == starts


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ("nowhere.html", "there is no such file or folder"),
        ("", "there is no such file or folder"),
        ("~nobody-of-this-name/page.html", "there is no such file or folder"),
        ("Find shoes. " * 300, "there is no such file or folder"),
        ("example.org", "A web address begins with http:// or https://"),
        ("localhost:8000/shop", "A web address begins with http:// or https://"),
        ("site/empty", "the folder has no index.html"),
        ("site/app.js", "it is no HTML file"),
        ("ftp://example.org/", "ftp: is not supported"),
        ("javascript:alert(1)", "javascript: is not supported"),
        ("about:blank", "about: is not supported"),
        ("data:text/html,x", "data: is not supported"),
        ("http:///path", "a web address looks like"),
        ("http://127.0.0.1:99999/", "a web address looks like"),
        ("http://[::1/", "a web address looks like"),
        ("shop:ucpx", "the demo shop has no page 'ucpx'"),
        ("shop:ucp/nowhere.html", "its second face shop:ucp"),
        ("shop:nowhere.html", "the demo shop has no page 'nowhere.html'"),
        ("shop:../serve.py", "the demo shop has no page 'serve.py'"),
    ],
)
async def test_a_start_that_names_nothing_is_told_in_one_line(
    site: Path, monkeypatch: pytest.MonkeyPatch, start: str, says: str
) -> None:
    monkeypatch.chdir(site.parent)
    with pytest.raises(ScenarioError) as caught:
        async with resolve_start(start):
            raise NotImplementedError
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_the_server_ends_when_its_user_fails(site: Path) -> None:
    address = ""
    with pytest.raises(LookupError):
        async with resolve_start(str(site)) as address:
            raise LookupError
    with pytest.raises(ConnectionRefusedError):
        await get(address)


def test_the_shop_is_a_folder_of_data_beside_the_module() -> None:
    suffixes = {path.suffix for path in SHOP.rglob("*") if path.is_file()}
    assert suffixes == {".html", ".js", ".css", ".svg"}
