"""The stored pages of one bundle as input of skills."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import AttachmentCorruptError
from eikon_engine.trace.bundle_path import resolve_inside
from eikon_engine.trace.dom.quick_html import StoredFrame, render_stored_frames

if TYPE_CHECKING:
    from eikon_engine.trace.blobs import BlobRef
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import PageIntent

MAX_PAGE_BYTES = 64 * 1024 * 1024
"""Maximum size in bytes of a page that an older recording stored as a file."""


class StoredPages:
    """The pages of a bundle, each decoded once even if several skills use it."""

    def __init__(self, bundle: Bundle) -> None:
        """Read pages from this bundle."""
        self._bundle = bundle
        self._frames: dict[str, dict[str, StoredFrame]] = {}

    def frame(self, snapshot: BlobRef, path: str) -> StoredFrame | None:
        """Return the page of one frame, or None if the snapshot has no such frame.

        Raises:
            TraceError: the snapshot cannot be read.
        """
        if snapshot.sha256 not in self._frames:
            self._frames[snapshot.sha256] = render_stored_frames(self._bundle.dom.get(snapshot))
        return self._frames[snapshot.sha256].get(path)

    def intent_page(self, intent: PageIntent) -> StoredFrame | None:
        """Return the page of a page intent in an older recording, or None if it is missing or ambiguous.

        It is the DOM snapshot of the action, else `dom.html` in the artifact folder of the step.

        Raises:
            TraceError: the page cannot be read.
        """
        trace = self._bundle.trace
        actions = [action for attempt in trace.subgoal_traces for action in attempt.actions_taken]
        observed = [each.baseline.pages[0] for each in actions if each.id == intent.step_id and each.baseline]
        if len(observed) == 1 and observed[0].snapshot is not None:
            return self.frame(observed[0].snapshot, "")
        artifacts = (*trace.artifacts, *(artifact for action in actions for artifact in action.artifacts))
        named = dict.fromkeys(f"{artifact.path}/{intent.step_id}/dom.html" for artifact in artifacts)
        files = [path for each in named if (path := resolve_inside(self._bundle.root, each, "page_intents")).is_file()]
        if intent.step_id is None or len(files) != 1:
            return None
        try:
            with files[0].open("rb") as file:
                data = file.read(MAX_PAGE_BYTES + 1)
        except OSError as error:
            message = f"{files[0]}: the page cannot be read: {error.strerror}. Restore the bundle."
            raise AttachmentCorruptError(message) from error
        if len(data) > MAX_PAGE_BYTES:
            message = f"{files[0]}: expected a page of at most {MAX_PAGE_BYTES} bytes, got more. Restore the bundle."
            raise AttachmentCorruptError(message)
        return StoredFrame(html=data.decode("utf-8", "replace"), url="")
