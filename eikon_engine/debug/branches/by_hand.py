"""Record the user's actions in the window of a session as actions of a branch.

The user acts in the pages of a paused context. Meanwhile their clock runs, and responses are served on request. The
resulting page state is dropped: the actions are inserted into the branch, which returns to where the recording began
and runs them as ordinary steps.
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
"""Shown in the toolbar beside the number of actions: its own buttons end nothing in a session."""
CAUSED_S: Final = 1.5
"""Wall time within which a page change counts as caused by an action."""
_NO_ACTIONS: Final = frozenset({"finish", "hello", "subgoal", "lost", "script_travel", *HELD})


@dataclass(slots=True, eq=False)
class _Deed:
    """A gesture, or several joined to one action."""

    gesture: Gesture
    page: int
    proven: set[str] = field(default_factory=set)
    """Selectors that Playwright confirmed for its elements."""
    frames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """What the user did."""

    actions: tuple[Action, ...]
    warnings: tuple[str, ...]
    """What could not be recorded, a line each."""


class HandTaking:
    """Record the user's actions in the pages of a context; listens to the window and each page."""

    def __init__(self, line: Line) -> None:
        """Start without listening."""
        self._line = line
        self._session = line.session
        self._window = Window(line.session.context)
        self._deeds: list[_Deed] = []
        self._warnings: list[str] = []
        self._asking: set[asyncio.Task[None]] = set()
        self._ticking: asyncio.Task[None] | None = None
        self._last: dict[int, float] = {}
        """Time of the last activity, by page."""
        self._redirects = line.session.redirects_served
        self._page = _page_of(line)
        self._blocked = 0
        """Number of requests blocked before the recording began."""

    async def begin(self) -> None:
        """Start recording; the context must be discarded afterwards.

        Raises:
            BrowserDiedError: the browser crashed or was closed.
        """
        await self._line.leave_recording()
        self._blocked = len(self._line.worker.network().misses)
        await self._window.take_over(self._session.ledger, self)
        self._show()
        self._ticking = asyncio.ensure_future(self._tick())

    async def end(self, files: BlobStore) -> ByHand:
        """Stop recording and return the actions. Files uploaded by the user are stored in `files`.

        Raises:
            BrowserDiedError: the browser went away meanwhile.
            OutputError: a file cannot be stored.
        """
        await self.stop()
        await asyncio.gather(*self._asking)
        actions: list[Action] = []
        page = self._page
        for user_action in self._deeds:
            action = self._action(user_action, files)
            if action is None:
                continue
            if user_action.page != page and user_action.gesture.kind not in {"open", "close"}:
                actions.append(SwitchPage(page=user_action.page))
            page = user_action.page
            actions.append(action)
        return ByHand(actions=tuple(actions), warnings=(*self._warnings, *self._told_of_blocked()))

    async def stop(self) -> None:
        """Stop the clock of the pages, and all tasks.

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
        """Advance page time in step with wall time."""
        while True:
            begin = time.monotonic()
            await asyncio.sleep(TICK_MS / 1000)
            await self._session.rest.tick((time.monotonic() - begin) * 1000)

    def told(self, page: int, frame: HeardFrame, text: str) -> None:
        """Receive a message of the script in a document."""
        try:
            gesture = Gesture.model_validate_json(text)
            if gesture.kind == "script_travel":
                self._window.expect_travel(page)
            else:
                self._hear(gesture, page, frame)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            self._warnings.append(f"a page sent an invalid message ({place}: {first['msg']})")

    def opened(self, page: int, *, is_popup: bool) -> HandTaking:
        """Receive a new page; the user opened it unless it is a popup."""
        if page > 0 and not is_popup:
            self._hear(Gesture(kind="open"), page)
        return self

    def closed(self, page: int) -> None:
        """Receive a closed page; the user closed it unless a recent action explains it."""
        if self._ticking is not None and not self.is_busy():
            self._hear(Gesture(kind="close"), page)

    def failed(self, page: int, reason: str) -> None:
        """Receive a failed document load; the replayed step will fail again."""

    def is_busy(self, page: int | None = None) -> bool:
        """Return whether there was recent activity, in one page or in any."""
        times = self._last.values() if page is None else [self._last.get(page, 0.0)]
        return any(time.monotonic() - at < CAUSED_S for at in times)

    def navigated(self, page: int, way: Way, url: str) -> None:
        """Receive a navigation; one caused by a replayed redirect is ignored."""
        if self._session.redirects_served != self._redirects:
            self._redirects = self._session.redirects_served
            return
        self._hear(go(way, self._session.redactor.text(url)), page)

    def travelled(self, page: int, url: str, way: Awaitable[Way | None]) -> None:
        """Receive a history navigation."""
        gesture = travel()
        self._hear(gesture, page)
        if self._deeds and self._deeds[-1].gesture is gesture:
            self._ask(self._find_way(self._deeds[-1], url, way))

    async def _find_way(self, deed: _Deed, url: str, way: Awaitable[Way | None]) -> None:
        if (found := await way) is None:
            self._warnings.append("the direction of a history navigation is unknown: one step back was recorded")
        else:
            deed.gesture = go(found, self._session.redactor.text(url))

    def dialog_opened(self) -> None:
        """Receive an open dialog: the session answers it, as for every step."""

    def dialog_closed(self, seen: DialogSeen, text: str) -> None:  # noqa: ARG002 - the session typed the text
        """Report that the user could not answer a dialog."""
        if seen.kind in {"confirm", "prompt"}:
            self._warnings.append(
                f"a {seen.kind} was dismissed before the user could answer it; insert an answer_dialog before "
                "the step that opens it to accept it"
            )

    def _hear(self, gesture: Gesture, page: int, frame: HeardFrame | None = None) -> None:
        if gesture.kind == "lost":
            self._warnings.append(f"an action was not recorded: {gesture.text}")
        if gesture.kind == "subgoal":
            self._warnings.append(f"branches cannot begin subgoals; {gesture.text!r} was ignored")
        if gesture.kind == "hello":
            self._show()
        if page < 0 or gesture.kind in _NO_ACTIONS - HELD:
            return
        self._last[page] = time.monotonic()
        user_action = self._deeds[-1] if self._deeds and self._deeds[-1].page == page else None
        joined = None if user_action is None else join(user_action.gesture, gesture)
        if user_action is not None and joined is not None:
            user_action.gesture = joined
        elif gesture.kind not in {"cancel", "dblclick"}:
            user_action = _Deed(gesture, page)
            self._deeds.append(user_action)
        else:
            return
        self._show()
        if frame is not None:
            self._ask(_study(user_action, frame))

    def _ask(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    def _show(self) -> None:
        """Show the number of actions in the pages, and how to end the recording."""
        self._window.show(sum(user_action.gesture.kind not in _NO_ACTIONS for user_action in self._deeds), WAY_OUT)

    def _told_of_blocked(self) -> Iterator[str]:
        """Warn about blocked requests: the user may have seen other pages than the steps lead to."""
        blocked = self._line.worker.network().misses[self._blocked :]
        if blocked:
            yield (
                f"{counted(len(blocked), 'request')} had no recorded response while the user acted in the pages, and "
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
        """Replace a typed password by the name of its secret; drop one that the session does not know."""
        if gesture.kind != "input" or not gesture.is_secret:
            return action
        name = self._session.secret_name(gesture.text)
        if name is not None:
            return action.model_copy(update={"text": SecretRef(secret=name)})
        self._warnings.append(
            "text for a password field was not recorded: the session has no such secret; insert a fill whose "
            'text is {"secret": NAME}'
        )
        return None

    def _target(self, deed: _Deed, seen: Seen | None) -> Target | None:
        if seen is None:
            return None
        chosen = choose(seen, deed.proven, deed.frames)
        return None if deed.gesture.kind == "press" and chosen.weak is not None else chosen.target


def insert_all(branch: Branch, iteration: int, actions: Sequence[Action], reason: str) -> Branch:
    """Insert several actions before a step, in order; see `insert_step`.

    Raises:
        BranchError: the step belongs to the parent, or does not exist.
    """
    for number, action in enumerate(actions):
        branch = insert(branch, iteration + number, action, reason)
    return branch


async def _study(deed: _Deed, frame: HeardFrame) -> None:
    """Check which selectors match before the user changes the page further."""
    for each in (deed.gesture.target, deed.gesture.second):
        if each is not None:
            deed.proven |= await frame.proven(each.key, [name.selector for name in each.names if not name.sure])
    deed.frames = await frame.path()


def _page_of(line: Line) -> int:
    """Return the page of the last action."""
    done = [line.plan_step(number) for number in range(line.iteration, 0, -1)]
    actions = (getattr(each.step, "action", None) for each in done if each is not None)
    return next((action.page for action in actions if action is not None), 0)
