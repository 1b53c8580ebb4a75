"""Find out what a mission shows where pages are waited for, though its agent did not wait.

What an agent sees of a page in the midst of loading depends on how quick everybody was. Replays compare pages at rest;
so the recorded answers are given as they are asked for, once, and their moments are those of all replays from then on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eikon_engine.certify.agree import agree
from eikon_engine.certify.certification import Finding
from eikon_engine.certify.find import WHOLE_RUN
from eikon_engine.certify.runs import replay_together
from eikon_engine.network.kinds import SAFE
from eikon_engine.network.retimed import timeline_of
from eikon_engine.replay.other_answers import recorded_network

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.certify.draft import Draft
    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.certify.seen import RunSeen
    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.moment import Moment
    from eikon_engine.trace.bundle import Bundle

TRIES: Final = 4
"""How often the mission is replayed so, at most, while rules for its requests are still found."""
RUNS: Final = 2
"""Replays at a time: what differs between them in a request is chance."""


async def settle(bundle: Bundle, draft: Draft, options: CertifyOptions) -> None:
    """Replay with pages waited for, and put the timeline and the baselines that were found into the draft.

    Raises:
        EikonError: the trace cannot be read, or a run could not come to its end.
    """
    recording = recorded_network(bundle)
    if recording is None:
        return
    for _ in range(TRIES):
        given: dict[int, Moment] = {}
        replay = replay_together(options, given.__setitem__)
        runs = await replay(replace(bundle, trace=draft.trace, dom=draft.dom), RUNS)
        said = draft.find_rules(runs)
        if not said:
            break
        options.progress(f"waiting for the pages of the mission; trying {said}")
    agreements = agree(draft.trace, runs)
    if any(each.undone for each in agreements):
        options.progress("an action went otherwise where pages were waited for; trying the times of the agent")
        return
    draft.settle(agreements, runs, timeline_of(recording, given))
    options.progress("pages were waited for, other than by the agent")


def find_unrepeated(bundle: Bundle, draft: Draft, runs: Sequence[RunSeen]) -> tuple[Finding, ...]:
    """Name what the recording of an agent holds and no replay asked for: it did something that is not repeated.

    Nothing else tells of it, as the recording has no baselines of its own: what no run does, no run misses. Questions
    that change nothing may be asked more or less often, as time goes.
    """
    recording = recorded_network(bundle) if draft.is_of_agent else None
    if recording is None:
        return ()
    told = {each.key: each for each in recording.exchanges if _does_something(each)}
    left = dict.fromkeys(key for run in runs for key in run.outcome.network.unused if key in told)
    return tuple(
        Finding(
            kind="unverifiable",
            subgoal="",
            sequence=0,
            step=WHOLE_RUN,
            runs=sum(key in run.outcome.network.unused for run in runs),
            message=f"{key} was answered in the recording, and a replay did not ask for it: "
            "the agent did something that is not repeated",
        )
        for key in left
    )


def _does_something(exchange: Exchange) -> bool:
    """Say whether an exchange was for a document of a page, or to change something."""
    request = exchange.request
    is_page = request.is_navigation and not request.frame
    return exchange.response is not None and (is_page or request.method not in SAFE)
