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

from eikon_engine.browser.interactive.window import Window
from eikon_engine.debug.branches.branch import insert_step
from eikon_engine.files.text import pluralize
from eikon_engine.record.gestures import (
    INCOMPLETE_KINDS,
    Gesture,
    action_for_gesture,
    choose_target,
    history_gesture,
    merge,
    navigation_gesture,
)
from eikon_engine.trace.actions import FileInput, Note, SecretRef, SwitchPage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Iterator, Sequence

    from eikon_engine.browser.interactive.page_monitor import NavigationKind
    from eikon_engine.browser.interactive.window import ReportingFrame
    from eikon_engine.debug.branches.branch import BranchBundle
    from eikon_engine.debug.replay_context import ReplayContext
    from eikon_engine.files.blobs import BlobStore
    from eikon_engine.record.gestures import ElementDescription
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.observation import ObservedDialog
    from eikon_engine.trace.target import Target

TICK_MS: Final = 50.0
END_HINT: Final = "branch record end takes it"
"""Shown in the toolbar beside the number of actions: its own buttons end nothing in a session."""
CAUSALITY_WINDOW_S: Final = 1.5
"""Wall time within which a page change counts as caused by an action."""
_NON_ACTIONS: Final = frozenset({"finish", "hello", "subgoal", "lost", "script_travel", *INCOMPLETE_KINDS})


@dataclass(slots=True, eq=False)
class _UserAction:
    """A gesture, or several joined to one action."""

    gesture: Gesture
    page: int
    verified_selectors: set[str] = field(default_factory=set)
    """Selectors that Playwright confirmed for its elements."""
    frames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractiveActions:
    """What the user did."""

    actions: tuple[Action, ...]
    warnings: tuple[str, ...]
    """What could not be recorded, a line each."""


