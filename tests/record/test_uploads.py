"""Files that an agent uploads: their requests are recorded with body, and no replay sends another file unnoticed."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from eikon_engine.browser.attach.uploads import AttachedUploads
from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.store import read_network
from eikon_engine.record import record_mission
from eikon_engine.trace.actions import SetInputFiles
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.trace_file import write_trace
from tests.browser.pages import Answer, Asked, PageSite
from tests.record.recorded_page import QUICK, TWICE, recorded_actions, recorded_page
from tests.replay.conftest import replay

pytestmark = pytest.mark.browser

CONTENT = b"a\xff\x00\r\nb\n--x"
FORM = """<form id=form method=post action=/sent enctype=multipart/form-data>
<textarea name="a &quot;note&quot;">two
lines</textarea><input type=file name=file id=file multiple><button name=press value=yes>Send</button></form>
<button id=fetch>Fetch</button><button id=request>Request</button><button id=xhr>XHR</button>
<button id=leave>Leave</button>
<button id=raw>Raw</button><button id=beacon>Beacon</button><p id=out></p>
<script>
const out = document.getElementById('out');
const show = async response => { out.textContent += ' ' + await response.text(); };
const data = () => {
  const made = new FormData(document.getElementById('form'));
  made.append('drawn', new Blob(['made by the page'], { type: 'text/plain' }), 'drawn.txt');
  return made;
};
document.getElementById('fetch').onclick = async () => show(await fetch('/sent', { method: 'POST', body: data() }));
document.getElementById('request').onclick =
  async () => show(await fetch(new Request('/sent', { method: 'POST', body: data() }).clone()));
document.getElementById('raw').onclick =
  async () => show(await fetch('/sent', { method: 'PUT', body: document.getElementById('file').files[0] }));
document.getElementById('leave').onclick = async () => {
  await fetch('/sent', { method: 'POST', body: data() });
  location = '/next';
};
document.getElementById('xhr').onclick = () => {
  const request = new XMLHttpRequest();
  request.open('post', '/sent');
  request.onload = () => { out.textContent += ' ' + request.responseText; };
  request.send(data());
};
document.getElementById('beacon').onclick = () => {
  out.textContent += navigator.sendBeacon('/sent', new Blob(['{"a":1}'], { type: 'application/json' }));
};
</script>"""


def accept(asked: Asked) -> Answer:
    """Answer with the size of the body, apart from its boundary."""
    boundary = asked.header("Content-Type").partition("boundary=")[2]
    body = asked.body.replace(boundary.encode(), b"") if boundary else asked.body
    return Answer(body=f"<p id=done>{len(body)} bytes</p>")


@pytest.fixture
def form(site: PageSite) -> str:
    """Serve a page that uploads in every way."""
    site.answers["/sent"] = accept
    return site.put(FORM)


def with_other_file(folder: Path, content: bytes) -> Path:
    """Give the bundle a mission that uploads another file of the same name."""
    bundle = open_bundle(folder)
    files = bundle.root / "files"
    ref = BlobStore(files).put(content)
    trace = bundle.trace
    subgoals = []
    for subgoal in trace.subgoal_traces:
        steps = []
        for step in subgoal.actions_taken:
            action = step.action
            if isinstance(action, SetInputFiles):
                other = tuple(each.model_copy(update={"content": ref}) for each in action.files)
                action = action.model_copy(update={"files": other})
            steps.append(step.model_copy(update={"action": action}))
        subgoals.append(subgoal.model_copy(update={"actions_taken": tuple(steps)}))
    write_trace(trace.model_copy(update={"subgoal_traces": tuple(subgoals)}), folder)
    return folder


def sent_body(site: PageSite) -> bytes:
    """Return the body that the site received."""
    return next(each.body for each in site.asked if each.path == "/sent")


def recorded_body(folder: Path) -> bytes | None:
    """Return the recorded body of that request; None if it has none."""
    network = read_network(folder / "network")
    recorded = next(each.request for each in network.exchanges if each.request.url.endswith("/sent"))
    return None if recorded.body is None else network.body(recorded.body)


@pytest.mark.parametrize("button", ["form button", "#fetch", "#request", "#xhr", "#raw", "#beacon"])
def test_an_upload_is_recorded_with_its_files(
    chromium: Browser, site: PageSite, form: str, tmp_path: Path, button: str
) -> None:
    """A form, fetch, XMLHttpRequest, a file as a body and a beacon: certified, and another file is noticed."""
    file = tmp_path / "list.dat"
    file.write_bytes(CONTENT)
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(form)
        agent.page.set_input_files("#file", file)
        agent.page.click(button)
        if button == "form button":
            agent.page.wait_for_selector("#done")
        else:
            agent.page.wait_for_function("document.getElementById('out').textContent !== ''")

    assert recorded_body(tmp_path / "b") == sent_body(site)
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report
    assert replay(tmp_path / "b", tmp_path / "run").verdict == "faithful"
    if button != "#beacon":
        other = replay(with_other_file(tmp_path / "b", b"!" * len(CONTENT)), tmp_path / "other")
        assert other.verdict == "diverged"


def test_an_upload_is_recorded_although_its_page_is_gone_while_the_agent_sleeps(
    chromium: Browser, site: PageSite, form: str, tmp_path: Path
) -> None:
    """A synchronous agent that sleeps lets nobody read anything; the page goes on to its next document."""
    site.answers["/next"] = Answer(body="<h1>next</h1>")
    file = tmp_path / "list.dat"
    file.write_bytes(CONTENT)
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(form)
        agent.page.set_input_files("#file", file)
        agent.page.click("#leave")
        threading.Event().wait(1.5)
        agent.page.wait_for_selector("h1")

    assert recorded_body(tmp_path / "b") == sent_body(site)


def test_a_page_that_leaves_after_an_upload_has_reported_what_it_made_itself(
    chromium: Browser, site: PageSite, form: str, tmp_path: Path
) -> None:
    """Reading the file takes longer than the request; the page, which alone knows it, leaves at the response."""
    site.answers["/next"] = Answer(body="<h1>next</h1>")
    with chromium.new_context() as context:
        context.add_init_script("""
            const read = FileReader.prototype.readAsDataURL;
            FileReader.prototype.readAsDataURL = function(file) { setTimeout(() => read.call(this, file), 400); };
        """)
        page = context.new_page()
        with record_mission(page, mission_text="Leave", directory=tmp_path / "b", options=QUICK):
            page.goto(form)
            page.click("#leave")
            page.wait_for_selector("h1")

    assert recorded_body(tmp_path / "b") == sent_body(site)


@pytest.mark.parametrize("case", [("#fetch", 0.6, 0.1), ("#raw", 0.1, 0.6)], ids=["a form", "a file"])
def test_a_body_is_kept_though_its_headers_are_gone_and_its_document_reports_it_late(
    chromium: Browser,
    site: PageSite,
    form: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[str, float, float],
) -> None:
    """The browser forgets the length of a body with its page; a form is sent anyway, a file reported meanwhile."""
    (button, report_s, headers_s), on_report = case, AttachedUploads.on_report

    def report_late(uploads: AttachedUploads, *report: Any) -> None:  # noqa: ANN401 - passed on
        asyncio.get_running_loop().call_later(report_s, on_report, uploads, *report)

    async def forget_length(_request: object) -> dict[str, str]:
        await asyncio.sleep(headers_s)
        return {}

    monkeypatch.setattr(AttachedUploads, "on_report", report_late)
    monkeypatch.setattr("playwright.async_api.Request.all_headers", forget_length)
    file = tmp_path / "list.dat"
    file.write_bytes(CONTENT)

    with recorded_page(chromium, tmp_path / "b", QUICK) as agent:
        agent.page.goto(form)
        agent.page.set_input_files("#file", file)
        agent.page.click(button)
        agent.page.wait_for_function("document.getElementById('out').textContent !== ''")

    assert recorded_body(tmp_path / "b") == sent_body(site)


def test_two_uploads_of_one_file_are_two_occurrences_of_one_request(
    chromium: Browser, form: str, tmp_path: Path
) -> None:
    """Each gets its own answer; a third one has none."""
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(form)
        agent.page.set_input_files("#file", {"name": "a.txt", "mimeType": "text/x-own", "buffer": CONTENT})
        agent.page.click("#xhr")
        agent.page.wait_for_function("document.getElementById('out').textContent.split('bytes').length === 2")
        agent.page.click("#xhr")
        agent.page.wait_for_function("document.getElementById('out').textContent.split('bytes').length === 3")

    sent = [each for each in read_network(tmp_path / "b" / "network").exchanges if each.request.url.endswith("/sent")]
    assert len({each.key for each in sent}) == 1
    assert [each.occurrence for each in sent] == [0, 1]
    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report


def test_a_chosen_file_has_the_type_that_its_page_read(chromium: Browser, form: str, tmp_path: Path) -> None:
    """The browser's table of media types is another than Python's; pages and servers see the browser's."""
    file = tmp_path / "notes.md"
    file.write_text("# notes")
    with recorded_page(chromium, tmp_path / "b", QUICK) as agent:
        agent.page.goto(form)
        agent.page.set_input_files("#file", file)
        seen = agent.page.evaluate("document.getElementById('file').files[0].type")

    (chosen,) = (each for each in recorded_actions(tmp_path / "b") if isinstance(each, SetInputFiles))
    assert chosen.files[0].mime_type == (seen or "application/octet-stream")


