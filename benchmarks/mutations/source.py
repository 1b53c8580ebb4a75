"""A recorded mission, with the queries that mutations need."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from eikon_engine.network.exchange import PHASES_PER_ACTION, PHASES_PER_ACTION_WITH_LOOKUP, Hop
from eikon_engine.network.store import NetworkWriter, read_network
from eikon_engine.trace.actions import READING_ACTIONS, Fill, TypeText
from eikon_engine.trace.bundle import load_page, open_bundle
from eikon_engine.trace.execution import ActionTrace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from eikon_engine.dom import DomNode, FrameSnapshot
    from eikon_engine.files.blobs import BlobRef
    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import SubgoalTrace
    from eikon_engine.trace.observation import Observation

Place = tuple[str, int]
"""Id of the subgoal attempt, and sequence."""
_GOOD: Final = range(200, 300)
_NO_CLICKS: Final = ("fill", "note", "assert", "wait_for", "screenshot", "answer_dialog", "switch_page")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A changed response to a request."""

    body: bytes | None = None
    """None keeps the body, as `edit` changes it."""
    edit: Callable[[str], str] | None = None
    """Changes the text of the body, of the recorded response or of a live one."""
    status: int | None = None
    content_type: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    failure: str | None = None
    led_from: str | None = None
    """URL to which the request is redirected, instead of the recorded response."""
    delay_ms: float = 0.0
    """Delay of this response and of all later ones during the same action."""


