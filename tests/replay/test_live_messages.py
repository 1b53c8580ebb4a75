"""A message of a live server that differs from the recorded one explains what the page shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.missions.ordinary import deploy_a_service
from tests.record.recorded_page import QUICK, TWICE, recorded_page, steps
from tests.replay.conftest import replay
from tests.sites.ordinary import serve_board

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from playwright.sync_api import Browser

    from eikon_engine.trace.observation import Observation

pytestmark = pytest.mark.browser


def test_a_changed_message_is_the_cause(chromium: Browser, tmp_path: Path) -> None:
    """The socket has another token in its URL, and is the recorded one; its first message is another.

    It may have come before the agent looked at the page, or while the agent waited for it.
    """
    with serve_board() as site:
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            deploy_a_service(agent.page, site.url)
        site.restart(edit_message=lambda number, text: text.replace("online", "away") if number == 0 else text)
        outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    first = outcome.divergences[0]
    assert (first.code, first.observed) in {("dom-changed", "Grace is away"), ("assertion-failed", '"Grace is away"')}
    assert first.because[0].startswith("WEBSOCKET ws://")
    assert first.because[0].endswith("message 1 $.text: recorded Grace is online, live Grace is away")
    assert outcome.explanation is not None
    assert outcome.explanation.cause == "test-data"


def socket_keys(observations: Iterable[Observation | None]) -> set[str]:
    """Return the keys of the sockets that pages opened, and of what they sent on them."""
    return {key for each in observations if each is not None for key in each.requests if key.startswith("WEBSOCKET ")}


def test_the_sockets_of_another_recording_are_the_recorded_ones(chromium: Browser, tmp_path: Path) -> None:
    """Another recording has another token in the URL of its socket, and other ids that no rule covers."""
    with serve_board() as site:
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            deploy_a_service(agent.page, site.url)
        site.restart()
        with recorded_page(chromium, tmp_path / "other", QUICK) as agent:
            deploy_a_service(agent.page, site.url)

    options = {"responses_from": tmp_path / "other", "on_divergence": "continue", "secrets": {}}
    outcome = replay(tmp_path / "b", tmp_path / "run", **options)

    recorded = socket_keys(each.baseline for each in steps(tmp_path / "b"))
    observed = socket_keys(getattr(each, "observation", None) for attempt in outcome.subgoals for each in attempt.steps)
    assert observed == recorded
    assert outcome.network.misses == ()


def test_a_message_that_is_withheld_is_the_cause_of_a_failed_wait(chromium: Browser, tmp_path: Path) -> None:
    """The agent waited for the text of the message; a live server does not send it."""
    with serve_board() as site:
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            deploy_a_service(agent.page, site.url)
        site.restart(edit_message=lambda number, text: None if number == 0 else text)
        outcome = replay(tmp_path / "b", tmp_path / "run", network="live", secrets={})

    assert outcome.explanation is not None
    assert outcome.explanation.cause == "test-data", outcome.explanation
    assert "message 1 $.text: recorded Grace is online, live none within " in outcome.explanation.why
