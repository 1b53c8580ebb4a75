"""HAR entries as other programs write them, and helpers that import them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from eikon_engine.importers.har_network import HarImport, import_har

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.secrets.redaction import Redactor

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def entry(url: str = "http://a/", status: int = 200, at: int = 0, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return an entry as other programs write it; `request__…` and `response__…` override its parts."""
    parts: dict[str, dict[str, Any]] = {
        "request": {"method": "GET", "url": url, "headers": [{"name": ":method", "value": "GET"}]},
        "response": {"status": status, "statusText": "", "headers": [], "redirectURL": "", "content": {"size": 0}},
    }
    plain: dict[str, Any] = {"startedDateTime": f"2026-01-02T03:04:{at:02}.5Z", "time": 100, **parts}
    for name, value in fields.items():
        part, _, field = name.partition("__")
        if field:
            parts[part][field] = value
        else:
            plain[name] = value
    return plain


def imported(folder: Path, *entries: dict[str, Any], redactor: Redactor | None = None) -> HarImport:
    """Import a HAR with these entries."""
    (folder / "a.har").write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}), encoding="utf-8-sig")
    return import_har(folder / "a.har", folder / "network", redactor)


def bodies(har: HarImport) -> list[bytes | None]:
    """Read the bodies of the answers."""
    refs = [each.response.body if each.response else None for each in har.recording.exchanges]
    return [har.recording.body(ref) if ref is not None else None for ref in refs]