def test_a_request_without_a_body_is_no_loss(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """Pages declare a content type for requests that have no content."""
    site.answers["/empty"] = Answer(body="ok")
    url = site.put(
        "<button onclick=\"fetch('/empty', {method: 'POST', headers: {'content-type': 'application/json'}})"
        ".then(() => { document.title = 'done'; })\">Go</button>"
    )
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(url)
        agent.page.click("button")
        agent.page.wait_for_function("document.title === 'done'")

    assert agent.mission.report is not None
    assert agent.mission.report.status == "certified", agent.mission.report


def test_a_body_that_nobody_reported_keeps_the_bundle_from_being_certified(
    chromium: Browser, site: PageSite, tmp_path: Path
) -> None:
    """A worker sends a file past every script of ours: the bundle says so, and why it is not certified."""
    site.answers["/sent"] = accept
    source = (
        "onmessage = async () => { await fetch('/sent', {method: 'POST', body: new Blob(['x'], {type: 'text/x-own'})});"
        " postMessage(1); }"
    )
    site.answers["/worker.js"] = Answer(body=source, content_type="text/javascript")
    url = site.put(
        "<script>const worker = new Worker('/worker.js'); worker.onmessage = () => { document.title = 'done'; };"
        "</script><button onclick=\"worker.postMessage('')\">Go</button>"
    )
    with recorded_page(chromium, tmp_path / "b", TWICE) as agent:
        agent.page.goto(url)
        agent.page.click("button")
        agent.page.wait_for_function("document.title === 'done'")

    part = open_bundle(tmp_path / "b").trace.network
    assert part is not None
    assert [each.what for each in part.incomplete] == [f"the body of the request POST {site.url}/sent"]
    assert agent.mission.report is not None
    assert agent.mission.report.status == "unverifiable"
    (finding,) = agent.mission.report.findings
    assert finding.message == (
        f"the recording is incomplete: the body of the request POST {site.url}/sent was lost: "
        "no document reported it; a worker may have sent it"
    )
