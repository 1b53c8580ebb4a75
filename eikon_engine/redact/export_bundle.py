"""Export a bundle as one zip file for sharing."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import OutputError
from eikon_engine.files.limits import open_file
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.temporary import temporary_folder
from eikon_engine.files.writing import copy_file, copy_folder, write_atomically, write_error_message
from eikon_engine.llm.response_folder import RESPONSES_FOLDER, STATE_FILE, response_files
from eikon_engine.network.store import BLOBS_NAME, INDEX_NAME, LONG_TASKS_NAME, SOCKETS_NAME, read_network
from eikon_engine.redact.bundle_secrets import BundleSecrets
from eikon_engine.redact.rewrite_bundle import redact_bundle
from eikon_engine.redact.scan import scan_folder
from eikon_engine.redact.secret_detector import SecretDetector
from eikon_engine.secrets.redaction import Redactor
from eikon_engine.trace.accepted import ACCEPTED_FILE, AcceptedBaselines, read_accepted, with_accepted
from eikon_engine.trace.bundle import blob_references, open_bundle, path_references
from eikon_engine.trace.certificate import CERTIFICATE_FILE, LAST_CERTIFICATION_FILE
from eikon_engine.trace.masks import Mask, StoragePart
from eikon_engine.trace.trace_file import find_trace_file, read_trace, write_trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.redact.scan import SuspectedSecret
    from eikon_engine.secrets.redaction import FoundSecret
    from eikon_engine.secrets.search import RedactionRules
    from eikon_engine.trace.bundle import Bundle

_ZIP_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""Earliest timestamp of the zip format; equal bundles produce equal files."""
_IMAGE_SUFFIXES: Final = (".png", ".jpg", ".jpeg")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSummary:
    """Summary of an export."""

    replaced_count: int
    """Number of values replaced for the export."""
    is_changed: bool
    """Whether any file differs from the bundle."""
    is_certificate_removed: bool
    """Whether the certificate was removed because the files it covers changed."""
    image_count: int
    """Number of images; they are not redacted."""
    suspected: tuple[SuspectedSecret, ...]
    """Values that may still be secrets."""
    skipped: tuple[str, ...]
    """Files of the folder that are no part of the bundle: the trace does not name them."""


def export_bundle(source: Path, target: Path, rules: RedactionRules, key: bytes, *, is_redacted: bool) -> ExportSummary:
    """Write the bundle at `source` as a zip file; `is_redacted` applies stricter rules than recordings do.

    Only what the trace names is written, whatever else is in the folder.

    Raises:
        TraceError: the bundle cannot be read.
        BundlePathError: a file of it is a link that leads outside.
        OutputError: the file cannot be written.
    """
    bundle = open_bundle(source)
    with temporary_folder("export") as folder:
        copy = folder / (bundle.root.resolve().name or "bundle")
        packed = _packed_files(bundle)
        for relative in packed:
            _copy_file(bundle.root, relative, copy)
        if is_redacted:  # its reason quotes pages, also of sites that the bundle has not recorded
            (copy / LAST_CERTIFICATION_FILE).unlink(missing_ok=True)
        found = _redact_copy(copy, rules, key) if is_redacted else None
        is_changed = found is not None and found.is_changed
        drops_certificate = is_changed and (copy / CERTIFICATE_FILE).exists()
        if is_changed:
            (copy / CERTIFICATE_FILE).unlink(missing_ok=True)
        suspected = scan_folder(copy, allow_rules=()) if is_redacted else ()
        _write_zip(copy, target)
        pictures = sum(path.suffix in _IMAGE_SUFFIXES for path in copy.rglob("*"))
    replaced = len(found.table) if found is not None else 0
    skipped = tuple(sorted(_all_files(bundle.root) - packed))
    return ExportSummary(
        replaced_count=replaced,
        is_changed=is_changed,
        is_certificate_removed=drops_certificate,
        image_count=pictures,
        suspected=tuple(suspected),
        skipped=skipped,
    )


