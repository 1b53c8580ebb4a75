"""Take what a person does in the window of a session for actions of a branch.

The pages are those of a line that stands still. While a person acts in them, their clock runs, and answers come as they
are asked for. What becomes of the pages is given up: the actions are put into the branch, whose mission goes back to
where the person began, and does them as any other step.
"""

from __future__ import annotations

import asyncio
import base64
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from eikon_engine.browser.by_hand.window import Window
from eikon_engine.debug.branches.changes import insert
from eikon_engine.record.gesture import HELD, Gesture, go, join, travel
from eikon_engine.record.hand_actions import action_of
from eikon_engine.record.selector_choice import choose
from eikon_engine.trace.actions import FileInput, Note, SecretRef, SwitchPage
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Iterator, Sequence

    from eikon_engine.browser.by_hand.look import HeardFrame
    from eikon_engine.browser.by_hand.pages import Way
    from eikon_engine.debug.branches.branch import Branch
    from eikon_engine.debug.line import Line
    from eikon_engine.record.gesture import Seen
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.blobs import BlobStore
    from eikon_engine.trace.observation import DialogSeen
    from eikon_engine.trace.target import Target

TICK_MS: Final = 50.0
WAY_OUT: Final = "branch record end takes it"
"""What the bar says beside the number of actions: its own buttons end nothing in a session."""
CAUSED_S: Final = 1.5
"""Wall time within which what happens to a page may come from what was done in it."""
_NO_ACTIONS: Final = frozenset({"finish", "hello", "subgoal", "lost", "script_travel", *HELD})


@dataclass(slots=True, eq=False)
class _Deed:
    """A gesture, or several that are one action."""

    gesture: Gesture
    page: int
    proven: set[str] = field(default_factory=set)
    """Selectors that Playwright found its elements by."""
    frames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """What a person did."""

    actions: tuple[Action, ...]
    warnings: tuple[str, ...]
    """What of it could not be taken, a line each."""


