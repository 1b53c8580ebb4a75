"""Measure how fast a large Playwright trace is imported: about 50 MB compressed.

Run `python -m benchmarks.import_speed`. Half of the archive are response bodies, half are pictures and documents,
which an import skips. The limit is 10 seconds, with memory use that does not grow with the bodies.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from random import Random  # noqa: TID251 - the same archive each time
from time import perf_counter

from benchmarks.table import table

RSS_UNIT = 1 if sys.platform == "darwin" else 1024
WALL_MS = 1_760_000_000_000
BODY_BYTES = 24_000
PICTURE_BYTES = 20_000
REQUESTS_OF_AN_ACTION = 5
DOCUMENT_NODES = 300
CALL_MS = 100.0


def main() -> None:
    """Write the archive, then import it in a separate process to measure its memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actions", type=int, default=350)
    parser.add_argument("--import", dest="path", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.path:
        _import(arguments.path)
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for actions in (arguments.actions // 4, arguments.actions):
            path = Path(folder) / f"{actions}.zip"
            write_trace_zip(path, actions)
            command = [sys.executable, "-m", "benchmarks.import_speed", "--import", str(path)]
            seconds, peak = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            rows.append((actions, path.stat().st_size / 1e6, seconds, peak))
        sys.stdout.write(table(("actions", "MB packed", "seconds", "peak MB"), rows))


def write_trace_zip(path: Path, actions: int) -> None:
    """Write an archive as Playwright does, with a page, clicks on it, and the requests that they caused."""
    chance = Random(1)  # noqa: S311 - the same archive each time
    calls, entries = [_head(), _page()], []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(actions):
            at_ms = 1_000.0 + number * CALL_MS
            calls += _call(number, at_ms, chance)
            archive.writestr(f"screencast/page@1-{number}.jpeg", chance.randbytes(PICTURE_BYTES))
            for place in range(REQUESTS_OF_AN_ACTION):
                body = chance.randbytes(BODY_BYTES)
                name = f"resources/{hashlib.sha1(body, usedforsecurity=False).hexdigest()}.bin"
                archive.writestr(name, body)
                entries.append(_entry(f"http://shop.test/{number}/{place}", at_ms + place + 20, name))
        archive.writestr("trace.trace", "\n".join(calls) + "\n")
        archive.writestr("trace.network", "\n".join(entries) + "\n")


def _import(path: Path) -> None:
    from eikon_engine.cli.import_recording import import_command

    start = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout, kept = sys.stderr, sys.stdout
        import_command.main([str(path), "-o", str(Path(folder) / "bundle")], standalone_mode=False)
        sys.stdout = kept
    seconds = perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT / 1e6
    sys.stdout.write(json.dumps([seconds, peak]))


def _head() -> str:
    return _line(
        {
            "version": 10,
            "type": "context-options",
            "browserName": "chromium",
            "options": {"viewport": {"width": 1280, "height": 720}},
            "wallTime": WALL_MS,
            "monotonicTime": 900.0,
        }
    )


def _page() -> str:
    return _line({"type": "event", "time": 950.0, "method": "page", "params": {"pageId": "page@1"}})


def _call(number: int, at_ms: float, chance: Random) -> list[str]:
    call = f"call@{number}"
    is_first = number == 0
    params = {"url": "http://shop.test/"} if is_first else {"selector": f"#add-{number}", "strict": True}
    return [
        _line(
            {
                "type": "before",
                "callId": call,
                "startTime": at_ms,
                "class": "Frame",
                "method": "goto" if is_first else "click",
                "params": params,
            }
        ),
        *(_snapshot(call, phase, at_ms + 10, chance) for phase in ("before", "action", "after")),
        _line({"type": "after", "callId": call, "endTime": at_ms + CALL_MS / 2}),
    ]


def _snapshot(call: str, phase: str, at_ms: float, chance: Random) -> str:
    nodes = [["DIV", {"class": f"{chance.getrandbits(128):x}"}, f"{chance.getrandbits(256):x}"]] * DOCUMENT_NODES
    snapshot = {
        "callId": call,
        "phase": phase,
        "pageId": "page@1",
        "frameId": "frame@1",
        "frameUrl": "http://shop.test/",
        "html": ["HTML", {}, ["BODY", {}, *nodes]],
        "timestamp": at_ms,
        "isMainFrame": True,
    }
    return _line({"type": "frame-snapshot", "snapshot": snapshot})


def _entry(url: str, at_ms: float, name: str) -> str:
    moment = f"2025-10-09T08:53:{int(at_ms // 1000) % 60:02d}.{int(at_ms) % 1000:03d}Z"
    headers = [{"name": f"X-Header-{place}", "value": "of no interest"} for place in range(20)]
    return _line(
        {
            "type": "resource-snapshot",
            "snapshot": {
                "startedDateTime": moment,
                "time": 5.0,
                "request": {"method": "GET", "url": url, "headers": headers},
                "response": {
                    "status": 200,
                    "statusText": "OK",
                    "headers": headers,
                    "content": {"size": BODY_BYTES, "mimeType": "application/octet-stream", "_file": name},
                },
                "_resourceType": "fetch",
            },
        }
    )


def _line(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


if __name__ == "__main__":
    main()
