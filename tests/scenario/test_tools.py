"""The built-in tools enforce their limits."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path

import pytest

from eikon_engine.errors import RequirementError, ToolError
from eikon_engine.scenario.tool_box import ToolBox
from eikon_engine.scenario.tools.installed import installed_tools
from eikon_engine.scenario.tools.read_file import make_read_file_tool
from eikon_engine.scenario.tools.web_fetch import web_fetch
from tests.error_codes import has_code
from tests.sites.loopback import LoopbackServer, QuietHandler, running

FETCH = ToolBox.of(web_fetch)


class Handler(QuietHandler):
    """A handler whose answer depends on the path."""

    def do_GET(self) -> None:  # noqa: N802 - the name is the parent's
        """Answer one request."""
        name, _, number = self.path.strip("/").partition("/")
        getattr(self, f"_{name}")(number)

    def _text(self, charset: str) -> None:
        self._send("Grüße".encode(charset or "utf-8"), f"text/plain; charset={charset or 'utf-8'}")

    def _bytes(self, _: str) -> None:
        self._send(b"\x89PNG\0", "image/png", ("Set-Cookie", "session=secret"))

    def _missing(self, _: str) -> None:
        self._send(b"{}", "application/problem+json", status=HTTPStatus.NOT_FOUND)

    def _hop(self, number: str) -> None:
        target = f"/hop/{int(number) - 1}" if int(number) else "/text/"
        self._send(b"", "text/html", ("Location", target), status=HTTPStatus.FOUND)

    def _out(self, _: str) -> None:
        self._send(b"", "text/html", ("Location", "file:///etc/passwd"), status=HTTPStatus.FOUND)

    def _drip(self, _: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        for _place in range(40):
            self.wfile.write(b".")
            time.sleep(0.1)  # noqa: TID251 - a server that is slow on purpose

    def _cut(self, _: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"half")
        self.close_connection = True

    def _send(self, body: bytes, kind: str, *headers: tuple[str, str], status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def served() -> Iterator[str]:
    """Serve on loopback."""
    with running(LoopbackServer(0, Handler)) as url:
        yield url


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """Serve for all tests of this module."""
    with served() as url:
        yield url


@pytest.mark.parametrize("charset", ["", "utf-8", "latin-1"])
def test_a_text_is_read_in_its_charset(site: str, charset: str) -> None:
    """A text is decoded with its charset."""
    answer = FETCH.call("web_fetch", {"url": f"{site}/text/{charset}"})

    assert (answer["status"], answer["text"], answer["redirects"]) == (200, "Grüße", [])


def test_binary_content_is_bytes_and_cookies_are_omitted(site: str) -> None:
    """Binary content is returned as bytes, and cookies are omitted."""
    answer = FETCH.call("web_fetch", {"url": f"{site}/bytes"})

    assert answer["body"] == b"\x89PNG\0"
    assert answer["headers"] == {"content-type": "image/png"}


def test_every_status_is_a_result(site: str) -> None:
    """A response of any status is a result."""
    answer = FETCH.call("web_fetch", {"url": f"{site}/missing"})

    assert (answer["status"], answer["text"]) == (404, "{}")


def test_redirects_are_followed_and_reported(site: str) -> None:
    """Redirects are followed, and the result has the final URL and each redirect."""
    answer = FETCH.call("web_fetch", {"url": f"{site}/hop/1"})

    assert answer["url"] == f"{site}/text/"
    assert answer["redirects"] == [{"status": 302, "url": f"{site}/hop/{each}"} for each in (1, 0)]


@pytest.mark.parametrize(
    ("path", "limits", "message"),
    [
        ("/hop/20", {}, "expected at most 10 redirects"),
        ("/out", {}, "expected an http:// or https:// URL, got 'file:///etc/passwd'"),
        ("/text/", {"max_bytes": 3}, "expected at most 3 bytes, got more"),
        ("/drip", {"timeout_seconds": 0.3}, "before the deadline|timed out"),
        ("/cut", {}, "the connection closed with"),
    ],
)
def test_a_response_beyond_a_limit_fails(site: str, path: str, limits: dict[str, float], message: str) -> None:
    """A response beyond a limit is an error."""
    began = time.monotonic()

    with pytest.raises(ToolError, match=message):
        FETCH.call("web_fetch", {"url": f"{site}{path}", **limits})
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/", "data:,x", "http://", "shop.test", "http://[1/"])
def test_other_addresses_are_refused(url: str) -> None:
    """Addresses that are not allowed are refused."""
    with pytest.raises(ToolError):
        FETCH.call("web_fetch", {"url": url})


def test_an_unreachable_server_is_reported() -> None:
    """An unreachable server is a tool error."""
    with served() as url:
        pass

    with pytest.raises(ToolError, match="no response: ConnectionRefusedError"):
        FETCH.call("web_fetch", {"url": url})


@pytest.fixture
def below(tmp_path: Path) -> Path:
    """Return a folder with files and links, surrounded by secret files."""
    root = tmp_path / "allowed"
    (root / "deep").mkdir(parents=True)
    (root / "a.txt").write_text("plain")
    (root / "deep/b.bin").write_bytes(b"\xff\0")
    (tmp_path / "secret.txt").write_text("secret")
    (root / "out").symlink_to(tmp_path / "secret.txt")
    (root / "up").symlink_to(tmp_path)
    (root / "in").symlink_to(root / "a.txt")
    (root / "circle").symlink_to(root / "circle")
    os.mkfifo(root / "pipe")
    return root


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("a.txt", {"text": "plain", "size": 5}),
        ("in", {"text": "plain", "size": 5}),
        ("deep/../a.txt", {"text": "plain", "size": 5}),
        ("deep/b.bin", {"body": b"\xff\0", "size": 2}),
    ],
)
def test_files_below_the_folder_are_read(below: Path, path: str, content: dict[str, object]) -> None:
    """Files below the folder are read."""
    assert ToolBox.of(make_read_file_tool(below)).call("read_file", {"path": path}) == {"path": path, **content}


@pytest.mark.parametrize(
    "path", ["../secret.txt", "out", "up/secret.txt", "/etc/passwd", "", "a\0b", "circle", "deep", "pipe", "none", "."]
)
def test_nothing_else_is_read(below: Path, path: str) -> None:
    """Files outside the folder are refused."""
    with pytest.raises(ToolError, match="FileRefusedError"):
        ToolBox.of(make_read_file_tool(below)).call("read_file", {"path": path})


def test_a_file_that_is_too_large_is_refused(below: Path) -> None:
    """A file that is too large is refused."""
    with pytest.raises(ToolError, match="expected at most 4 bytes, got more"):
        ToolBox.of(make_read_file_tool(below)).call("read_file", {"path": "a.txt", "max_bytes": 4})


def test_tools_of_packages_are_loaded_when_they_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools of packages are imported when they are named."""
    info = tmp_path / "prices-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: prices\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[eikon_engine.tools]\nprice_of = prices_of_test:price\nbroken = prices_of_test:nothing\n"
    )
    (tmp_path / "prices_of_test.py").write_text("def price(fruit: str) -> int:\n    return len(fruit)\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    box = ToolBox.of(*installed_tools({"price_of", "unknown"}))

    assert box.names == ("price_of",)
    assert box.call("price_of", {"fruit": "fig"}) == 3
    with pytest.raises(
        RequirementError,
        match=r"tool 'broken' \(prices_of_test:nothing\) cannot be loaded",
        check=has_code("unknown-tool"),
    ):
        installed_tools({"broken"})
