"""`eikon show`: the local site, through its command, in a real browser."""

from __future__ import annotations

import fcntl
import os
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from eikon_engine.cli.shell import run_command
from eikon_engine.cli.show import show_command
from eikon_engine.gates.event_sources import events_of_outcome
from eikon_engine.history import find_history
from eikon_engine.history.database import open_history
from tests.history.runs import make_runs
from tests.triage.test_groups import NIGHT
from tests.ui.site import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT / "tests/data/traces"


def get(url: str, **headers: str) -> tuple[int, str]:
    """Return status and text of a page."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as response:  # noqa: S310 - of this test
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture
def night(tmp_path: Path) -> Path:
    """Return a folder with the outcomes of a night, an unreadable one, and a run that goes on."""
    folder = tmp_path / "night"
    for name, outcome in NIGHT.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "outcome.json").write_text(outcome.model_dump_json())
    (folder / "e/1").mkdir(parents=True)
    (folder / "e/1/outcome.json").write_text("{")
    return folder


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """Open a page; whatever fails on it, or leaves loopback, is an error."""
    opened = chromium.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    opened.on("request", lambda each: None if "//127.0.0.1:" in each.url else problems.append(each.url))
    yield opened
    opened.close()
    assert problems == []


def test_runs_are_listed_filtered_and_shown(night: Path, page: Page) -> None:
    """Each with its report; groups and differences are a link away."""
    with shown(night) as url:
        page.goto(url)
        expect(page.get_by_role("heading")).to_have_text("8 runs: 1 faithful, 6 diverged, 1 unreadable")
        page.get_by_role("searchbox").fill("orders 500")
        page.get_by_role("button", name="Show").click()
        expect(page.get_by_role("row")).to_have_count(3)
        expect(page.get_by_role("heading")).to_have_text("2 of 8 runs: 2 diverged")
        page.get_by_role("row", name="b/2").get_by_role("link").click()
        expect(page.get_by_role("heading").first).to_be_visible()
        assert re.search(r"/run/[0-9a-f]{12}/$", page.url)
        page.get_by_role("link", name="All runs").click()

        page.get_by_role("link", name="Triage").click()
        expect(page.get_by_role("heading").first).to_have_text("7 outcomes of 3 missions: 6 failed with 3 causes")
        expect(page.locator("#group-1")).to_contain_text(f" {night / 'a/3'}`")
        page.get_by_role("link", name="All runs").click()
        page.get_by_label("First").select_option("a/1")
        page.get_by_label("Second").select_option("a/3")
        page.get_by_role("button", name="Compare").click()
        expect(page.get_by_role("heading").first).to_contain_text("ifferences")
        page.goto("about:blank")


def test_the_history_is_shown(night: Path, page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of this machine, whatever folder is shown; flaky missions come first."""
    monkeypatch.setenv("EIKON_HISTORY", str(tmp_path / "runs.db"))
    place = find_history(tmp_path, os.environ)
    assert place is not None
    with open_history(place) as history:
        history.add([*make_runs("+++"), *make_runs("+-+", mission="unsure")])
    with shown(night) as url:
        page.goto(url)
        page.get_by_role("link", name="History").click()
        expect(page.get_by_role("heading")).to_have_text("History of 2 missions")
        expect(page.get_by_role("row").nth(1)).to_contain_text("unsure flaky")
        page.goto("about:blank")


def test_the_list_follows_the_folder(night: Path, page: Page) -> None:
    """A run that starts, goes on and ends is there without a reload."""
    start = next(events_of_outcome(NIGHT["d/1"]))
    with shown(night) as url:
        page.goto(url)
        (night / "f").mkdir()
        (night / "f/events.jsonl").write_text(f"{start.model_dump_json()}\n")
        with (night / "f/events.jsonl").open() as events:
            fcntl.flock(events, fcntl.LOCK_EX)  # as a replay does while it runs
            expect(page.get_by_role("row", name="running")).to_contain_text("running 0 of")
        row = page.get_by_role("row", name="interrupted")
        page.reload()
        expect(row).to_contain_text("interrupted 0 of")
        (night / "f/outcome.json").write_text(NIGHT["d/1"].model_dump_json())
        expect(row).to_have_count(0)
        expect(page.get_by_role("heading")).to_have_text("9 runs: 2 faithful, 6 diverged, 1 unreadable")
        page.goto("about:blank")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_its_pages_are_accessible_and_fit(night: Path, page: Page, scheme: str, width: int) -> None:
    """Axe finds nothing serious; nothing is wider than a narrow window."""
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type] # one of the two
    with shown(night) as runs, shown(TRACES / "shop_passing") as bundle:
        for url in (runs, bundle):
            page.goto(url)
            found = Axe().run(page).response["violations"]
            serious = [each for each in found if each["impact"] in {"serious", "critical"}]
            assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.goto("about:blank")


def test_a_bundle_is_shown_step_by_step(page: Page) -> None:
    """With results and pages."""
    with shown(TRACES / "shop_failing") as url:
        page.goto(url)
        expect(page.get_by_role("row", name="target-missing")).to_contain_text("click #redeem-voucher")


