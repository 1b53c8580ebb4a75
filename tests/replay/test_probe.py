"""A live replay of a bundle with a recorded network reports which responses changed, and their consequences."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.replay.conftest import SECRETS, replay

if TYPE_CHECKING:
    from pathlib import Path

    from tests.replay.conftest import Recorded

pytestmark = pytest.mark.browser


def test_a_changed_answer_is_put_to_its_action(recorded: Recorded, tmp_path: Path) -> None:
    """A changed price is attributed to the action that requested it."""
    recorded.shop.restart("other-price")

    outcome = replay(recorded.bundles["order"], tmp_path / "run", network="live", on_divergence="continue")

    found = next(change for change in outcome.network.response_changes if change.key.endswith("/prices"))
    first = outcome.divergences[0]
    assert (found.subgoal, found.sequence, found.occurrence) == (first.subgoal, first.sequence, 0)


def test_secrets_are_in_no_explanation(recorded: Recorded, tmp_path: Path) -> None:
    """A password is in no file of a replay on a changed site."""
    recorded.shop.restart("error-on-submit")

    replay(recorded.bundles["order"], tmp_path / "run", network="live", on_divergence="continue")

    kept = b"".join(path.read_bytes() for path in (tmp_path / "run").rglob("*.*") if path.suffix in {".json", ".txt"})
    assert SECRETS["PASSWORD"].encode() not in kept


def test_a_bundle_without_network_is_replayed_live_as_ever(recorded: Recorded, tmp_path: Path) -> None:
    """Without its network part, the live replay is faithful and compares no responses."""
    bundle = tmp_path / "bundle"
    shutil.copytree(recorded.bundles["banana"], bundle)
    shutil.rmtree(bundle / "network")
    trace = (bundle / "trace.json").read_text(encoding="utf-8")
    without = json.dumps({**json.loads(trace), "network": None})
    (bundle / "trace.json").write_text(without, encoding="utf-8")
    recorded.shop.restart()

    outcome = replay(bundle, tmp_path / "run", network="live")

    assert (outcome.verdict, outcome.network.response_changes, outcome.network.unused) == ("faithful", (), ())
