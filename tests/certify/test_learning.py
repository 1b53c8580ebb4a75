"""What varies in requests is learned in one run; what matters is not, and ends it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

import pytest
from playwright.sync_api import Browser

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.record import AgentMission, AttachOptions
from eikon_engine.report.certification import render_certification
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.certificate import (
    Certificate,
    LastCertification,
    file_sha256,
    network_sha256,
    read_certificate,
    write_certificate,
    write_last_certification,
)
from eikon_engine.trace.trace_file import TRACE_FILE
from tests.browser.pages import Answer, serve_pages
from tests.record.recorded_page import TWICE, recorded_page
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.outcome.certification import CertificationReport
    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

DRAWN = """<script>
  const drawn = async () => {
    const key = await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, true, ['sign']);
    const bytes = new Uint8Array(await crypto.subtle.exportKey('raw', key));
    return [...bytes].map(byte => byte.toString(16).padStart(2, '0')).join('');
  };
</script>"""
"""Keys come from the browser itself; no seed reaches them, so they differ in every run."""
REAL = """<script>
  let real = async () => parseInt((await drawn()).slice(0, 12), 16);
</script>"""
SHOP = f"""{DRAWN}{REAL}<button id=buy>Buy</button><p id=state>none</p>
<script>
  const json = {{ 'Content-Type': 'application/json' }};
  buy.onclick = async () => {{
    const hash = (await drawn()).slice(0, 32), trace = (await drawn()).slice(0, 32);
    const at = new Date(Date.now() + await real() % 5000).toISOString();
    const price = await (await fetch(`/price?item=7&_=${{Date.now() + await real() % 5000}}`)).text();
    const stock = await (await fetch(`/stock?item=7&cb=${{1 + await real() % 90}}`)).text();
    const headers = {{ traceparent: `00-${{trace}}-01` }};
    const session = await (await fetch(`/s/${{hash}}/cart`, {{ headers }})).text();
    const saved = await (await fetch('/orders', {{ method: 'POST', headers: json,
      body: JSON.stringify({{ item: 7, nonce: (await drawn()).slice(0, 24), note: 'ripe' }}) }})).text();
    const form = new URLSearchParams({{ item: '7', at }});
    const logged = await (await fetch('/log', {{ method: 'POST', body: form }})).text();
    state.textContent = [price, stock, session, saved, logged].join(' ');
  }};
</script>"""


@pytest.fixture
def site() -> Iterator[PageSite]:
    """Serve a shop whose pages draw ids, times and counters anew in every run."""
    with serve_pages() as serving:
        for name in ("price", "stock", "orders", "log"):
            serving.answers[f"/{name}"] = Answer(body=name, content_type="text/plain")
        yield serving


def cart_anywhere(site: PageSite) -> None:
    """Serve the cart of any session."""

    class AnyPath(dict):  # type: ignore[type-arg] # of the test
        def get(self, path: str, default: object = None) -> object:
            cart = Answer(body="cart", content_type="text/plain")
            return cart if path.startswith("/s/") else super().get(path, default)

    site.answers = AnyPath(site.answers)


def certify_mission(chromium: Browser, folder: Path, url: str, done: str) -> CertificationReport:
    """Record an agent that clicks and waits for a text, and certify it with two runs."""
    with recorded_page(chromium, folder, TWICE) as agent:
        agent.page.goto(url)
        agent.page.click("button")
        agent.page.wait_for_function(f"document.body.innerText.includes({done!r})")
    assert agent.mission.report is not None
    return agent.mission.report


def test_all_rules_of_a_mission_are_learned_in_one_run(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Cache-busters, a session in the path, a nonce and a time in bodies: five rules, one round, sealed faithful."""
    cart_anywhere(site)
    report = certify_mission(chromium, tmp_path / "b", site.put(SHOP), "price stock cart orders log")

    network = open_bundle(tmp_path / "b").trace.network
    assert network is not None
    assert (report.status, report.rounds) == ("certified", 1), report.findings
    assert sorted(rule.kind for rule in network.rules) == [
        "form_field",
        "json_path",
        "path_segment",
        "query_key",
        "query_key",
    ]
    assert all(getattr(rule, "pattern", None) for rule in network.rules)
    assert replay(tmp_path / "b", tmp_path / "run").verdict == "faithful"


@pytest.mark.parametrize(
    ("request_of_page", "named"),
    [
        ("fetch(`/price?item=7&offer=${100 + await real() % 900}`)", "query offer: recorded '"),
        (
            "fetch('/orders', {method: 'POST', headers: {'Content-Type': 'application/json'},"  # noqa: ISC004 - one text
            " body: JSON.stringify({item: 7, name: String(await real() % 1e6).replace(/./g, n => 'abcdefghij'[n])})})",
            "body $.name: recorded '",
        ),
    ],
)
def test_a_value_that_matters_is_not_learned_and_ends_the_run(
    chromium: Browser, site: PageSite, tmp_path: Path, request_of_page: str, named: str
) -> None:
    """A price or a name that differs gets no rule: the first such request ends the certification, and is named."""
    page = f"""{DRAWN}{REAL}<button id=buy>Buy</button><p id=state>none</p>
    <script>
      buy.onclick = async () => {{
        for (let attempt = 0; attempt < 3; attempt++) await {request_of_page};
        state.textContent = 'bought';
      }};
    </script>"""
    begin = time.monotonic()
    report = certify_mission(chromium, tmp_path / "b", site.put(page), "bought")

    (finding,) = report.findings
    trace = open_bundle(tmp_path / "b").trace
    assert (report.status, report.rounds, report.certificate) == ("diverged", 1, None)
    # Under load the random value arrives after the click has been observed: the request belongs to the wait then.
    assert finding.step.split()[0] in {"click", "wait"}
    assert finding.code == "request-not-recorded"
    assert named in finding.message
    assert trace.network is not None
    assert trace.network.rules == ()
    assert report.seconds < time.monotonic() - begin


