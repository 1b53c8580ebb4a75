"""Readers of bundles: trace, journal, network, stored pages, certificates, patches."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import zstandard

from benchmarks.fuzz.target import Target, read_each, write_input
from eikon_engine.divergence.dom_diff import diff_snapshots, render_diff
from eikon_engine.divergence.response_diff import ComparedResponse, compare_responses
from eikon_engine.divergence.response_text import find_error_text, find_sign_in_form
from eikon_engine.divergence.snapshot_elements import locate_elements
from eikon_engine.dom.digest import decode_snapshot, page_digest, snapshot_from_json
from eikon_engine.dom.fast_html import render_stored_frames
from eikon_engine.dom.html import render_html
from eikon_engine.exporters.har import render_har
from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.heartbeats import read_handshake
from eikon_engine.network.keys import canonical_request, unpack_body
from eikon_engine.network.nearest import body_fields
from eikon_engine.network.rules import blank_exchange, blank_message, blank_request
from eikon_engine.network.store import INDEX_NAME, LONG_TASKS_NAME, SOCKETS_NAME, read_network
from eikon_engine.network.websocket import SocketMessage, SocketOpened
from eikon_engine.record.start_state import read_session_storage
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.replay.plan import plan_replay
from eikon_engine.secrets.token_formats import find_tokens
from eikon_engine.skills import SkillInput, default_skills
from eikon_engine.trace.accepted import read_accepted
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.certificate import read_certificate, read_last_certification
from eikon_engine.trace.environment import read_storage_state
from eikon_engine.trace.patch import apply_patch, read_patch
from eikon_engine.trace.rules import FormFieldRule, JsonPathRule, QueryKeyRule, TimestampRule
from eikon_engine.trace.stored_pages import read_stored_html
from eikon_engine.trace.trace_file import parse_trace, read_trace, serialize_trace

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.trace.rules import VolatileRule

FAILING: Final = "tests/data/traces/shop_failing"
_PAGES: Final = ("tests/data/pages/*.html", "tests/data/traces/old_format/artifacts/*/*/dom.html")
_SKILLS: Final = tuple(each for each in default_skills() if not each.parameters.model_json_schema().get("required"))
_RULES: Final[tuple[VolatileRule, ...]] = (
    QueryKeyRule(reason="r", name="page"),
    JsonPathRule(reason="r", path="$.items[*].id"),
    TimestampRule(reason="r"),
    FormFieldRule(reason="r", name="name"),
)


def _trace(data: bytes, folder: Path) -> None:
    write_input(folder / "trace.json", data)
    bundle = open_bundle(folder)
    serialize_trace(bundle.trace)
    plan_replay(bundle, ReplayOptions(secrets=dict.fromkeys(("PASSWORD", "secret", "password"), "s")))


def _journal(data: bytes, folder: Path) -> None:
    write_input(folder / "journal.jsonl", data)
    serialize_trace(read_trace(folder))


def _exchanges(data: bytes, folder: Path) -> None:
    write_input(folder / INDEX_NAME, data)
    _use_network(read_network(folder))


def _sockets(data: bytes, folder: Path) -> None:
    write_input(folder / INDEX_NAME, b"")
    write_input(folder / SOCKETS_NAME, data)
    _use_network(read_network(folder))


def _long_tasks(data: bytes, folder: Path) -> None:
    write_input(folder / INDEX_NAME, b"")
    write_input(folder / LONG_TASKS_NAME, data)
    read_network(folder)


def _use_network(recording: NetworkRecording) -> None:
    """Do with a recorded network what replays and exports do."""
    from datetime import UTC, datetime

    for exchange in recording.exchanges:
        blank_exchange(exchange, _RULES, recording.body)
    for event in recording.sockets:
        if isinstance(event, SocketMessage):
            blank_message("ws://a.test/", recording.message(event), _RULES)
        elif isinstance(event, SocketOpened):
            read_handshake(event.url, b'0{"pingInterval":1,"pingTimeout":2}')
    render_har(recording, started_at=datetime(2026, 1, 1, tzinfo=UTC), version="0")


def _body(data: bytes, _folder: Path) -> None:
    kind, _, body = data.partition(b"\n")
    media_type = kind.decode("utf-8", "replace")
    url = "http://a.test/?page=1"
    plain = unpack_body(body)
    blank_request(canonical_request("POST", url, plain, media_type), _RULES)
    body_fields(plain, media_type)
    blank_message("ws://a.test/", body, _RULES)
    read_handshake("ws://a.test/?EIO=4", body)
    find_sign_in_form(body, media_type)
    find_error_text(body, media_type)
    headers = (("content-type", media_type), ("set-cookie", media_type), ("location", media_type))
    before = ComparedResponse(url=url, status=200, headers=headers, body=b'{"a":1,"items":[{"id":1}]}')
    tuple(compare_responses(before, ComparedResponse(url=url, status=500, headers=headers, body=body)))
    same = ComparedResponse(url=url, status=200, headers=headers, body=body + b" ")
    tuple(compare_responses(same, ComparedResponse(url=url, status=200, headers=headers, body=body)))
    tuple(find_tokens(body.decode("utf-8", "replace")))


def _blob(data: bytes, folder: Path) -> None:
    store = BlobStore(folder / "dom")
    name = "64a841c74901d92852e0319409b44c126971edc307524e3c2d98384dbf2cf5dc"
    store.get(store.ref_of_file(write_input(folder / "dom" / f"{name}.zst", data)))


def _packed_snapshot(data: bytes, _folder: Path) -> None:
    decode_snapshot(data)


def _snapshot(data: bytes, _folder: Path) -> None:
    render_stored_frames(data)
    page = snapshot_from_json(data)
    page_digest(page)
    for frame in page.frames:
        render_html(frame, frames=page.frames)
        tuple(locate_elements(frame))
    other = snapshot_from_json(SNAPSHOT)
    render_diff(diff_snapshots(other, page))
    render_diff(diff_snapshots(page, other))


def _stored_page(data: bytes, folder: Path) -> None:
    write_input(folder / "dom.html", data)
    html = read_stored_html(folder, "dom.html")
    page = SkillInput(html=html, url="http://shop.test/a?b")
    read_each(*(partial(each.run, page) for each in _SKILLS))


def _storage_state(data: bytes, folder: Path) -> None:
    read_storage_state(write_input(folder / "state.json", data))


def _session_storage(data: bytes, folder: Path) -> None:
    read_session_storage(write_input(folder / "session.json", data))


def _certificate(data: bytes, folder: Path) -> None:
    write_input(folder / "certificate.json", data)
    write_input(folder / "last_certification.json", data)
    read_each(lambda: read_certificate(folder), lambda: read_last_certification(folder))


def _accepted(data: bytes, folder: Path) -> None:
    write_input(folder / "accepted.json", data)
    str(read_accepted(folder))


def _patch(data: bytes, folder: Path) -> None:
    patch = read_patch(write_input(folder / "patch.json", data))
    serialize_trace(apply_patch(read_trace(folder), patch))


def _parsed_trace(data: bytes, _folder: Path) -> None:
    serialize_trace(parse_trace(data, "trace.json"))


def _sample_snapshot() -> bytes:
    from benchmarks.fuzz.target import ROOT

    packed = min((ROOT / FAILING / "dom").glob("*.zst"))
    return zstandard.ZstdDecompressor().decompress(packed.read_bytes())


SNAPSHOT: Final = _sample_snapshot()
"""A valid DOM snapshot."""

TARGETS: Final = {
    "trace": Target(form="json", read=_trace, beside=FAILING, samples=(f"{FAILING}/trace.json",)),
    "older-trace": Target(
        form="json",
        read=_parsed_trace,
        samples=("tests/data/traces/v3_1_samples/*.json", "tests/data/traces/old_format/trace.json"),
    ),
    "journal": Target(form="lines", read=_journal),
    "exchanges": Target(
        form="lines", read=_exchanges, beside=f"{FAILING}/network", samples=(f"{FAILING}/network/index.jsonl",)
    ),
    "sockets": Target(form="lines", read=_sockets),
    "long-tasks": Target(form="lines", read=_long_tasks),
    "body": Target(form="text", read=_body),
    "blob": Target(form="bytes", read=_blob, beside=FAILING, samples=(f"{FAILING}/dom/*.zst",)),
    "packed-snapshot": Target(form="bytes", read=_packed_snapshot, samples=(f"{FAILING}/dom/*.zst",)),
    "snapshot": Target(form="json", read=_snapshot),
    "stored-page": Target(form="text", read=_stored_page, samples=_PAGES),
    "storage-state": Target(form="json", read=_storage_state),
    "session-storage": Target(form="json", read=_session_storage),
    "certificate": Target(form="json", read=_certificate),
    "accepted": Target(form="json", read=_accepted),
    "patch": Target(form="json", read=_patch, beside=FAILING),
}
"""By name."""