class HandTaking:
    """Hear a person in the pages of a line; mutable, a `HandListener` and the `PageListener` of each page."""

    def __init__(self, line: Line) -> None:
        """Hear nothing yet."""
        self._line = line
        self._session = line.session
        self._window = Window(line.session.context)
        self._deeds: list[_Deed] = []
        self._warnings: list[str] = []
        self._asking: set[asyncio.Task[None]] = set()
        self._ticking: asyncio.Task[None] | None = None
        self._last: dict[int, float] = {}
        """When something was done last, by page."""
        self._redirects = line.session.redirects_served
        self._page = _page_of(line)
        self._blocked = 0
        """How many requests had been blocked before the person began."""

    async def begin(self) -> None:
        """Hear a person from now on; the line is to be given up in the end.

        Raises:
            BrowserDiedError: the browser went away.
        """
        await self._line.leave_recording()
        self._blocked = len(self._line.worker.network().misses)
        await self._window.take_over(self._session.ledger, self)
        self._show()
        self._ticking = asyncio.ensure_future(self._tick())

    async def end(self, files: BlobStore) -> ByHand:
        """Hear no more; return what was done. What was given to pages to upload is kept in `files`.

        Raises:
            BrowserDiedError: the browser went away meanwhile.
            OutputError: a file cannot be kept.
        """
        await self.stop()
        await asyncio.gather(*self._asking)
        actions: list[Action] = []
        page = self._page
        for deed in self._deeds:
            action = self._action(deed, files)
            if action is None:
                continue
            if deed.page != page and deed.gesture.kind not in {"open", "close"}:
                actions.append(SwitchPage(page=deed.page))
            page = deed.page
            actions.append(action)
        return ByHand(actions=tuple(actions), warnings=(*self._warnings, *self._told_of_blocked()))

    async def stop(self) -> None:
        """Let the clock of the pages stand, and leave nothing running.

        Raises:
            BrowserDiedError: the browser went away meanwhile.
        """
        await self._window.stop()
        ticking, self._ticking = self._ticking, None
        if ticking is None:
            return
        if ticking.done():
            ticking.result()
        ticking.cancel()
        await asyncio.gather(ticking, return_exceptions=True)

    async def _tick(self) -> None:
        """Let page time pass as the time of the person does."""
        while True:
            begin = time.monotonic()
            await asyncio.sleep(TICK_MS / 1000)
            await self._session.rest.tick((time.monotonic() - begin) * 1000)

    def told(self, page: int, frame: HeardFrame, text: str) -> None:
        """Take what the script in a document tells."""
        try:
            gesture = Gesture.model_validate_json(text)
            if gesture.kind == "script_travel":
                self._window.expect_travel(page)
            else:
                self._hear(gesture, page, frame)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            self._warnings.append(f"a page told of something that cannot be read ({place}: {first['msg']})")

    def opened(self, page: int, *, is_popup: bool) -> HandTaking:
        """Take a page; one that nothing opened was opened by the person."""
        if page > 0 and not is_popup:
            self._hear(Gesture(kind="open"), page)
        return self

    def closed(self, page: int) -> None:
        """Take that a page is gone: the person closed it, unless it did so itself."""
        if self._ticking is not None and not self.is_busy():
            self._hear(Gesture(kind="close"), page)

    def failed(self, page: int, reason: str) -> None:
        """Take that the document that was asked for does not come: the step will show it again."""

    def is_busy(self, page: int | None = None) -> bool:
        """Say whether something was just done, in one page or in any."""
        times = self._last.values() if page is None else [self._last.get(page, 0.0)]
        return any(time.monotonic() - at < CAUSED_S for at in times)

    def navigated(self, page: int, way: Way, url: str) -> None:
        """Take that the person goes somewhere; a redirect that is replayed by a navigation of ours is no such thing."""
        if self._session.redirects_served != self._redirects:
            self._redirects = self._session.redirects_served
            return
        self._hear(go(way, self._session.redactor.text(url)), page)

    def travelled(self, page: int, url: str, way: Awaitable[Way | None]) -> None:
        """Take that the person goes through the history of the page."""
        gesture = travel()
        self._hear(gesture, page)
        if self._deeds and self._deeds[-1].gesture is gesture:
            self._ask(self._find_way(self._deeds[-1], url, way))

    async def _find_way(self, deed: _Deed, url: str, way: Awaitable[Way | None]) -> None:
        if (found := await way) is None:
            self._warnings.append("which way the person went through the history is not known: one step back was taken")
        else:
            deed.gesture = go(found, self._session.redactor.text(url))

    def dialog_opened(self) -> None:
        """Take that a dialog waits: the session answers it, as it does for every step."""

    def dialog_closed(self, seen: DialogSeen, text: str) -> None:  # noqa: ARG002 - what was typed is ours
        """Say that a dialog was not the person's to answer."""
        if seen.kind in {"confirm", "prompt"}:
            self._warnings.append(
                f"a {seen.kind} was dismissed before the person could answer it; insert an answer_dialog before "
                "the step that opens it to accept it"
            )

    def _hear(self, gesture: Gesture, page: int, frame: HeardFrame | None = None) -> None:
        if gesture.kind == "lost":
            self._warnings.append(f"something was done that is not recorded: {gesture.text}")
        if gesture.kind == "subgoal":
            self._warnings.append(f"a branch begins no subgoals, so {gesture.text!r} was not begun")
        if gesture.kind == "hello":
            self._show()
        if page < 0 or gesture.kind in _NO_ACTIONS - HELD:
            return
        self._last[page] = time.monotonic()
        deed = self._deeds[-1] if self._deeds and self._deeds[-1].page == page else None
        joined = None if deed is None else join(deed.gesture, gesture)
        if deed is not None and joined is not None:
            deed.gesture = joined
        elif gesture.kind not in {"cancel", "dblclick"}:
            deed = _Deed(gesture, page)
            self._deeds.append(deed)
        else:
            return
        self._show()
        if frame is not None:
            self._ask(_study(deed, frame))

    def _ask(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    def _show(self) -> None:
        """Show in the pages how much was done, and how it is taken."""
        self._window.show(sum(deed.gesture.kind not in _NO_ACTIONS for deed in self._deeds), WAY_OUT)

    def _told_of_blocked(self) -> Iterator[str]:
        """Say what the pages asked for in vain, so that the person may have seen others than the steps lead to."""
        blocked = self._line.worker.network().misses[self._blocked :]
        if blocked:
            yield (
                f"{counted(len(blocked), 'request')} of the pages that the person acted in had no recorded answer, and "
                f"{'was' if len(blocked) == 1 else 'were'} blocked, first {blocked[0].key}"
            )

    def _action(self, deed: _Deed, files: BlobStore) -> Action | None:
        gesture = deed.gesture
        if gesture.kind in _NO_ACTIONS:
            return None
        action = action_of(
            gesture,
            page=deed.page,
            target=self._target(deed, gesture.target),
            second=self._target(deed, gesture.second),
            files=tuple(
                FileInput(
                    name=file.name,
                    mime_type=file.mime_type or "application/octet-stream",
                    content=files.put(base64.b64decode(file.content)),
                )
                for file in gesture.files
            ),
        )
        if isinstance(action, Note):
            self._warnings.append(action.text)
            return None
        return self._without_secret(action, gesture)

    def _without_secret(self, action: Action, gesture: Gesture) -> Action | None:
        """Let a password be typed by its name; one that the session was not given is not taken."""
        if gesture.kind != "input" or not gesture.is_secret:
            return action
        name = self._session.secret_name(gesture.text)
        if name is not None:
            return action.model_copy(update={"text": SecretRef(secret=name)})
        self._warnings.append(
            "what was typed into a password field was not taken: the session has no such secret; insert a fill whose "
            'text is {"secret": NAME}'
        )
        return None

    def _target(self, deed: _Deed, seen: Seen | None) -> Target | None:
        if seen is None:
            return None
        chosen = choose(seen, deed.proven, deed.frames)
        return None if deed.gesture.kind == "press" and chosen.weak is not None else chosen.target


def insert_all(branch: Branch, iteration: int, actions: Sequence[Action], reason: str) -> Branch:
    """Put several actions in front of a step, in their order; see `insert`.

    Raises:
        BranchError: the step is one of the parent's, or there is none.
    """
    for number, action in enumerate(actions):
        branch = insert(branch, iteration + number, action, reason)
    return branch


async def _study(deed: _Deed, frame: HeardFrame) -> None:
    """Ask which selectors hold, before what the person does changes the page more than it has."""
    for each in (deed.gesture.target, deed.gesture.second):
        if each is not None:
            deed.proven |= await frame.proven(each.key, [name.selector for name in each.names if not name.sure])
    deed.frames = await frame.path()


def _page_of(line: Line) -> int:
    """Return the page that the last action was done in, which the next one goes on in."""
    done = [line.plan_step(number) for number in range(line.iteration, 0, -1)]
    actions = (getattr(each.step, "action", None) for each in done if each is not None)
    return next((action.page for action in actions if action is not None), 0)
