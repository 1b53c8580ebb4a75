"""Find the timeline and baselines of a mission whose agent did not wait for its pages.

What an agent sees of a loading page depends on timing. Replays compare idle pages, so the mission is replayed once with
responses served on request, and all later replays deliver them at the moments found there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eikon_engine.certify.agree import compare_runs
from eikon_engine.certify.certification import CertificationFinding
from eikon_engine.certify.find import WHOLE_RUN
from eikon_engine.certify.runs import concurrent_replays
from eikon_engine.network.kinds import SAFE_METHODS
from eikon_engine.network.retimed import derive_timeline
from eikon_engine.replay.other_answers import recorded_network

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.certify.draft import Draft
    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.certify.seen import ReplayedRun
    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.moment import Moment
    from eikon_engine.trace.bundle import Bundle

MAX_ATTEMPTS: Final = 4
"""Maximum number of attempts while new rules for requests are found."""
RUNS_PER_ATTEMPT: Final = 2
"""Replays per attempt; request parts that differ between them are random."""


async def find_timeline(bundle: Bundle, draft: Draft, options: CertifyOptions) -> None:
    """Replay until the pages are idle after each action, and add the resulting timeline and baselines to the draft.

    Raises:
        EikonError: the trace cannot be read, or a run did not complete.
    """
    recording = recorded_network(bundle)
    if recording is None:
        return
    for _ in range(MAX_ATTEMPTS):
        given: dict[int, Moment] = {}
        replay = concurrent_replays(options, given.__setitem__)
        runs = await replay(replace(bundle, trace=draft.trace, dom=draft.dom), RUNS_PER_ATTEMPT)
        added = draft.add_rules(runs)
        if not added:
            break
        options.progress(f"waiting for idle pages; trying {added}")
    agreements = compare_runs(draft.trace, runs)
    if any(each.has_failed for each in agreements):
        options.progress("an action differed after waiting for idle pages; trying the timing of the agent")
        return
    draft.adopt_timeline(agreements, runs, derive_timeline(recording, given))
    options.progress("found a timeline that waits for idle pages, unlike the agent")


def find_unreplayed_requests(
    bundle: Bundle, draft: Draft, runs: Sequence[ReplayedRun]
) -> tuple[CertificationFinding, ...]:
    """Find requests that an agent sent and a replay did not: the agent did something that is not replayed.

    No other check finds them, because such a recording has no baselines. Safe requests other than page loads are
    ignored; their number varies with timing.
    """
    recording = recorded_network(bundle) if draft.is_agent_recording else None
    if recording is None:
        return ()
    relevant = {each.key for each in recording.exchanges if _is_relevant(each)}
    left = dict.fromkeys(key for run in runs for key in run.outcome.network.unused if key in relevant)
    return tuple(
        CertificationFinding(
            kind="unverifiable",
            subgoal="",
            sequence=0,
            step=WHOLE_RUN,
            runs=sum(key in run.outcome.network.unused for run in runs),
            message=f"{key} is in the recording, but a replay did not send it: "
            "the agent did something that is not replayed",
        )
        for key in left
    )


def _is_relevant(exchange: Exchange) -> bool:
    """Return whether an exchange loaded a page or used an unsafe method."""
    request = exchange.request
    is_page = request.is_navigation and not request.frame
    return exchange.response is not None and (is_page or request.method not in SAFE_METHODS)
