"""What an unchanged site varies is learned on it; then live replays are faithful, and changes are found."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.errors import RequirementError
from eikon_engine.record import AttachOptions
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.trace_file import TRACE_FILE, write_trace
from tests.browser.pages import serve_pages
from tests.missions.ordinary import HELPDESK_PASSWORD, report_a_fault
from tests.record.recorded_page import recorded_page
from tests.replay.conftest import replay
from tests.sites.ordinary import Change, serve_helpdesk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser

    from eikon_engine.outcome.outcomes import ReplayOutcome
    from tests.sites.ordinary import OrdinarySite

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
SECRETS = {"PASSWORD": HELPDESK_PASSWORD}


@pytest.fixture(scope="module")
def helpdesk() -> Iterator[OrdinarySite]:
    """Serve the help desk."""
    with serve_helpdesk() as site:
        yield site


@pytest.fixture(scope="module")
def bundle(chromium: Browser, helpdesk: OrdinarySite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record and certify the mission, and learn what the site varies."""
    folder = tmp_path_factory.mktemp("helpdesk") / "b"
    with recorded_page(chromium, folder, AttachOptions(certify=CertifyOptions(runs=2), secrets=SECRETS)) as agent:
        report_a_fault(agent.page, helpdesk.url)
    learned = certify(folder, helpdesk, "--accept")
    assert learned.returncode == 0, learned.stderr
    return folder


def certify(bundle: Path, site: OrdinarySite, *options: str) -> subprocess.CompletedProcess[str]:
    """Certify live; the site is reset before each run."""
    reset = f"{sys.executable} -c \"import urllib.request as r; r.urlopen('{site.url}/restart', b'')\""
    secret = f"PASSWORD={HELPDESK_PASSWORD}"
    return run(bundle, "--network", "live", "--runs", "2", "--reset-cmd", reset, "--secret", secret, *options)