def test_an_action_that_fails_with_every_timing_ends_it(
    chromium: Browser, site: PageSite, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A script of the agent added the button, which no replay does: two replays tell, and the warning is repeated.

    The agent's log and later replays give the first finding and the next step, in the words of the report.
    """
    missions: list[AgentMission] = []
    url = site.put("<p>empty</p>")
    with recorded_page(chromium, tmp_path / "b", AttachOptions(certify=CertifyOptions(runs=3))) as agent:
        missions.append(agent.mission)
        agent.page.goto(url)
        agent.page.add_script_tag(content="document.body.append(document.createElement('button'))")
        agent.page.click("button")

    report = missions[0].report
    assert report is not None
    assert (report.status, report.runs, report.rounds) == ("diverged", 1, 1)
    assert [each.code for each in report.findings] == ["target-missing"]
    assert any("the recording warned: " in note and "addScriptTag" in note for note in report.notes), report.notes
    (first,) = report.findings
    headline, detail, *_, next_line = render_certification(report).splitlines()[1:]
    assert [headline.strip(), detail.strip()] == [first.headline, first.detail]
    logged = caplog.messages[-1]
    assert logged == (
        f"{tmp_path / 'b'}: recorded but not certified: {first.headline}, {first.detail.splitlines()[0]}. "
        f"{next_line.strip().replace('next', 'Next')}"
    )
    outcome = replay(tmp_path / "b", tmp_path / "run", on_divergence="continue")
    assert outcome.certified == "none"
    assert outcome.certified_why.startswith("it has no certificate; the last certification, on ")
    assert outcome.certified_why.endswith(f"gave none: {report.reason}. Next: {report.next_step}")
    summary = (tmp_path / "run" / "replay_summary.txt").read_text()
    assert outcome.certified_why in summary
    assert f"To confirm   its certification failed, too ({report.reason}): record the mission again" in summary


@pytest.mark.parametrize("network_mode", ["sealed", "live"])
@pytest.mark.parametrize("is_certified", [False, True])
def test_only_a_failed_certification_of_the_same_kind_replaces_advice_to_certify(
    chromium: Browser, site: PageSite, tmp_path: Path, network_mode: Literal["sealed", "live"], *, is_certified: bool
) -> None:
    """A failed live attempt proves nothing about sealed replays, nor does one where there is a certificate."""
    url = site.put("<p>empty</p>")
    with recorded_page(chromium, tmp_path / "b") as agent:
        agent.page.goto(url)
        agent.page.add_script_tag(content="document.body.append(document.createElement('button'))")
        agent.page.click("button", timeout=1000)
    trace = open_bundle(tmp_path / "b").trace
    digests = file_sha256(tmp_path / "b" / TRACE_FILE), network_sha256(tmp_path / "b", trace)
    if is_certified:
        certificate = Certificate(
            certified_at=trace.started_at,
            runs=3,
            stress=False,
            network_mode="sealed",
            browser="chromium",
            playwright_version="1",
            eikon_version="1",
            environment_sha256="",
            trace_sha256=digests[0],
            network_sha256=digests[1],
        )
        write_certificate(tmp_path / "b", certificate)
    last = LastCertification(
        ended_at=trace.started_at,
        network_mode=network_mode,
        status="diverged",
        reason="the site was down",
        next_step="record again",
        trace_sha256=digests[0],
        network_sha256=digests[1],
    )
    write_last_certification(tmp_path / "b", last)

    outcome = replay(tmp_path / "b", tmp_path / "run", on_divergence="continue")

    assert outcome.certified == ("certified" if is_certified else "none")
    assert outcome.explanation is not None
    is_replaced = network_mode == "sealed" and not is_certified
    assert ("its certification failed, too" in outcome.explanation.settle) == is_replaced
    assert ("run `eikon certify`" in outcome.explanation.settle) != is_replaced


def test_warnings_of_the_recording_are_in_the_certificate(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Equal replays do not show what the recording could not keep, so report and certificate name it."""
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(site.put("<button>Go</button>"))
        agent.page.add_style_tag(content="button { color: red }")
        agent.page.click("button")

    report, certificate = agent.mission.report, read_certificate(tmp_path / "b")
    assert report is not None
    assert certificate is not None
    assert report.status == "certified", report.findings
    (warning,) = open_bundle(tmp_path / "b").trace.warnings
    assert "Frame.addStyleTag was called once" in warning
    assert report.notes == certificate.notes == (f"the recording warned: {warning}",)


def test_a_mission_that_failed_is_called_so(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Equal replays of a failed mission are certified as what they are: report, certificate and summary say so."""
    error = RuntimeError("the model gave up")

    def give_up() -> None:
        with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
            missions.append(agent.mission)
            agent.page.goto(page_url)
            agent.page.click("button")
            raise error

    missions: list[AgentMission] = []
    page_url = site.put("<button onclick=\"this.textContent = 'Went'\">Go</button>")
    with pytest.raises(RuntimeError, match="the model gave up"):
        give_up()

    report = missions[0].report
    certificate = read_certificate(tmp_path / "b")
    outcome = replay(tmp_path / "b", tmp_path / "run")
    summary = (tmp_path / "run" / "replay_summary.txt").read_text()
    assert report is not None
    assert certificate is not None
    assert (report.status, report.mission_status, certificate.mission_status) == ("certified", "failed", "failed")
    assert "certified (the recorded mission: failed)" in render_certification(report)
    assert any("the model gave up" in note for note in certificate.notes)
    assert "the recorded mission did not complete: failed" in outcome.certified_why
    assert "the recorded mission did not complete: failed" in summary
