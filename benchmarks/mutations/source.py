"""A recorded mission, in the terms in which mutations are written."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from eikon_engine.network.exchange import Hop
from eikon_engine.network.store import NetworkWriter, read_network
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.dom.stored import load_page
from eikon_engine.trace.execution import ActionTrace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.trace.blobs import BlobRef
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.dom import DomNode, FrameSnapshot
    from eikon_engine.trace.execution import SubgoalTrace
    from eikon_engine.trace.observation import Observation

Place = tuple[str, int]
"""Subgoal attempt and sequence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a request is answered instead of what was recorded."""

    body: bytes | None = None
    """None keeps the recorded one."""
    status: int | None = None
    content_type: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    failure: str | None = None
    led_from: str | None = None
    """Address to which the request was redirected, in place of the recorded answer."""


@dataclass(frozen=True)
class Source:
    """A bundle that replays faithfully."""

    name: str
    root: Path
    secrets: Mapping[str, str]

    @cached_property
    def bundle(self) -> Bundle:
        """Read the bundle."""
        return open_bundle(self.root)

    @cached_property
    def recording(self) -> NetworkRecording:
        """Read its network."""
        return read_network(self.root / "network")

    @cached_property
    def actions(self) -> tuple[tuple[SubgoalTrace, ActionTrace], ...]:
        """Return the actions that were performed, in their order."""
        return tuple(
            (subgoal, action)
            for subgoal in self.bundle.trace.subgoal_traces
            for action in subgoal.steps
            if isinstance(action, ActionTrace) and action.result.kind != "blocked"
        )

    def place(self, exchange: Exchange) -> Place:
        """Tell during which action an answer came: each action is one phase, and the time after it another."""
        subgoal, action = self.actions[(exchange.phase + 1) // 2 - 1]
        return subgoal.id, action.sequence

    def observation(self, place: Place) -> Observation | None:
        """Return what was observed after an action."""
        return next(a.observation for s, a in self.actions if (s.id, a.sequence) == place)

    def answered(self, *types: str) -> Iterator[tuple[Exchange, str]]:
        """Yield the answers of some content types, with their text."""
        for exchange in self.recording.exchanges:
            response = exchange.response
            if response is None or response.body is None or exchange.pieces or exchange.moment is None:
                continue
            kind = {name.lower(): value for name, value in response.headers}.get("content-type", "")
            if response.status == 200 and kind.partition(";")[0].strip() in types:
                yield exchange, self.recording.body(response.body).decode()

    def elements(self, place: Place, url: str) -> dict[str, DomNode]:
        """Return the elements with an id of a document as it was after an action."""
        found: dict[str, DomNode] = {}
        for frame in self.frames(place):
            if frame.url.partition("#")[0] == url.partition("#")[0]:
                found.update({node.attribute("id") or "": node for node in frame.root.walk() if not node.is_text})
        found.pop("", None)
        return found

    def frames(self, place: Place) -> Iterator[FrameSnapshot]:
        """Yield the documents as they were after an action."""
        observation = self.observation(place)
        for page in observation.pages if observation is not None else ():
            snapshot = load_page(self.bundle.dom, page)
            if snapshot is not None:
                yield from snapshot.frames

    def with_answers(self, folder: Path, answers: Mapping[int, Answer]) -> Path:
        """Write a bundle whose network answers otherwise, by ordinal of the exchange; bodies are shared."""
        folder.mkdir(parents=True)
        shutil.copy(self.root / "trace.json", folder)
        blobs = folder / "network" / "blobs"
        blobs.mkdir(parents=True)
        for blob in (self.root / "network" / "blobs").rglob("*"):
            if blob.is_file():
                copy = blobs / blob.relative_to(self.root / "network" / "blobs")
                copy.parent.mkdir(parents=True, exist_ok=True)
                os.link(blob, copy)
        with NetworkWriter(folder / "network") as writer:
            for exchange in self.recording.exchanges:
                answer = answers.get(exchange.ordinal)
                writer.append(exchange if answer is None else _changed(exchange, answer, writer))
            for event in self.recording.sockets:
                writer.append_socket(event)
        return folder


def _changed(exchange: Exchange, answer: Answer, writer: NetworkWriter) -> Exchange:
    if answer.failure is not None:
        return exchange.model_copy(update={"response": None, "failure": answer.failure, "hops": ()})
    response = exchange.response
    assert response is not None
    body: BlobRef | None = response.body if answer.body is None else writer.write_blob(answer.body)
    headers = tuple(
        pair for pair in response.headers if not (answer.content_type and pair[0].lower() == "content-type")
    )
    own = (("content-type", answer.content_type),) if answer.content_type else ()
    update: dict[str, object] = {
        "body": body,
        "status": answer.status or response.status,
        "headers": (*headers, *own, *answer.headers),
    }
    if answer.led_from is None:
        return exchange.model_copy(update={"response": response.model_copy(update=update)})
    hop = Hop(url=exchange.request.url, status=302, headers=(("location", answer.led_from),))
    led = response.model_copy(update={**update, "url": answer.led_from})
    return exchange.model_copy(update={"response": led, "hops": (hop,)})
