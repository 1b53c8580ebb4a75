from __future__ import annotations

from pathlib import Path

import pytest

from eikon_engine.errors import PatchRejectedError
from eikon_engine.fix.appliers.trace_patch import TracePatchApplier
from eikon_engine.fix.models import PatchFix, TextFix
from eikon_engine.trace.certificate import CERTIFICATE_FILE
from eikon_engine.trace.edits import SetFields
from eikon_engine.trace.patch import TracePatch
from eikon_engine.trace.serializer import read_trace, write_trace
from tests.trace.trace_values import trace


def test_a_patch_changes_the_trace_of_its_bundle(tmp_path: Path) -> None:
    """The trace says who, what and why; a certificate of other steps goes."""
    _bundle(tmp_path)

    application = TracePatchApplier().apply(_patch("Buy two"), tmp_path, ("bundles/shop",))

    changed = read_trace(tmp_path / "bundles/shop")
    assert changed.mission_text == "Buy two"
    assert changed.warnings[-1].endswith("(the label changed)")
    assert application.files == (f"bundles/shop/{CERTIFICATE_FILE}", "bundles/shop/trace.json")
    assert '+  "mission_text": "Buy two"' in application.diff.replace("\n+ ", "\n+  ").replace("+   ", "+  ")


@pytest.mark.parametrize("targets", [(), ("bundles/shop", "bundles/other"), ("bundles/other",), ("../shop",)])
def test_there_has_to_be_one_bundle(targets: tuple[str, ...], tmp_path: Path) -> None:
    """Which recording changes is never guessed."""
    _bundle(tmp_path)

    with pytest.raises(PatchRejectedError):
        TracePatchApplier().apply(_patch("Buy two"), tmp_path, targets)


def test_a_patch_that_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    """A step that is not there, or a change that is none, is refused."""
    _bundle(tmp_path)
    before = (tmp_path / "bundles/shop/trace.json").read_bytes()
    nowhere = SetFields(step="nowhere", fields={"action.url": "x"}, reason="r")

    for fix in (
        PatchFix(patch=TracePatch(operations=(nowhere,)), reason="r"),
        PatchFix(patch=TracePatch(), reason="r"),
        TextFix(text="words"),
    ):
        with pytest.raises(PatchRejectedError):
            TracePatchApplier().apply(fix, tmp_path, ("bundles/shop",))

    assert (tmp_path / "bundles/shop/trace.json").read_bytes() == before


def _bundle(tree: Path) -> None:
    write_trace(trace(), tree / "bundles/shop/trace.json")
    (tree / "bundles/shop" / CERTIFICATE_FILE).write_text("{}", encoding="utf-8")


def _patch(text: str) -> PatchFix:
    edit = SetFields(step="", fields={"mission_text": text}, reason="the label changed")
    return PatchFix(patch=TracePatch(operations=(edit,)), reason="the label changed")
