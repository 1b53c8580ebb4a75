"""Let a branch request what is not recorded from the live site, and store the responses in its bundle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eikon_engine.browser.live_answers import LiveResponder
from eikon_engine.browser.stored import exclude_from_detection
from eikon_engine.network.additions import NumberAllocator
from eikon_engine.network.append import NetworkAppender
from eikon_engine.network.store import read_network
from eikon_engine.redact.rules import RedactionRules
from eikon_engine.trace.bundle_path import resolve_inside
from eikon_engine.trace.wall_clock import random_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eikon_engine.browser.given import OnDemandDeliveries
    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.debug.branches.branch import BranchBundle
    from eikon_engine.debug.line import ReplayContext
    from eikon_engine.network.exchange import Exchange
    from eikon_engine.trace.blobs import BlobRef


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveAccess:
    """How a session reaches live sites."""

    launched: LaunchedBrowser
    """Browser next to which requests are made."""
    rules: RedactionRules = field(default_factory=RedactionRules)
    new_key: Callable[[], bytes] = random_key
    """Generates the key for stand-ins of secrets."""


class LiveResponseStore:
    """Append live responses to the network part of a branch as they arrive.

    The file has them in order of arrival. Their position in the session, whose recording has a different timeline,
    belongs to the timeline of the branch.
    """

    def __init__(self, folder: Path) -> None:
        """Append to the network part in `folder`.

        Raises:
            TraceError: the network part cannot be read.
            OutputError: it cannot be written.
        """
        self._positions = NumberAllocator(read_network(folder))
        self._appender = NetworkAppender(folder)

    def write_blob(self, data: bytes) -> BlobRef:
        """Store a body before the exchange that refers to it.

        Raises:
            OutputError: the folder cannot be written.
        """
        return self._appender.write_blob(data)

    def append(self, exchange: Exchange) -> None:
        """Write one exchange.

        Raises:
            OutputError: the index cannot be written.
        """
        place = self._positions.next_moment(exchange.completed_ms or 0.0, exchange.phase).order
        self._appender.append(exchange.model_copy(update={"completion": place}))

    def close(self) -> None:
        """Close the file."""
        self._appender.close()


async def allow_live_requests(
    context: ReplayContext, branch: BranchBundle, given: OnDemandDeliveries, access: LiveAccess
) -> LiveResponseStore | None:
    """Let the pages of a context reach live sites; return the response store, which must be closed.

    Returns None if the branch has no network part to store them in.

    Raises:
        TraceError: the network part of the branch cannot be read.
        OutputError: it cannot be written.
    """
    network = branch.trace.network
    if network is None:
        return None
    keeper = LiveResponseStore(resolve_inside(branch.bundle.root, network.folder, "network.folder"))
    session = context.session
    if session.secret_detector is None:
        session.start_secret_detection(access.rules, access.new_key(), branch.trace.redaction.found)
        await exclude_from_detection(session)
    context.traffic.set_live_responder(LiveResponder(access.launched.api_request, given.recording, keeper))
    return keeper