def test_one_run_is_its_report(night: Path, page: Page) -> None:
    """By its folder or its outcome."""
    for path in (night / "b/1", night / "b/1/outcome.json"):
        with shown(path) as url:
            page.goto(url)
            assert "/run/" in page.url
            page.goto("about:blank")


def test_a_run_that_ends_while_it_is_the_only_one_leads_to_its_report(tmp_path: Path, page: Page) -> None:
    """The list is left for it."""
    start = next(events_of_outcome(NIGHT["b/1"]))
    (tmp_path / "run").mkdir()
    (tmp_path / "run/events.jsonl").write_text(f"{start.model_dump_json()}\n")
    with shown(tmp_path / "run") as url:
        page.goto(url)
        expect(page.get_by_role("heading")).to_have_text("1 run: 1 interrupted")
        (tmp_path / "run/outcome.json").write_text(NIGHT["b/1"].model_dump_json())
        page.wait_for_url("**/run/*/")
        page.goto("about:blank")


def test_a_folder_whose_name_is_no_text_is_listed(night: Path, page: Page) -> None:
    """By what can be shown of its name."""
    folder = night / os.fsdecode(b"g\xff")
    folder.mkdir()
    (folder / "outcome.json").write_text(NIGHT["d/1"].model_dump_json())
    with shown(night) as url:
        page.goto(url)
        expect(page.get_by_role("heading")).to_have_text("9 runs: 2 faithful, 6 diverged, 1 unreadable")
        page.get_by_role("row", name="g?").get_by_role("link").click()
        page.wait_for_url("**/run/*/")
        page.goto("about:blank")


def test_one_run_that_cannot_be_read_hides_no_other(night: Path, tmp_path: Path) -> None:
    """A link to a file outside it, or a pipe, makes it unreadable."""
    (tmp_path / "events").write_text("")
    for name in ("link", "pipe"):
        (night / name).mkdir()
    (night / "link/events.jsonl").symlink_to(tmp_path / "events")
    os.mkfifo(night / "pipe/events.jsonl")

    with shown(night) as url:
        assert "10 runs: 1 faithful, 6 diverged, 3 unreadable" in get(url)[1]


def test_nothing_outside_the_runs_is_sent(night: Path, tmp_path: Path) -> None:
    """Nor to pages that reach it by another name; artifacts are not executed."""
    (tmp_path / "secret.txt").write_text("secret")
    (night / "b/1/page.html").write_text("<script>alert(1)</script>")
    (night / "b/1/link.txt").symlink_to(tmp_path / "secret.txt")
    with shown(night / "b/1") as url:
        run = re.sub(r".*(run/\w+/).*", r"\1", urllib.request.urlopen(url).url)  # noqa: S310 - of this test
        for path in ("..%2f..%2f..%2fsecret.txt", "%2fetc%2fpasswd", "link.txt", "missing.txt"):
            status, text = get(f"{url}{run}{path}")
            assert status == 404, path
            assert "root:" not in text
        with urllib.request.urlopen(f"{url}{run}page.html") as response:  # noqa: S310 - of this test
            assert response.headers["content-type"].startswith("text/plain")
            assert "sandbox" in response.headers["content-security-policy"]
            assert response.headers["x-content-type-options"] == "nosniff"
        assert get(url, Host="evil.example")[0] == 400
        assert get(f"{url}run/000000000000/")[0] == 404
        assert get(f"{url}diff?first=x&second=y")[0] == 404


def test_others_need_the_token(night: Path) -> None:
    """It is part of the address that is printed, and a cookie afterwards."""
    with shown(night, "--host", "0.0.0.0") as printed:  # noqa: S104 - that is the point
        url, token = printed.replace("0.0.0.0", "127.0.0.1").split("?token=")  # noqa: S104
        assert get(url)[0] == 403
        assert get(f"{url}?token=wrong")[0] == 403
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert "8 runs" in opener.open(f"{url}?token={token}").read().decode()
        assert "8 runs" in opener.open(url).read().decode()


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (["missing"], 65, "missing"),
        ([str(TRACES / "shop_passing"), "--host", "203.0.113.1"], 2, "cannot listen on 203.0.113.1"),
        ([str(TRACES / "shop_passing"), "--host", "203.0.113.1", "--viewer", "playwright"], 2, "loopback"),
        ([str(TRACES / "shop_passing"), "--outcome", "x"], 2, "--viewer playwright"),
        ([str(TRACES / "shop_passing"), "--port", "70000"], 2, "70000"),
    ],
)
def test_what_cannot_be_shown_is_said(
    capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, problem: str
) -> None:
    """Before anything is served."""
    assert run_command(show_command, arguments, "eikon show") == status
    assert problem in capsys.readouterr().err


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With the extra that has it."""
    monkeypatch.setattr("eikon_engine.cli.show._LIBRARIES", ("no_such_library",))

    assert run_command(show_command, ["."], "eikon show") == 78
    assert "[ui]" in capsys.readouterr().err