@dataclass(frozen=True)
class Source:
    """A bundle that replays faithfully."""

    name: str
    root: Path
    secrets: Mapping[str, str]

    @cached_property
    def bundle(self) -> Bundle:
        """Return the bundle."""
        return open_bundle(self.root)

    @cached_property
    def recording(self) -> NetworkRecording:
        """Return its network."""
        return read_network(self.root / "network")

    @cached_property
    def actions(self) -> tuple[tuple[SubgoalTrace, ActionTrace], ...]:
        """Return the performed actions, in order."""
        return tuple(
            (subgoal, action)
            for subgoal in self.bundle.trace.subgoal_traces
            for action in subgoal.steps
            if isinstance(action, ActionTrace) and action.result.kind != "blocked"
        )

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Return the places of all actions, in order."""
        return tuple((subgoal.id, action.sequence) for subgoal, action in self.actions)

    def places_from(self, place: Place) -> tuple[Place, ...]:
        """Return a place and all later ones."""
        return self.places[self.places.index(place) :]

    def place_of(self, phase: int) -> Place:
        """Return the action of a phase: each action has one or two phases, and the time after it another."""
        environment = self.bundle.trace.environment
        is_natural = environment is not None and environment.clock == "natural"
        phases = PHASES_PER_ACTION_WITH_LOOKUP if is_natural else PHASES_PER_ACTION
        return self.places[(phase + phases - 1) // phases - 1]

    def place(self, exchange: Exchange) -> Place:
        """Return the action during which a response arrived."""
        return self.place_of(exchange.pieces[0].moment.phase if exchange.pieces else exchange.phase)

    def place_of_byte(self, exchange: Exchange, end: int) -> Place:
        """Return the action during which a streamed response had arrived up to a byte."""
        length = 0
        for piece in exchange.pieces:
            length += piece.length
            if length >= end:
                return self.place_of(piece.moment.phase)
        raise ValueError(end)

    def action(self, place: Place) -> ActionTrace:
        """Return the action at a place."""
        return self.actions[self.places.index(place)][1]

    def observation(self, place: Place) -> Observation | None:
        """Return the observation after an action."""
        return self.action(place).observation

    def loads(self, place: Place) -> tuple[str, ...]:
        """Return the URLs of the documents that pages loaded during an action."""
        observation = self.observation(place)
        return tuple(load.url for load in observation.documents) if observation is not None else ()

    def texts(self, place: Place) -> set[str]:
        """Return the texts on all pages after an action."""
        nodes = (node for frame in self.frames(place) for node in frame.root.walk())
        return {node.text for node in nodes if node.text is not None}

    def writes(self, place: Place) -> bool:
        """Return whether more than one state-changing request was sent during an action."""
        observation = self.observation(place)
        return observation is not None and len(observation.writes or ()) > 1

    def new_texts(self, place: Place) -> set[str]:
        """Return the texts on all pages after an action that were neither there before nor loaded with a document."""
        loads = set(self.loads(place))
        frames = {frame.url for frame in self.frames(place)}
        bodies = [text for exchange, text in self.answered("text/html") if {exchange.request.url} & (loads | frames)]
        before = self.places[max(0, self.places.index(place) - 1)]
        known = set() if loads else self.texts(before)
        return {text for text in self.texts(place) - known if not any(text in body for body in bodies if loads)}

    def lasting_texts(self, place: Place) -> set[str]:
        """Return the new texts after an action that are still there when the mission has read what follows."""
        texts = self.new_texts(place)
        for each in self.places_from(place)[1:]:
            if not isinstance(self.action(each).action, READING_ACTIONS):
                break
            texts &= self.texts(each)
        return texts

    def heading(self, place: Place, style: Exchange) -> str | None:
        """Return the tag of a heading on the page of a style sheet; None if it is unknown what is hidden there.

        The page is the last one requested before the style sheet.
        """
        observation = self.observation(place)
        before = [each for each in self.recording.exchanges if each.ordinal < style.ordinal]
        url = next((each.request.url for each in reversed(before) if each.request.resource_type == "document"), "")
        seen = [frame for page in observation.pages for frame in page.frames] if observation is not None else []
        if not any(frame.url == url and frame.visibility is not None for frame in seen):
            return None
        nodes = (node for frame in self.frames(place) if frame.url == url for node in frame.root.walk())
        return next((node.tag for node in nodes if node.tag in {"h1", "h2"}), None)

    def screenshot_after(self, exchange: Exchange) -> Place | None:
        """Return the first screenshot of the page that received a response, if there is one."""
        return next((place for place in self._same_page(exchange) if self._is(place, "screenshot")), None)

    def click_after(self, exchange: Exchange) -> Place | None:
        """Return the first action after a response that certainly clicks on its page; None if there is none."""
        after = (place for place in self._same_page(exchange) if not self._is(place, *_NO_CLICKS))
        first = next(after, None)
        return first if first is not None and self._is(first, "click") and self._succeeds(first) else None

    def _succeeds(self, place: Place) -> bool:
        return self.action(place).result.kind == "ok"

    def fill_after(self, exchange: Exchange) -> Place | None:
        """Return the first action after a response, on its page, that fills in lower-case letters."""
        return next((place for place in self._same_page(exchange) if self._fills_small_letters(place)), None)

    def _fills_small_letters(self, place: Place) -> bool:
        action = self.action(place).action
        return (
            isinstance(action, Fill | TypeText) and isinstance(action.text, str) and action.text != action.text.upper()
        )

    def _same_page(self, exchange: Exchange) -> Iterator[Place]:
        """Yield the actions after a response, as long as the first page keeps its document."""
        place = self.place(exchange)
        observation = self.observation(place)
        is_own = bool(self.loads(place)) and observation is not None and not observation.opened
        for each in self.places_from(place)[1:] if is_own else ():
            target = getattr(self.action(each).action, "target", None)
            if self.action(each).action.page == 0 and (target is None or not target.frames):
                yield each
            seen = self.observation(each)
            if seen is None or any(load.page == 0 for load in seen.documents):
                return

    def _is(self, place: Place, *types: str) -> bool:
        return self.action(place).action.type in types

    @cached_property
    def scripts(self) -> str:
        """Return all scripts that are separate files."""
        return "\n".join(text for _, text in self.answered("text/javascript", "application/javascript"))

    def is_scripted(self, identity: str) -> bool:
        """Return whether a script refers to an element."""
        return f'"{identity}"' in self.scripts or f"'{identity}'" in self.scripts

    def is_in_force(self, exchange: Exchange, place: Place) -> bool:
        """Return whether a document of an action uses a script, without a later response of the same URL."""
        last = self.places.index(place)
        same = [each for each in self.recording.exchanges if each.request.url == exchange.request.url]
        before = [each for each in same if self.places.index(self.place(each)) < last]
        if not before or before[-1].ordinal != exchange.ordinal:
            return False
        nodes = ((frame, node) for frame in self.frames(place) for node in frame.root.walk() if node.tag == "script")
        return exchange.request.url in {urljoin(frame.url, node.attribute("src") or "") for frame, node in nodes}

    def answered(self, *types: str) -> Iterator[tuple[Exchange, str]]:
        """Yield the responses of some content types, with their text; of streamed ones, only documents.

        Depending on load, a document arrives in pieces or at once; pages see no difference.
        """
        for exchange in self.recording.exchanges:
            response = exchange.response
            if response is None or response.body is None or exchange.moment is None:
                continue
            if exchange.pieces and not exchange.request.is_navigation:
                continue
            kind = {name.lower(): value for name, value in response.headers}.get("content-type", "")
            if response.status in _GOOD and kind.partition(";")[0].strip() in types:
                yield exchange, self.recording.body(response.body).decode()

    def streamed(self, kind: str) -> Iterator[tuple[Exchange, bytes]]:
        """Yield the streamed responses of a content type, with their bodies."""
        for exchange in self.recording.exchanges:
            response = exchange.response
            if response is not None and response.body is not None and exchange.pieces:
                types = {value.partition(";")[0] for name, value in response.headers if name.lower() == "content-type"}
                if kind in types:
                    yield exchange, self.recording.body(response.body)

    def elements(self, place: Place, url: str) -> dict[str, DomNode]:
        """Return the elements with an id of a document, as they were after an action."""
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

    def with_trace(self, folder: Path, trace: str) -> Path:
        """Write a bundle with another trace; all other files are shared."""
        shutil.copytree(self.root, folder, copy_function=os.link, ignore=shutil.ignore_patterns("trace.json"))
        (folder / "trace.json").write_text(trace, encoding="utf-8")
        return folder

    def with_answers(
        self, folder: Path, answers: Mapping[int, Answer], messages: Mapping[int, str | None] | None = None
    ) -> Path:
        """Write a bundle with a changed network; bodies are shared.

        `answers` are by ordinal of the exchange; `messages` of servers on sockets are by order of the event.
        """
        shutil.copytree(self.root, folder, copy_function=os.link, ignore=shutil.ignore_patterns("*.jsonl"))
        late = [(each, answers[each.ordinal].delay_ms) for each in self.recording.exchanges if each.ordinal in answers]
        with NetworkWriter(folder / "network") as writer:
            for exchange in self.recording.exchanges:
                answer = answers.get(exchange.ordinal)
                moved = _delayed(exchange, late)
                writer.append(moved if answer is None else self._changed(moved, answer, writer))
            for event in self.recording.sockets:
                said = messages.get(event.moment.order, "") if messages is not None else ""
                if said:
                    writer.append_socket(event.model_copy(update={"text": said}))
                elif said is not None:
                    writer.append_socket(event)
        return folder

    def _changed(self, exchange: Exchange, answer: Answer, writer: NetworkWriter) -> Exchange:
        if exchange.request.is_navigation:  # documents are delivered whole, even if recorded in pieces
            exchange = exchange.model_copy(update={"pieces": ()})
        if answer.failure is not None:
            return exchange.model_copy(update={"response": None, "failure": answer.failure, "hops": ()})
        response = exchange.response
        assert response is not None
        body: BlobRef | None = response.body if answer.body is None else writer.write_blob(answer.body)
        if answer.edit is not None:
            assert response.body is not None
            body = writer.write_blob(answer.edit(self.recording.body(response.body).decode()).encode())
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


def _delayed(exchange: Exchange, late: list[tuple[Exchange, float]]) -> Exchange:
    """Delay a response that arrives with or after a delayed one during the same action."""
    moment = exchange.moment
    if moment is None or exchange.completed_ms is None:
        return exchange
    for each, delay_ms in late:
        if each.moment is not None and each.phase == exchange.phase and each.moment.order <= moment.order:
            exchange = exchange.model_copy(update={"completed_ms": exchange.completed_ms + delay_ms})
    return exchange
