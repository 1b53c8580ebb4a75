"""The pages of the local site. All but the list of runs are those that the command line writes to files."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from eikon_engine.divergence.outcome_diff import compare_outcomes
from eikon_engine.errors import BundlePathError, EikonError, UsageError
from eikon_engine.files.paths import resolve_inside
from eikon_engine.report.diff_report import render_diff_page
from eikon_engine.report.html_report import render_report
from eikon_engine.report.runs_page import ListedRuns, render_bundle_page, render_history_page, render_runs_page
from eikon_engine.report.triage_report import render_triage_page
from eikon_engine.triage.groups import TriageBuilder
from eikon_engine.ui.runs import RunList

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Receive, Scope, Send

    from eikon_engine.history import MissionHistory
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.ui.runs import ShownRun

POLL_S: Final = 1.0
"""Time between two looks at the folder, for pages that are open."""
COOKIE: Final = "eikon_show_"
"""Begin of the name of the cookie, which has a digest of the token: cookies are shared by all ports of a host."""
_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
_PICTURES: Final = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}
_SANDBOX: Final = "default-src 'none'; sandbox"


def create_app(
    shown: RunList | Bundle,
    *,
    hosts: Sequence[str],
    token: str = "",
    read_history: Callable[[], Sequence[MissionHistory]] = tuple,
) -> Starlette:
    """Make the site of a folder with runs, or of a bundle.

    `hosts` are the names by which it may be addressed, so that no other site's page can read it by a name that leads
    here. With a `token`, nothing is shown without it.
    """
    if not isinstance(shown, RunList):
        return _guarded([Route("/", partial(_bundle_page, shown))], hosts, token)
    history = Route("/history", partial(_history_page, read_history))
    return _guarded([history, *_pages_of(shown)], hosts, token)


def create_viewer(folder: Path, trace: bytes, *, hosts: Sequence[str], token: str = "") -> Starlette:
    """Make a site of Playwright's trace viewer, whose files are in a folder, that opens one trace."""

    async def begin(request: Request) -> Response:
        address = request.url.replace(path="/trace.zip", query="")
        return RedirectResponse(f"/index.html?{urlencode({'trace': str(address)})}")

    async def send_trace(_request: Request) -> Response:
        return Response(trace, media_type="application/zip")

    files = Mount("/", StaticFiles(directory=folder))
    return _guarded([Route("/", begin), Route("/trace.zip", send_trace), files], hosts, token)


def _guarded(routes: Sequence[BaseRoute], hosts: Sequence[str], token: str) -> Starlette:
    middleware = [
        Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts)),
        Middleware(_Guard, token=token),
    ]
    return Starlette(routes=list(routes), middleware=middleware, exception_handlers={EikonError: _show_error})


def _pages_of(runs: RunList) -> list[Route]:
    shown: Mapping[str, Callable[[RunList, Request], Awaitable[Response]]] = {
        "/": _list_page,
        "/events": _events,
        "/triage": _triage_page,
        "/diff": _diff_page,
        "/run/{id}/": _run_page,
        "/run/{id}/{path:path}": _run_file,
    }
    return [Route(path, partial(page, runs), methods=["GET"]) for path, page in shown.items()]


async def _bundle_page(bundle: Bundle, _request: Request) -> Response:
    return HTMLResponse(await run_in_threadpool(render_bundle_page, bundle))


async def _list_page(runs: RunList, request: Request) -> Response:
    state = await run_in_threadpool(runs.state)
    found = await run_in_threadpool(runs.runs)
    if len(found) == 1 and found[0].path == "." and found[0].summary is not None:
        return RedirectResponse(f"run/{found[0].id}/")
    words, verdict = request.query_params.get("q", ""), request.query_params.get("verdict", "")
    chosen = [run for run in found if _fits(run, words, verdict)]
    shown = ListedRuns(found, chosen, state)
    return HTMLResponse(await run_in_threadpool(render_runs_page, shown, words=words, verdict=verdict))


def _fits(run: ShownRun, words: str, verdict: str) -> bool:
    text = f"{run.mission_id} {run.path} {'' if run.summary is None else run.summary.signature_text}".casefold()
    return all(word in text for word in words.casefold().split()) and verdict in {"", run.state}


