"""Which replays with typed passwords work without their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import RequirementError
from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Click, Fill, Navigate
from eikon_engine.trace.bundle import open_bundle
from tests.browser.pages import Answer, serve_pages
from tests.error_codes import has_code
from tests.missions.shop import css
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser

PASSWORD = "plum-4711-tree"
_FORM = "<!doctype html><title>Sign in</title><input id=p type=password><button onclick='go()'>Go</button><p id=o></p>"
_DIGEST = """<script>
  const hex = bytes => Array.from(new Uint8Array(bytes), byte => byte.toString(16).padStart(2, '0')).join('');
  const go = async () => {
    const digest = hex(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(p.value)));
    await fetch('/enter', { method: 'POST', body: digest });
    o.textContent = 'sent';
  };
</script>"""
_OWN_WAY = """<script>
  const go = async () => {
    const sum = [...p.value].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) % 1000003, 7);
    await fetch('/enter', { method: 'POST', body: `sum=${sum}` });
    o.textContent = 'sent';
  };
</script>"""


def record(script: str, folder: Path) -> Path:
    """Sign in on a page that derives a value from the password before it sends it."""
    with serve_pages() as site:
        site.answers["/"] = Answer(body=_FORM + script)
        site.answers["/enter"] = Answer(body="ok", content_type="text/plain")

        async def drive() -> None:
            async with open_recorder(folder, mission_text="Sign in") as mission, mission.subgoal("Sign in"):
                await mission.perform(Navigate(url=f"{site.url}/"))
                await mission.perform(Fill(target=css("#p"), text=PASSWORD))
                await mission.perform(Click(target=css("button")))

        SHARED.run(drive())
    return folder


def test_a_replay_requires_a_password_whose_digest_was_sent(tmp_path: Path) -> None:
    """No stand-in has the sent digest, so the trace warns, and a replay requires the value."""
    bundle = record(_DIGEST, tmp_path / "b")

    with pytest.raises(RequirementError, match="--secret PASSWORD=", check=has_code("secret-missing")):
        replay(bundle, tmp_path / "run", secrets={})
    outcome = replay(bundle, tmp_path / "run", secrets={"PASSWORD": PASSWORD})

    assert "the recording contains a digest of secret PASSWORD" in " ".join(open_bundle(bundle).trace.warnings)
    assert outcome.verdict == "faithful"


def test_a_divergence_after_a_typed_stand_in_names_it_as_a_possible_cause(tmp_path: Path) -> None:
    """The replay without the value diverges and names the stand-in as a possible cause."""
    bundle = record(_OWN_WAY, tmp_path / "b")

    without = replay(bundle, tmp_path / "without", secrets={})
    given = replay(bundle, tmp_path / "given", secrets={"PASSWORD": PASSWORD})

    assert without.verdict == "diverged"
    assert "stand-ins were typed for secrets (PASSWORD)" in " ".join(without.reasons)
    assert given.verdict == "faithful"


def test_a_changed_page_diverges_without_the_password_too(tmp_path: Path) -> None:
    """Pages after the sign-in are compared as usual, so a stand-in hides no change."""
    bundle = record("<script>const go = () => { o.textContent = `${p.value.length} long`; };</script>", tmp_path / "b")
    same = replay(bundle, tmp_path / "same", secrets={})
    trace = (bundle / "trace.json").read_text(encoding="utf-8")
    (bundle / "trace.json").write_text(trace.replace('"title": "Sign in"', '"title": "Enter"'), encoding="utf-8")

    other = replay(bundle, tmp_path / "other", secrets={})

    assert same.verdict == "faithful"
    assert other.divergences[0].code == "title-changed"
