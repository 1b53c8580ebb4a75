from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import BundlePathError, TraceError
from eikon_engine.files.blobs import BlobStore
from eikon_engine.files.paths import resolve_inside
from eikon_engine.trace.actions import FileInput, SetInputFiles
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.execution import Artifact, NetworkPart, SkillInputRef, SkillUsage, StartState, Succeeded
from eikon_engine.trace.observation import Observation, PageObservation
from eikon_engine.trace.target import Target
from eikon_engine.trace.trace_file import write_trace
from tests.error_codes import has_code
from tests.trace.trace_values import action, subgoal, trace

if TYPE_CHECKING:
    from eikon_engine.trace.execution import ExecutionTrace

OUTSIDE = ("../x", "a/../../x", "..", "/etc/passwd", "C:/x", "c:x", "a\\b", "\\\\host\\x", "", "a\0b")


def _whole_bundle(root: Path) -> ExecutionTrace:
    """Write a bundle with one attachment of each kind into a folder."""
    dom, files = BlobStore(root / "dom"), BlobStore(root / "files")
    page = PageObservation(page=0, url="u", title="t", snapshot=dom.put(b"after"))
    upload = SetInputFiles(
        target=Target(selector="#file"),
        files=(FileInput(name="a.txt", mime_type="text/plain", content=files.put(b"a")),),
    )
    first = action(1, observation=Observation(pages=(page,)), artifacts=(Artifact(name="shot", path="shots/1.png"),))
    source = SkillInputRef(snapshot=dom.put(b"skill"), url="u")
    skill = SkillUsage(id="k", sequence=3, skill="extract_table", source=source, result=Succeeded())
    for name in ("shots/1.png", "storage_state.json", "network/index.jsonl"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).touch()
    value = trace(
        start=StartState(storage_state="storage_state.json"),
        network=NetworkPart(),
        subgoal_traces=(subgoal(actions_taken=(first, action(2, action=upload)), skills_used=(skill,)),),
    )
    write_trace(value, root)
    return value


def test_a_complete_bundle_opens_by_its_folder_and_by_its_file(tmp_path: Path) -> None:
    """The bundle holds the trace and reads its blobs."""
    value = _whole_bundle(tmp_path)

    for path in (tmp_path, tmp_path / "trace.json"):
        bundle = open_bundle(path)
        bundle.verify()
        assert (bundle.root, bundle.trace) == (tmp_path, value)


ATTACHMENTS = {
    "storage_state.json": "start.storage_state",
    "network": "network.folder",
    "shots/1.png": "subgoal_traces[0].actions_taken[0].artifacts[0].path",
    "dom/after": "subgoal_traces[0].actions_taken[0].observation.pages[0].snapshot",
    "files/a": "subgoal_traces[0].actions_taken[1].action.files[0].content",
    "dom/skill": "subgoal_traces[0].skills_used[0].source.snapshot",
}


@pytest.mark.parametrize(("name", "field"), ATTACHMENTS.items(), ids=ATTACHMENTS)
def test_a_missing_attachment_is_named_with_its_field(tmp_path: Path, name: str, field: str) -> None:
    """Every attachment that the trace refers to must exist."""
    _whole_bundle(tmp_path)
    folder, _, content = name.partition("/")
    if folder in {"dom", "files"}:
        store = BlobStore(tmp_path / folder)
        name = store.path(store.put(content.encode())).relative_to(tmp_path).as_posix()
    (tmp_path / name).rename(tmp_path / "elsewhere")

    with pytest.raises(TraceError, check=has_code("attachment-missing")) as raised:
        open_bundle(tmp_path)

    assert raised.value.message == (
        f"{field}: expected {name} in the bundle, got nothing; restore the file or record the mission again"
    )


def test_a_blob_with_another_content_is_found(tmp_path: Path) -> None:
    """`verify` reads every blob and compares its digest."""
    _whole_bundle(tmp_path)
    next((tmp_path / "dom").iterdir()).write_bytes(b"other")

    with pytest.raises(TraceError, check=has_code("attachment-corrupt")):
        open_bundle(tmp_path).verify()


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_path_outside_the_bundle_is_refused_with_its_field(tmp_path: Path, path: str) -> None:
    """A trace cannot refer to other files of this machine, on any operating system."""
    write_trace(trace(start=StartState(storage_state=path)), tmp_path)

    with pytest.raises(BundlePathError, match=r"^start\.storage_state: .* which points outside by its text"):
        open_bundle(tmp_path)


def test_a_symlink_out_of_the_bundle_is_refused(tmp_path: Path) -> None:
    """A symbolic link is resolved before the check, for files and blobs; one that stays inside is allowed."""
    bundle = tmp_path / "bundle"
    _whole_bundle(bundle)
    (bundle / "kept").symlink_to(bundle / "shots")
    assert resolve_inside(bundle, "kept/1.png") == bundle / "kept" / "1.png"

    (tmp_path / "outside").mkdir()
    (bundle / "out").symlink_to(tmp_path / "outside")
    with pytest.raises(BundlePathError, match="through a symbolic link"):
        resolve_inside(bundle, "out/x")

    blob = next((bundle / "files").iterdir())
    blob.rename(tmp_path / "blob")
    blob.symlink_to(tmp_path / "blob")
    with pytest.raises(BundlePathError, match=r"actions_taken\[1\]\.action\.files\[0\]\.content: .*symbolic link"):
        open_bundle(bundle)


def test_cyclic_symlinks_and_long_names_are_refused(tmp_path: Path) -> None:
    """A path that the operating system refuses to follow raises our own error."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in ("loop", "x" * 5000):
        write_trace(trace(start=StartState(storage_state=path)), tmp_path)
        with pytest.raises(TraceError):
            open_bundle(tmp_path)


def test_missing_artifacts_of_an_older_recording_are_warnings(tmp_path: Path) -> None:
    """Replays do not read artifacts: an older trace without their folders still opens."""
    artifact = Artifact(name="mission_dir", path="gone")
    write_trace(trace(artifacts=(artifact,), migrated_from="v3.1"), tmp_path)

    assert open_bundle(tmp_path).trace.warnings == ("artifacts[0].path: gone is missing from the bundle",)

    write_trace(trace(artifacts=(artifact,)), tmp_path)
    with pytest.raises(TraceError, match=r"artifacts\[0\]\.path: expected gone", check=has_code("attachment-missing")):
        open_bundle(tmp_path)
