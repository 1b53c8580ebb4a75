"""Several replays of one bundle in one browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import TraceError
from eikon_engine.replay import ReplayOptions
from eikon_engine.replay.engine import replay_many
from eikon_engine.trace.bundle import open_bundle
from tests.error_codes import has_code
from tests.replay.conftest import SECRETS
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.replay.engine import Run
    from tests.replay.conftest import Recorded

pytestmark = pytest.mark.browser


def test_a_run_that_cannot_start_raises_its_own_error(recorded: Recorded, tmp_path: Path) -> None:
    """A missing HAR raises its own error, after the other runs have ended."""
    over: dict[int, Run] = {}
    chosen = [ReplayOptions(artifacts_dir=tmp_path / str(number), secrets=SECRETS) for number in range(2)]
    chosen.insert(1, ReplayOptions(artifacts_dir=tmp_path / "x", secrets=SECRETS, har=tmp_path / "none.har"))
    bundle = open_bundle(recorded.bundles["banana"])

    with pytest.raises(TraceError, match=r"none\.har", check=has_code("trace-missing")):
        SHARED.run(replay_many(bundle, chosen, on_run_end=over.__setitem__))

    assert {place: run.outcome.verdict for place, run in over.items()} == {0: "faithful", 2: "faithful"}
