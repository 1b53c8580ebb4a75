"""A request whose body a script compressed is compared by its content, and holds no secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import zstandard
from playwright.sync_api import expect

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.record import AttachOptions
from eikon_engine.trace.rules import JsonPathRule
from eikon_engine.trace.trace_file import read_trace
from tests.browser.pages import Answer
from tests.record.recorded_page import recorded_page
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.browser.pages import PageSite

pytestmark = pytest.mark.browser

PASSWORD = "correct-horse-battery"
PAGE = """<input type=password><button>Save</button><p id=out></p><script>
// The format zlib (RFC 1950), with one block that is stored.
const compress = text => {
  const data = new TextEncoder().encode(text), size = data.length;
  let a = 1, b = 0;
  for (const each of data) { a = (a + each) % 65521; b = (b + a) % 65521; }
  const head = [0x78, 0x01, 1, size & 255, size >> 8, ~size & 255, (~size >> 8) & 255];
  return new Uint8Array([...head, ...data, b >> 8, b & 255, a >> 8, a & 255]);
};
document.querySelector('button').onclick = async () => {
  const sent = { id: crypto.randomUUID(), at: Date.now(), typed: document.querySelector('input').value };
  out.textContent = await (await fetch('/save', { method: 'POST', body: compress(JSON.stringify(sent)) })).text();
};
</script>"""


def test_a_compressed_body_is_compared_and_redacted(chromium: Browser, site: PageSite, tmp_path: Path) -> None:
    """What varies in it has a rule; the password is in no file."""
    site.answers["/save"] = Answer(body="saved")
    url = site.put(PAGE)
    options = AttachOptions(certify=CertifyOptions(runs=2), secrets={"PASSWORD": PASSWORD})
    with recorded_page(chromium, tmp_path / "bundle", options) as recorded:
        page = recorded.page
        page.goto(url)
        page.locator("input").fill(PASSWORD)
        page.get_by_role("button").click()
        expect(page.locator("#out")).to_have_text("saved")

    outcome = replay(tmp_path / "bundle", tmp_path / "run", secrets={"PASSWORD": PASSWORD})

    report = recorded.mission.report
    assert report is not None
    assert report.status == "certified", report.findings
    network = read_trace(tmp_path / "bundle").network
    assert network is not None
    assert {rule.path for rule in network.rules if isinstance(rule, JsonPathRule)} <= {"$.id", "$.at"}
    assert outcome.verdict == "faithful"
    unpack = zstandard.ZstdDecompressor()
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        content = path.read_bytes()
        assert PASSWORD.encode() not in (unpack.decompress(content) if path.suffix == ".zst" else content), path
