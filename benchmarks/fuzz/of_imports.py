"""Readers of the recordings of other tools, and what becomes a bundle of them."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from benchmarks.fuzz.target import Target, write_input
from eikon_engine.importers.foreign_file import open_foreign_file
from eikon_engine.importers.formats import import_recording
from eikon_engine.importers.har_network import import_har
from eikon_engine.record.import_bundle import write_import

if TYPE_CHECKING:
    from pathlib import Path

_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)


def _import(data: bytes, folder: Path, form: str, name: str = "recording.json") -> None:
    output = folder / "bundle"
    try:
        with open_foreign_file(write_input(folder / name, data)) as file:
            imported = import_recording(file, form)
            write_import(imported, output, now=_NOW, fresh_id=lambda: "0" * 32, partial=True)
    finally:
        shutil.rmtree(output, ignore_errors=True)


def _detect(data: bytes, folder: Path) -> None:
    with open_foreign_file(write_input(folder / "recording.json", data)) as file:
        import_recording(file)


def _har(data: bytes, folder: Path, name: str = "a.har") -> None:
    output = folder / "network"
    try:
        import_har(write_input(folder / name, data), output)
    finally:
        shutil.rmtree(output, ignore_errors=True)


_CORPUS: Final = "tests/data/fuzz"
_JSON: Final = ("devtools", "side", "stagehand", "browser-use")

_SAMPLES: Final = {"browser-use": ("tests/data/histories/browser_use.json",)}

TARGETS: Final = {
    **{name: Target(form="json", read=partial(_import, form=name), samples=_SAMPLES.get(name, ())) for name in _JSON},
    "import-older-trace": Target(
        form="json",
        read=partial(_import, form="eikon", name="trace.json"),
        samples=("tests/data/traces/v3_1_samples/*.json",),
    ),
    "import-har": Target(
        form="json", read=partial(_import, form="har", name="a.har"), samples=(f"{_CORPUS}/har/*.har",)
    ),
    "playwright": Target(form="archive", read=partial(_import, form="playwright", name="trace.zip")),
    "unknown-recording": Target(form="json", read=_detect, samples=tuple(f"{_CORPUS}/{name}/*.json" for name in _JSON)),
    "har": Target(form="json", read=_har),
    "har-archive": Target(form="archive", read=partial(_har, name="a.zip")),
}
"""By name."""
