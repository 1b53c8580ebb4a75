"""Find out what a mission shows where pages are waited for, though its agent did not wait.

What an agent sees of a page in the midst of loading depends on how quick everybody was. Replays compare pages at rest;
so the recorded answers are given as they are asked for, once, and their moments are those of all replays from then on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eikon_engine.certify.agree import agree
from eikon_engine.certify.runs import replay_together
from eikon_engine.network.retimed import timeline_of
from eikon_engine.replay.other_answers import recorded_network

if TYPE_CHECKING:
    from eikon_engine.certify.draft import Draft
    from eikon_engine.certify.options import CertifyOptions
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
    draft.settle(agree(draft.trace, runs), runs, timeline_of(recording, given))
    options.progress("pages were waited for, other than by the agent")
