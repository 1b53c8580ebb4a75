"""Let a branch request what is not recorded from the live site, and store the responses in its bundle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eikon_engine.browser.live_answers import LiveAnswers
from eikon_engine.browser.stored import keep_as_known
from eikon_engine.network.additions import Additions
from eikon_engine.network.append import NetworkAppender
from eikon_engine.network.store import read_network
from eikon_engine.redact.rules import RedactionRules
from eikon_engine.trace.bundle_path import inside
from eikon_engine.trace.wall_clock import fresh_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eikon_engine.browser.given import GivenAsAsked
    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.debug.branches.branch import Branch
    from eikon_engine.debug.line import Line
    from eikon_engine.network.exchange import Exchange
    from eikon_engine.trace.blobs import BlobRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """How a session reaches live sites."""

    launched: LaunchedBrowser
    """Browser next to which requests are made."""
    rules: RedactionRules = field(default_factory=RedactionRules)
    new_key: Callable[[], bytes] = fresh_key
    """Generates the key for stand-ins of secrets."""


class BranchAnswers:
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
        self._places = Additions(read_network(folder))
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
        place = self._places.moment(exchange.completed_ms or 0.0, exchange.phase).order
        self._appender.append(exchange.model_copy(update={"completion": place}))

    def close(self) -> None:
        """Close the file."""
        self._appender.close()


async def let_out(line: Line, branch: Branch, given: GivenAsAsked, outside: Outside) -> BranchAnswers | None:
    """Let the pages of a context reach live sites; return the response store, which must be closed.

    Returns None if the branch has no network part to store them in.

    Raises:
        TraceError: the network part of the branch cannot be read.
        OutputError: it cannot be written.
    """
    network = branch.trace.network
    if network is None:
        return None
    keeper = BranchAnswers(inside(branch.bundle.root, network.folder, "network.folder"))
    session = line.session
    if session.found is None:
        session.find_secrets(outside.rules, outside.new_key(), branch.trace.redaction.found)
        await keep_as_known(session)
    line.traffic.let_through(LiveAnswers(outside.launched.requests, given.recording, keeper))
    return keeper