class InteractiveRecorder:
    """Record the user's actions in the pages of a context; listens to the window and each page."""

    def __init__(self, context: ReplayContext) -> None:
        """Start without listening."""
        self._context = context
        self._session = context.session
        self._window = Window(context.session.context)
        self._actions: list[_UserAction] = []
        self._warnings: list[str] = []
        self._pending_checks: set[asyncio.Task[None]] = set()
        self._clock_task: asyncio.Task[None] | None = None
        self._last_activity: dict[int, float] = {}
        """Time of the last activity, by page."""
        self._redirects_served = context.session.redirects_served
        self._page = _current_page(context)
        self._blocked_before = 0
        """Number of requests blocked before the recording began."""

    async def begin(self) -> None:
        """Start recording; the context must be discarded afterwards.

        Raises:
            BrowserDiedError: the browser crashed or was closed.
        """
        await self._context.leave_recording()
        self._blocked_before = len(self._context.worker.network_outcome().misses)
        await self._window.observe_open_pages(self._session.tracker, self)
        self._update_toolbar()
        self._clock_task = asyncio.ensure_future(self._run_clock())

    async def end(self, files: BlobStore) -> InteractiveActions:
        """Stop recording and return the actions. Files uploaded by the user are stored in `files`.

        Raises:
            BrowserDiedError: the browser went away meanwhile.
            OutputError: a file cannot be stored.
        """
        await self.stop()
        await asyncio.gather(*self._pending_checks)
        actions: list[Action] = []
        page = self._page
        for user_action in self._actions:
            action = self._to_action(user_action, files)
            if action is None:
                continue
            if user_action.page != page and user_action.gesture.kind not in {"open", "close"}:
                actions.append(SwitchPage(page=user_action.page))
            page = user_action.page
            actions.append(action)
        return InteractiveActions(actions=tuple(actions), warnings=(*self._warnings, *self._blocked_warnings()))

    async def stop(self) -> None:
        """Stop the clock of the pages, and all tasks.

        Raises:
            BrowserDiedError: the browser went away meanwhile.
        """
        await self._window.stop()
        ticking, self._clock_task = self._clock_task, None
        if ticking is None:
            return
        if ticking.done():
            ticking.result()
        ticking.cancel()
        await asyncio.gather(ticking, return_exceptions=True)

    async def _run_clock(self) -> None:
        """Advance page time in step with wall time."""
        while True:
            begin = time.monotonic()
            await asyncio.sleep(TICK_MS / 1000)
            await self._session.stabilizer.pass_time_waiting((time.monotonic() - begin) * 1000)

    def on_message(self, page: int, frame: ReportingFrame, text: str) -> None:
        """Receive a message of the script in a document."""
        try:
            gesture = Gesture.model_validate_json(text)
            if gesture.kind == "script_travel":
                self._window.expect_script_navigation(page)
            else:
                self._record_gesture(gesture, page, frame)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            self._warnings.append(f"a page sent an invalid message ({place}: {first['msg']})")

    def on_page_opened(self, page: int, *, is_popup: bool) -> InteractiveRecorder:
        """Receive a new page; the user opened it unless it is a popup."""
        if page > 0 and not is_popup:
            self._record_gesture(Gesture(kind="open"), page)
        return self

    def on_page_closed(self, page: int) -> None:
        """Receive a closed page; the user closed it unless a recent action explains it."""
        if self._clock_task is not None and not self.has_recent_activity():
            self._record_gesture(Gesture(kind="close"), page)

    def on_navigation_failed(self, page: int, reason: str) -> None:
        """Receive a failed document load; the replayed step will fail again."""

    def has_recent_activity(self, page: int | None = None) -> bool:
        """Return whether there was recent activity, in one page or in any."""
        times = self._last_activity.values() if page is None else [self._last_activity.get(page, 0.0)]
        return any(time.monotonic() - at < CAUSALITY_WINDOW_S for at in times)

    def on_navigated(self, page: int, history: NavigationKind, url: str) -> None:
        """Receive a navigation; one caused by a replayed redirect is ignored."""
        if self._session.redirects_served != self._redirects_served:
            self._redirects_served = self._session.redirects_served
            return
        self._record_gesture(navigation_gesture(history, self._session.redactor.redact_text(url)), page)

    def on_history_navigated(self, page: int, url: str, navigation: Awaitable[NavigationKind | None]) -> None:
        """Receive a history navigation."""
        gesture = history_gesture()
        self._record_gesture(gesture, page)
        if self._actions and self._actions[-1].gesture is gesture:
            self._run_check(self._resolve_direction(self._actions[-1], url, navigation))

    async def _resolve_direction(
        self, user_action: _UserAction, url: str, navigation: Awaitable[NavigationKind | None]
    ) -> None:
        if (found := await navigation) is None:
            self._warnings.append("the direction of a history navigation is unknown: one step back was recorded")
        else:
            user_action.gesture = navigation_gesture(found, self._session.redactor.redact_text(url))

    def on_dialog_opened(self) -> None:
        """Receive an open dialog: the session answers it, as for every step."""

    def on_dialog_closed(self, seen: ObservedDialog, text: str) -> None:  # noqa: ARG002 - the session typed the text
        """Report that the user could not answer a dialog."""
        if seen.kind in {"confirm", "prompt"}:
            self._warnings.append(
                f"a {seen.kind} was dismissed before the user could answer it; insert an answer_dialog before "
                "the step that opens it to accept it"
            )

    def _record_gesture(self, gesture: Gesture, page: int, frame: ReportingFrame | None = None) -> None:
        if gesture.kind == "lost":
            self._warnings.append(f"an action was not recorded: {gesture.text}")
        if gesture.kind == "subgoal":
            self._warnings.append(f"branches cannot begin subgoals; {gesture.text!r} was ignored")
        if gesture.kind == "hello":
            self._update_toolbar()
        if page < 0 or gesture.kind in _NON_ACTIONS - INCOMPLETE_KINDS:
            return
        self._last_activity[page] = time.monotonic()
        user_action = self._actions[-1] if self._actions and self._actions[-1].page == page else None
        joined = None if user_action is None else merge(user_action.gesture, gesture)
        if user_action is not None and joined is not None:
            user_action.gesture = joined
        elif gesture.kind not in {"cancel", "dblclick"}:
            user_action = _UserAction(gesture, page)
            self._actions.append(user_action)
        else:
            return
        self._update_toolbar()
        if frame is not None:
            self._run_check(_verify_selectors(user_action, frame))

    def _run_check(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._pending_checks.add(task)
        task.add_done_callback(self._pending_checks.discard)

    def _update_toolbar(self) -> None:
        """Show the number of actions in the pages, and how to end the recording."""
        self._window.update_bar(
            sum(user_action.gesture.kind not in _NON_ACTIONS for user_action in self._actions), END_HINT
        )

    def _blocked_warnings(self) -> Iterator[str]:
        """Warn about blocked requests: the user may have seen other pages than the steps lead to."""
        blocked = self._context.worker.network_outcome().misses[self._blocked_before :]
        if blocked:
            yield (
                f"{pluralize(len(blocked), 'request')} had no recorded response while the user acted in the pages, and "
                f"{'was' if len(blocked) == 1 else 'were'} blocked, first {blocked[0].key}"
            )

    def _to_action(self, user_action: _UserAction, files: BlobStore) -> Action | None:
        gesture = user_action.gesture
        if gesture.kind in _NON_ACTIONS:
            return None
        action = action_for_gesture(
            gesture,
            page=user_action.page,
            target=self._target(user_action, gesture.target),
            second=self._target(user_action, gesture.second),
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
        return self._reference_secret(action, gesture)

    def _reference_secret(self, action: Action, gesture: Gesture) -> Action | None:
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

    def _target(self, user_action: _UserAction, seen: ElementDescription | None) -> Target | None:
        if seen is None:
            return None
        chosen = choose_target(seen, user_action.verified_selectors, user_action.frames)
        return None if user_action.gesture.kind == "press" and chosen.weakness is not None else chosen.target


def insert_all(branch: BranchBundle, iteration: int, actions: Sequence[Action], reason: str) -> BranchBundle:
    """Insert several actions before a step, in order; see `insert_step`.

    Raises:
        UsageError: the step belongs to the parent, or does not exist.
    """
    for number, action in enumerate(actions):
        branch = insert_step(branch, iteration + number, action, reason)
    return branch


async def _verify_selectors(user_action: _UserAction, frame: ReportingFrame) -> None:
    """Check which selectors match before the user changes the page further."""
    for each in (user_action.gesture.target, user_action.gesture.second):
        if each is not None:
            user_action.verified_selectors |= await frame.verify_selectors(
                each.key, [name.selector for name in each.names if not name.sure]
            )
    user_action.frames = await frame.frame_selectors()


def _current_page(context: ReplayContext) -> int:
    """Return the page of the last action."""
    done = [context.step_before(number) for number in range(context.iteration, 0, -1)]
    actions = (getattr(each.step, "action", None) for each in done if each is not None)
    return next((action.page for action in actions if action is not None), 0)