def _packed_files(bundle: Bundle) -> frozenset[str]:
    """Return the files that are parts of a bundle, as paths relative to its folder."""
    root, trace = bundle.root, bundle.trace
    own = bundle.file.name if bundle.file is not None else find_trace_file(root).name
    named = {own, CERTIFICATE_FILE, LAST_CERTIFICATION_FILE, ACCEPTED_FILE}
    named.update(each.path for each in path_references(trace) if each.kind != "folder")
    accepted = (AcceptedBaselines(history=(each,)) for each in read_accepted(root).history)
    for shown in (trace, *(with_accepted(trace, each) for each in accepted)):
        named.update(f"{each.store}/{each.ref.sha256}.zst" for each in blob_references(shown))
    if trace.network is not None:
        named.update(_network_files(root, trace.network.folder))
    responses = resolve_inside(root, RESPONSES_FOLDER, RESPONSES_FOLDER)
    named.update(f"{RESPONSES_FOLDER}/{each.name}" for each in (*response_files(responses), responses / STATE_FILE))
    return frozenset(name for name in named if (root / name).is_file())


def _network_files(root: Path, folder: str) -> Iterator[str]:
    yield from (f"{folder}/{name}" for name in (INDEX_NAME, SOCKETS_NAME, LONG_TASKS_NAME))
    for ref in read_network(resolve_inside(root, folder, "network.folder")).refs:
        yield f"{folder}/{BLOBS_NAME}/{ref.sha256}.zst"


def _all_files(root: Path) -> frozenset[str]:
    """Return all files and links below a folder, as paths relative to it; links are not followed."""
    found: set[str] = set()
    for folder, folders, names in os.walk(root):
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        found.update((Path(folder) / name).relative_to(root).as_posix() for name in (*names, *links))
    return frozenset(found)


def _copy_file(root: Path, relative: str, copy: Path) -> None:
    target = copy / relative
    try:
        with open_file(resolve_inside(root, relative, "bundle"), root=root) as source:
            copy_file(source, target)
    except OSError as error:
        message = f"cannot copy {root / relative}: {error}; check permissions and free disk space"
        raise OutputError(message) from error


@dataclass(frozen=True, slots=True)
class _Redacted:
    table: tuple[FoundSecret, ...]
    is_changed: bool


def _redact_copy(root: Path, rules: RedactionRules, key: bytes) -> _Redacted:
    original = read_trace(root)
    found = SecretDetector(rules, key, is_strict=True, known=original.redaction.found)
    secrets = BundleSecrets(found)
    secrets.read_bundle(root)
    redactor = Redactor({}, found.stand_ins)
    is_changed = redact_bundle(root, redactor, secrets.changed_digests(redactor), found)
    if not is_changed:
        return _Redacted((), is_changed=False)
    trace = read_trace(root)
    table = (*trace.redaction.found, *found.table)
    warning = "secrets were replaced on export; certify the bundle before relying on its replays"
    masks = tuple(_storage_mask(name) for name in secrets.unverifiable_items(original))
    update = {
        "masks": (*trace.masks, *masks),
        "redaction": trace.redaction.model_copy(update={"found": table}),
        "warnings": (*trace.warnings, warning),
    }
    write_trace(trace.model_copy(update=update), find_trace_file(root))
    return _Redacted(found.table, is_changed=True)


def _storage_mask(name: str) -> Mask:
    """Mask a stored item whose value is unknown: the digest of its redacted value cannot be computed."""
    reason = "only the digest of its original value is known, so it cannot be compared after redaction"
    return Mask(name=f"storage {name}", part=StoragePart(name=name), reason=reason)


def copy_without_links(root: Path, copy: Path) -> None:
    """Copy a bundle, without symbolic links.

    Raises:
        OutputError: a file cannot be read, or the copy cannot be written.
    """
    try:
        copy_folder(root, copy, ignore=_symlinks)
    except (OSError, shutil.Error) as error:
        message = f"cannot copy {root}: {error}; check permissions and free disk space"
        raise OutputError(message) from error


def _symlinks(folder: str, names: list[str]) -> list[str]:
    """Exclude symbolic links: they may lead outside the bundle."""
    return [name for name in names if (Path(folder) / name).is_symlink()]


def _write_zip(root: Path, target: Path) -> None:
    packed = io.BytesIO()
    try:
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(root.rglob("*")):
                if path.is_file():
                    entry = zipfile.ZipInfo(path.relative_to(root.parent).as_posix(), _ZIP_EPOCH)
                    entry.compress_type = zipfile.ZIP_STORED if path.suffix == ".zst" else zipfile.ZIP_DEFLATED
                    entry.external_attr = 0o600 << 16
                    archive.writestr(entry, path.read_bytes())
    except OSError as error:
        raise OutputError(write_error_message(target, error)) from error
    write_atomically(target, packed.getvalue())