async def _events(runs: RunList, request: Request) -> Response:
    return StreamingResponse(_changes(runs, request.query_params.get("state", "")), media_type="text/event-stream")


async def _changes(runs: RunList, state: str) -> AsyncIterator[str]:
    """Yield an event whenever a run has started, gone on or ended since the list with this state was made."""
    yield ": connected\n\n"
    while True:
        now = await run_in_threadpool(runs.state)
        if now != state:
            state = now
            yield "data: changed\n\n"
        await asyncio.sleep(POLL_S)


async def _triage_page(runs: RunList, _request: Request) -> Response:
    return HTMLResponse(await run_in_threadpool(_render_triage, runs))


def _render_triage(runs: RunList) -> str:
    builder, addresses = TriageBuilder(), dict[str, str]()
    for run in runs.runs():
        if run.problem:
            builder.add_unreadable(run.path, run.problem)
        elif run.summary is not None:
            builder.add(run.path, runs.outcome(run), run.folder)
            addresses[run.path] = f"run/{run.id}/"
    return render_triage_page(builder.build(), lambda path: addresses.get(path, ""), runs_page="./")


async def _history_page(read_history: Callable[[], Sequence[MissionHistory]], _request: Request) -> Response:
    return HTMLResponse(render_history_page(await run_in_threadpool(read_history)))


async def _diff_page(runs: RunList, request: Request) -> Response:
    first, second = (_require(runs, request.query_params.get(name, "")) for name in ("first", "second"))
    return HTMLResponse(await run_in_threadpool(_render_diff, runs, first, second))


def _render_diff(runs: RunList, first: ShownRun, second: ShownRun) -> str:
    return render_diff_page(compare_outcomes((first.path, runs.outcome(first)), (second.path, runs.outcome(second))))


async def _run_page(runs: RunList, request: Request) -> Response:
    run = _require(runs, request.path_params["id"])
    return HTMLResponse(await run_in_threadpool(_render_run, runs, run))


def _render_run(runs: RunList, run: ShownRun) -> str:
    return render_report(runs.outcome(run), run.folder, runs_page="" if run.path == "." else "../../")


async def _run_file(runs: RunList, request: Request) -> Response:
    """Send an artifact: a picture as such, all else as text, of which nothing is executed."""
    run = _require(runs, request.path_params["id"])
    path = resolve_inside(run.folder, request.path_params["path"], "the path of an artifact")
    if not path.is_file():
        return PlainTextResponse("no such artifact\n", status_code=404)
    kind = _PICTURES.get(path.suffix.lower(), "text/plain; charset=utf-8")
    return FileResponse(path, media_type=kind, headers={"content-security-policy": _SANDBOX})


def _require(runs: RunList, run_id: str) -> ShownRun:
    run = runs.find(run_id)
    if run is None or run.summary is None:
        message = f"expected a run that has ended, got {run_id!r}"
        raise UsageError(message)
    return run


async def _show_error(_request: Request, error: Exception) -> Response:
    status = 404 if isinstance(error, UsageError | BundlePathError) else 500
    return PlainTextResponse(f"{error}\n", status_code=status)


class _Guard:
    """Asks for the token, and adds headers to each response."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token
        self._cookie = COOKIE + hashlib.sha256(token.encode()).hexdigest()[:8]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        given = request.query_params.get("token")
        if self._token and given is not None and hmac.compare_digest(given.encode(), self._token.encode()):
            response = RedirectResponse(str(request.url.replace(query="")))
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            await response(scope, receive, send)
            return
        known = request.cookies.get(self._cookie, "")
        if self._token and not hmac.compare_digest(known.encode(), self._token.encode()):
            refused = PlainTextResponse("open the address that `eikon show` printed, with its token\n", status_code=403)
            await refused(scope, receive, send)
            return

        async def send_with_headers(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]  # type: ignore[misc] # a list, by ASGI
            await send(message)

        await self._app(scope, receive, send_with_headers)  # type: ignore[arg-type] # a message of ASGI
