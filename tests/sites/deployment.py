"""Serve a site whose pages contain its own address, at any port and below any path."""

from __future__ import annotations

import json
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.sites.loopback import LoopbackServer, QuietHandler, running

if TYPE_CHECKING:
    from collections.abc import Iterator

_HOME = """<!doctype html><html><head><title>Home of {base}</title><base href="{base}/"><link rel="icon" href="data:,">
<script>window.base = "{base}"; console.error("at " + base);</script></head><body>
<a id="next" href="{path}/go?next={quoted}">Go on</a> <a href="{base}/elsewhere">Elsewhere</a>
<img alt="" src="{stray}/picture">
<p>You are at {base}/, {visitor}.</p><form action="{base}/form" method="post"><input name="back" value="{base}/">
<button id="send">Send</button></form><p id="price">-</p>
<script>fetch(base + "/api/price", {{method: "POST", body: JSON.stringify({{page: location.href}})}})
.then(answer => answer.json()).then(each => {{ document.querySelector("#price").textContent = each.price; }});</script>
</body></html>"""
_DONE = """<!doctype html><html><head><title>Done</title><link rel="icon" href="data:,"></head><body>
<a id="home" href="{path}/">Home</a> {said}</body></html>"""


@contextmanager
def serve_deployment(path: str = "", *, price: str = "3.10", stray: str = "") -> Iterator[str]:
    """Serve the site below a path; yields its base URL. `stray` is the base URL of its picture, if different."""

    class Deployment(QuietHandler):
        """A request handler whose pages contain their own address."""

        def do_GET(self) -> None:  # noqa: N802 - the name is the parent's
            here = self.path.removeprefix(path).partition("?")[0] if self.path.startswith(f"{path}/") else None
            if here == "/":
                known = "sid=1" in self.headers.get("Cookie", "")
                page = _HOME.format(
                    base=base,
                    path=path,
                    quoted=quote(f"{base}/done", safe=""),
                    stray=stray or base,
                    visitor="known" if known else "stranger",
                )
                self._send(HTTPStatus.OK, page)
            elif here == "/go":
                self._send(HTTPStatus.FOUND, "", location=f"{base}/done?from={quote(base, safe='')}")
            elif here in {"/done", "/elsewhere", "/picture"}:
                self._send(HTTPStatus.OK, _DONE.format(path=path, said=here))
            else:
                self._send(HTTPStatus.NOT_FOUND, "There is nothing here.")

        def do_POST(self) -> None:  # noqa: N802 - the name is the parent's
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            if self.path == f"{path}/api/price":
                self._send(HTTPStatus.OK, json.dumps({"price": price, "self": base}), "application/json")
            else:
                self._send(HTTPStatus.OK, _DONE.format(path=path, said=f"Got {len(body) > 0}"))

        def _send(
            self, status: HTTPStatus, text: str, kind: str = "text/html; charset=utf-8", location: str = ""
        ) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text.encode())))
            if location:
                self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(text.encode())

    server = LoopbackServer(0, Deployment)
    base = server.url + path
    with running(server):
        yield base
