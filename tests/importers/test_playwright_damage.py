"""Any damaged trace is either read, or refused in one line."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from eikon_engine.errors import EikonError
from eikon_engine.trace.trace_file import TRACE_FILE, read_trace
from tests.cli.test_import import run
from tests.importers.playwright_zips import URL, call, entry, group, head, opened, snapshot, write_zip

if TYPE_CHECKING:
    from tests.importers.playwright_zips import Line

LINES: list[Line] = [
    head(10, title="x", userAgent="Agent"),
    opened(),
    *group(1, "Cart"),
    *call(2, "Frame.goto", url=URL, waitUntil="load", parent="call@1"),
    *call(3, "Frame.click", selector="#a", strict=True, timeout=100, position={"x": 1, "y": 2}, error="no"),
    snapshot(3, "action", html=["HTML", {}, ["IFRAME", {"src": "/snapshot/f", "id": "f"}]]),
    *call(4, "Frame.selectOption", selector="#a", options=[{"value": "a"}]),
    *call(5, "Frame.expect", selector="#a", expression="to.have.count", expectedNumber=1),
    *call(6, "Frame.setInputFiles", selector="#a", payloads=[{"name": "a", "buffer": "YQ=="}]),
    *call(7, "Page.mouseWheel", deltaX=1, deltaY=2),
    *call(8, "Dialog.accept", promptText="x"),
    *call(9, "Frame.getAttribute", selector="#a", strict=True, name="href", result={"value": "/a"}),
    *call(10, "Frame.evaluateExpression", expression="1", arg={"value": {"n": 1}}, result={"value": {"a": [{"n": 1}]}}),
    *call(11, "Frame.expect", selector="#a", expression="to.have.text", expectedText=[{"regexSource": "a"}]),
]
NETWORK = [entry(110), entry(120, f"{URL}a", request={"postData": {"mimeType": "text/plain", "text": "x"}})]
ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -1, 1e308, "", "\ud800", "../x", "\0", {}, [], [[]], {"v": {}}]),
    st.text(max_size=5),
)


def _places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values inside a value."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [found for key, each in inner for found in ((*path, key), *_places(each, (*path, key)))]


def _refusal(path: Path, bundle: Path) -> str | None:
    """Import a trace; return the error message, or None if it was read."""
    try:
        run(str(path), "-o", str(bundle), "--partial")
    except EikonError as error:
        return error.message
    read_trace(bundle / TRACE_FILE)
    return None


@given(place=st.sampled_from(_places([*LINES, *NETWORK])), value=ODD)
@settings(max_examples=400, deadline=None)
def test_any_field_may_hold_anything(place: tuple[Any, ...], value: object) -> None:
    """With any value in any field, a trace is read, or refused in one line without leaving files."""
    lines = copy.deepcopy([*LINES, *NETWORK])
    holder: Any = lines
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = value

    with tempfile.TemporaryDirectory() as folder:
        path = write_zip(Path(folder) / "t.zip", lines[: len(LINES)], lines[len(LINES) :])
        message = _refusal(path, Path(folder) / "bundle")

        assert message is None or "\n" not in message
        assert (message is None) == (Path(folder) / "bundle").exists()


@given(place=st.integers(0, 10_000), value=st.integers(1, 255))
@settings(max_examples=300, deadline=None)
def test_any_byte_of_an_archive_may_be_damaged(place: int, value: int) -> None:
    """Any changed byte of an archive is either harmless, or refused in one line."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_zip(Path(folder) / "t.zip", LINES, NETWORK)
        data = bytearray(path.read_bytes())
        data[place % len(data)] ^= value
        path.write_bytes(data)

        message = _refusal(path, Path(folder) / "bundle")

    assert message is None or "\n" not in message