def run(bundle: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own: the browser of the tests keeps an event loop in this one."""
    return subprocess.run(
        [sys.executable, "-m", "eikon_engine", "certify", str(bundle), *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_a_secret_is_typed_into_its_origins_only(bundle: Path, helpdesk: OrdinarySite) -> None:
    """As in a replay, a run ends before it types the secret into a document of another origin."""
    elsewhere = f"PASSWORD@https://bank.example={HELPDESK_PASSWORD}"
    helpdesk.restart(None)

    refused = run(bundle, "--network", "live", "--runs", "2", "--secret", elsewhere)

    assert refused.returncode == RequirementError.exit_status, refused.stderr
    assert "secret PASSWORD" in refused.stderr
    assert HELPDESK_PASSWORD not in refused.stderr


def replay_live(bundle: Path, site: OrdinarySite, folder: Path, change: Change | None = None) -> ReplayOutcome:
    """Replay on the site with one changed response."""
    site.restart(change)
    outcome = replay(bundle, folder, network="live", secrets=SECRETS)
    assert change is None or site.applied
    return outcome


def test_an_unchanged_site_is_faithful(bundle: Path, helpdesk: OrdinarySite, tmp_path: Path) -> None:
    """Tokens, ids, ages and a number that the server draws for each run are no differences."""
    for number in range(3):
        outcome = replay_live(bundle, helpdesk, tmp_path / str(number))
        assert [each.message + each.detail for each in outcome.divergences] == []
        assert outcome.verdict == "faithful"


def test_what_was_learned_holds_on_another_deployment(bundle: Path, helpdesk: OrdinarySite, tmp_path: Path) -> None:
    """Also the id of the new ticket, if it is nowhere but in the URL of its page."""
    copy = tmp_path / "bundle"
    shutil.copytree(bundle, copy)
    trace = open_bundle(bundle).trace
    assert trace.network is not None
    rules = tuple(rule for rule in trace.network.rules if "action=" not in getattr(rule, "pattern", ""))
    assert len(rules) < len(trace.network.rules)
    changed = trace.model_copy(update={"network": trace.network.model_copy(update={"rules": rules})})
    write_trace(changed, copy / TRACE_FILE)
    with serve_helpdesk() as other:
        outcome = replay(copy, tmp_path / "run", base_urls={helpdesk.url: other.url}, secrets=SECRETS)

    assert [each.message + each.detail for each in outcome.divergences] == []
    assert outcome.verdict == "faithful"


def test_what_was_learned_is_no_wider_than_what_varies(bundle: Path) -> None:
    """Ids have rules with the field before them, the number of the footer a mask with the words around it."""
    trace = open_bundle(bundle).trace
    assert trace.network is not None

    patterns = {rule.pattern for rule in trace.network.rules if rule.kind == "response_value"}
    assert 'href="/tickets/([0-9a-f]{12})(?=")' in patterns
    assert {getattr(mask.part, "pattern", None) for mask in trace.masks} == {
        r"Page\\ made\\ in\\ [0-9]{1,3}\\ ms".replace("\\\\", "\\")
    }


def edit(old: str, new: str) -> Callable[[str], str]:
    """Return a change of a document."""

    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return change


CHANGES = {
    "a renamed button": (Change(request="GET /new", edit=edit(">Save<", ">Store<")), "site-changed"),
    "other words in the footer": (Change(request="GET /login", edit=edit("Page made in", "Done in")), "site-changed"),
    "another state": (Change(request="GET /tickets/*", number=3, edit=edit(">closed<", ">open<")), "site-changed"),
    "a form that is refused": (Change(request="POST /new", status=403), "session-expired"),
    "a form that fails": (Change(request="POST /new", status=500), "site-error"),
    "a session that ended": (Change(request="GET /new", location="/login"), "session-expired"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_site_is_explained(bundle: Path, helpdesk: OrdinarySite, tmp_path: Path, change: str) -> None:
    """Each change diverges for its cause."""
    changed, cause = CHANGES[change]
    outcome = replay_live(bundle, helpdesk, tmp_path, changed)

    assert outcome.verdict == "diverged"
    assert outcome.explanation is not None
    assert outcome.explanation.cause == cause, outcome.explanation.sentence


def test_the_evidence_of_an_error_names_the_request_of_this_run(
    bundle: Path, helpdesk: OrdinarySite, tmp_path: Path
) -> None:
    """Beside the recorded one, whose id is in no log of the server."""
    outcome = replay_live(bundle, helpdesk, tmp_path, Change(request="GET /tickets/*", status=500))

    assert outcome.explanation is not None
    recorded, _, sent = outcome.explanation.why.partition("; sent in this run as ")
    ids = [re.findall("/tickets/([0-9a-f]{12})", each) for each in (recorded, sent)]
    assert [len(each) for each in ids] == [1, 1], outcome.explanation.why
    assert ids[0] != ids[1]
    assert ids[0][0] in (bundle / TRACE_FILE).read_text(encoding="utf-8")
    assert sent == f"GET {helpdesk.url}/tickets/{ids[1][0]}"


def test_the_evidence_lists_no_masked_difference(bundle: Path, helpdesk: OrdinarySite, tmp_path: Path) -> None:
    """The file of differences has the renamed button, but neither tokens nor the number of the footer."""
    replay_live(bundle, helpdesk, tmp_path, CHANGES["a renamed button"][0])

    (difference,) = tmp_path.rglob("*_dom_diff.txt")
    assert difference.read_text(encoding="utf-8").splitlines() == [
        "html > body > main#content > form#ticket > button#save",
        "  text",
        "  - Save",
        "  + Store",
    ]


def test_a_link_that_leads_to_another_record_is_a_difference(
    bundle: Path, helpdesk: OrdinarySite, tmp_path: Path
) -> None:
    """Ids stand for the recorded ones one to one: two rows with the same one are a change."""
    ids: list[str] = []

    def same_id(text: str) -> str:
        ids[:] = [part.partition('"')[0] for part in text.split('href="/tickets/')[1:]]
        return text.replace(ids[1], ids[0])

    outcome = replay_live(bundle, helpdesk, tmp_path, Change(request="GET /tickets", edit=same_id))

    assert [each.code for each in outcome.divergences][:1] == ["dom-changed"]


def test_a_reset_that_fails_ends_the_certification(bundle: Path) -> None:
    """The message has the command and its status, and nothing is written."""
    before = (bundle / "trace.json").read_bytes()

    secret = f"PASSWORD={HELPDESK_PASSWORD}"
    ended = run(bundle, "--network", "live", "--reset-cmd", "exit 3", "--secret", secret)
    sealed = run(bundle, "--reset-cmd", "true")

    assert (ended.returncode, sealed.returncode) == (2, 2)
    assert "--reset-cmd 'exit 3' failed with exit status 3" in ended.stderr
    assert "reset command has no effect on sealed replays" in sealed.stderr
    assert (bundle / "trace.json").read_bytes() == before


def test_a_missing_secret_is_found_before_the_site_is_reset(bundle: Path, tmp_path: Path) -> None:
    """The data of the site is kept for the certification that can run."""
    ended = run(bundle, "--network", "live", "--reset-cmd", f"touch {tmp_path / 'reset'}")

    assert ended.returncode == 78
    assert "secret PASSWORD was not provided" in ended.stderr
    assert not (tmp_path / "reset").exists()


def test_a_server_that_ended_with_its_reset_command_is_named(chromium: Browser, tmp_path: Path) -> None:
    """Nothing listens after the reset: to record the mission again would not help."""
    with serve_pages() as site:
        url = site.put("<button>Go</button>")
        with recorded_page(chromium, tmp_path / "b", AttachOptions(certify=None)) as agent:
            agent.page.goto(url)

    ended, plain = (
        run(tmp_path / "b", "--network", "live", "--runs", "2", *reset) for reset in (["--reset-cmd", "true"], [])
    )

    assert (ended.returncode, plain.returncode) == (1, 1)
    assert "next: no run reached the site: the processes of --reset-cmd, such as a server" in ended.stderr
    assert "--reset-cmd" not in plain.stderr
