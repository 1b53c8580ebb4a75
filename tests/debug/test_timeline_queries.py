"""Looking up checkpoints in a timeline."""

from __future__ import annotations

import pytest

from eikon_engine.debug.timeline import Timeline
from eikon_engine.debug.timeline_queries import find_checkpoint
from eikon_engine.errors import RequirementError
from tests.debug.timelines import branch, checkpoint
from tests.error_codes import has_code


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, "there are no checkpoints"),
        (1, "available: 'label 0'; eikon debug checkpoint list shows all"),
        (5, "available: cp_3, 'label 4' and 3 more; eikon debug checkpoint list shows all"),
    ],
)
def test_an_unknown_checkpoint_is_reported_with_the_latest_ones(count: int, told: str) -> None:
    """Two are named, the others counted."""
    made = tuple(checkpoint(f"cp_{each}", each, "" if each % 2 else f"label {each}") for each in range(count))
    timeline = Timeline(session_id="s", mission_id="m", branches=(branch("main", checkpoints=made),))

    with pytest.raises(RequirementError, check=has_code("checkpoint-missing")) as missing:
        find_checkpoint(timeline, "nowhere", "rewind")

    assert missing.value.message == f"rewind: no checkpoint 'nowhere' in this session; {told}"
