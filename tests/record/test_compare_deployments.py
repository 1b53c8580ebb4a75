"""Two deployments are compared with a mission: what base varies by itself is not held against head."""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from itertools import count, cycle
from shutil import copytree
from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.outcome.comparison import DeploymentComparison
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.trace.actions import Click, Fill, Navigate, SecretRef
from eikon_engine.trace.steps import map_actions
from eikon_engine.trace.target import Target
from eikon_engine.trace.trace_file import TRACE_FILE, read_trace, write_trace
from tests.browser.pages import Answer, serve_pages
from tests.commands import run_here
from tests.replay.test_rules_of_other_networks import DrawingSite, record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from subprocess import CompletedProcess

    from tests.browser.pages import Asked, PageSite

pytestmark = pytest.mark.browser

TIMEOUT_S = 60

SHOP = """<!doctype html><title>Shop</title><h1 id=user></h1><p id=price>{price} EUR</p>
<form method=post action=/order><input type=hidden name=csrf value={token}><button id=order>{button}</button></form>
<aside>{advertisement}</aside><script>user.textContent = localStorage.user</script>"""
WARES = ("tea", "coffee", "bread", "a boat", "an island", "nothing at all")
ORDERED = "<!doctype html><title>Thanks</title><h1>Ordered for {price} EUR</h1><footer>{advertisement}</footer>{more}"


@contextmanager
def shop(
    *, price: int = 3, button: str = "Order", more: Callable[[int], str] = lambda _visit: ""
) -> Iterator[PageSite]:
    """Serve a shop that shows other tokens and advertisements at each visit."""
    words, visits = (f"Buy {secrets.choice(WARES)} {word}" for word in cycle(("now!", "soon.", "here"))), count(1)

    def start(_asked: Asked) -> Answer:
        page = SHOP.format(price=price, token=secrets.token_hex(16), button=button, advertisement=next(words))
        return Answer(body=page)

    def order(_asked: Asked) -> Answer:
        return Answer(body=ORDERED.format(price=price, advertisement=next(words), more=more(next(visits))))

    with serve_pages() as site:
        site.answers |= {"/": start, "/order": order, "/count": Answer(body="ok")}
        yield site


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record an order in a deployment that is gone when the others are compared."""
    folder = tmp_path_factory.mktemp("shop")
    with shop(price=9) as site:
        asyncio.run(_order(folder, site.url))
    return folder / "bundle"


async def _order(folder: Path, url: str) -> None:
    state = {"cookies": [], "origins": [{"origin": url, "localStorage": [{"name": "user", "value": "Ada"}]}]}
    (folder / "state.json").write_text(json.dumps(state))
    options = RecordOptions(storage_state=folder / "state.json")
    recorder = open_recorder(folder / "bundle", mission_text="Order", mission_id="order", options=options)
    async with recorder as mission, mission.subgoal("Order", subgoal_id="order"):
        await mission.perform(Navigate(url=url))
        await mission.perform(Click(target=Target(selector="#order")))


def compare(bundle: Path, folder: Path, *options: str) -> CompletedProcess[str]:
    """Run the command."""
    given = ("--artifacts-dir", folder / "artifacts", "--runs", "2", "--json")
    return run_here(eikon, ["compare", bundle, *given, *options], "eikon")


def compare_sites(bundle: Path, folder: Path, base: PageSite, head: PageSite) -> DeploymentComparison:
    """Compare two sites."""
    ended = compare(bundle, folder, "--base", base.url, "--head", head.url)
    comparison = DeploymentComparison.model_validate_json(ended.stdout)
    assert ended.returncode == comparison.exit_status
    assert f"order: {comparison.status}, head {head.url}, base {base.url}" in ended.stderr
    return comparison


def test_equal_deployments_are_the_same_whatever_they_vary(bundle: Path, tmp_path: Path) -> None:
    """Tokens and advertisements are not compared; neither the recorded price nor its age matters."""
    before = (bundle / TRACE_FILE).read_bytes()
    with shop() as base, shop() as head:
        comparison = compare_sites(bundle, tmp_path, base, head)

    assert comparison.status == "same", comparison.reasons
    assert comparison.noise == ()
    assert any("aside" in each for each in comparison.learned)
    assert (bundle / TRACE_FILE).read_bytes() == before


def test_what_head_does_differently_is_explained(bundle: Path, tmp_path: Path) -> None:
    """The changed button is found, and nothing of what varies anyway; the values are those of base and head."""
    with shop() as base, shop(button="Pay now") as head:
        comparison = compare_sites(bundle, tmp_path, base, head)

    assert comparison.status == "different"
    assert comparison.outcome is not None
    (found,) = comparison.outcome.divergences
    assert (found.sequence, found.code) == (1, "dom-changed")
    assert "aside" not in found.detail
    assert comparison.outcome.explanation is not None
    assert "showed 'Pay now' instead of 'Order'" in comparison.outcome.explanation.sentence
    assert (tmp_path / "artifacts" / "replay_summary.txt").is_file()


def test_a_missing_secret_is_found_before_base_is_reset(bundle: Path, tmp_path: Path) -> None:
    """No deployment is visited: nothing listens there."""
    typing = Fill(target=Target(selector="#order"), text=SecretRef(secret="PASSWORD"))
    copy = copytree(bundle, tmp_path / "b")
    changed = map_actions(
        read_trace(copy),
        lambda each: each.model_copy(update={"action": typing}) if isinstance(each.action, Click) else each,
    )
    write_trace(changed, copy / TRACE_FILE)

    urls = ("--base", "http://127.0.0.1:1", "--head", "http://127.0.0.1:2")
    ended = compare(copy, tmp_path, *urls, "--base-reset-cmd", f"touch {tmp_path / 'reset'}")

    assert ended.returncode == 78
    assert "secret PASSWORD was not provided" in ended.stderr
    assert not (tmp_path / "reset").exists()


def test_the_mission_uses_the_ids_of_each_deployment(tmp_path: Path) -> None:
    """It follows a link whose id, which a rule names, is another one on base than in the recording, and on head."""
    with serve_pages() as one, serve_pages() as other:
        base, head = DrawingSite(one), DrawingSite(other)
        recorded = record(base, tmp_path / "b")
        head.draw_from(77)
        options = ("--base", one.url, "--head", other.url)
        same = compare(recorded, tmp_path, *options)
        head.greeting = "Goodbye"
        changed = compare(recorded, tmp_path, *options)

    found = [DeploymentComparison.model_validate_json(each.stdout) for each in (same, changed)]
    assert found[0].status == "same", found[0].reasons
    assert found[1].status == "different"
    assert found[1].outcome is not None
    assert "Goodbye" in found[1].outcome.divergences[0].detail


def test_an_imported_recording_without_observations_is_compared(tmp_path: Path) -> None:
    """A recording of Chrome DevTools says what was done, and nothing of what pages showed."""
    steps = [
        {"type": "navigate", "url": "http://127.0.0.1:9/"},
        {"type": "click", "selectors": [["#order"]], "offsetX": 5, "offsetY": 5},
    ]
    recording = tmp_path / "order.json"
    recording.write_text(json.dumps({"title": "order", "steps": steps}))
    assert run_here(eikon, ["import", recording, "-o", tmp_path / "imported"], "eikon").returncode == 0
    with shop() as base, shop(button="Pay now") as head:
        same = compare_sites(tmp_path / "imported", tmp_path, base, base)
        other = compare_sites(tmp_path / "imported", tmp_path, base, head)

    assert (same.status, other.status) == ("same", "different")
    assert other.outcome is not None
    assert other.outcome.explanation is not None
    assert "showed 'Pay now' instead of 'Order'" in other.outcome.explanation.sentence


def test_a_mission_that_fails_on_base_is_not_tried_on_head(bundle: Path, tmp_path: Path) -> None:
    """There is nothing to compare head with."""
    with serve_pages() as base, serve_pages() as head:
        base.answers["/"] = Answer(body="<!doctype html><title>Closed</title>")
        comparison = compare_sites(bundle, tmp_path, base, head)

    assert comparison.status == "unverifiable"
    assert "the mission already fails on base" in comparison.reasons[0]
    assert comparison.outcome is None
    assert head.asked == []


def count_every_other(visit: int) -> str:
    """Return a script that sends a request at every other visit."""
    return "<script>fetch('/count')</script>" if visit % 2 else "<!-- nothing -->"


@pytest.mark.parametrize(("button", "status"), [("Pay now", "different"), ("Order", "unverifiable")])
def test_a_base_that_differs_from_itself_proves_nothing_from_there_on(
    bundle: Path, tmp_path: Path, button: str, status: str
) -> None:
    """A difference before the place where base varies is one; a later one may be chance."""
    with shop(more=count_every_other) as base, shop(price=4 if button == "Order" else 3, button=button) as head:
        if button == "Order":
            start = base.answers["/"]
            head.answers["/"] = start
        comparison = compare_sites(bundle, tmp_path, base, head)

    assert comparison.status == status, comparison.reasons
    assert comparison.noise
    assert any("aside" in each for each in comparison.learned)
    if status == "unverifiable":
        assert comparison.reasons[0].startswith("base already varies at or before this step: click #order")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--base", "http://a.example/shop", "--head", "http://b.example"), "--base: expected a URL without a path"),
        (("--base", "a.example", "--head", "http://b.example"), "--base: expected an absolute http or https URL"),
        (("--base", "http://a.example", "--head", "http://x.example=http://b.example"), "to replace the same URLs"),
        (("--base", "http://a.example"), "Missing option '--head'"),
        (
            ("--base", "http://a.example", "--base", "http://c.example", "--head", "http://b.example"),
            "has two new URLs",
        ),
        (
            ("--base", "http://a=http://", "--head", "http://a=http://b"),
            "--base: expected an absolute http or https URL",
        ),
        (
            ("--base", "http://typo=http://a", "--head", "http://typo=http://b"),
            "http://typo does not occur in the mission",
        ),
        (
            ("--base", "http://a", "--head", "http://b", "--base-storage-state", "state.json"),
            "expected a storage state for both deployments or for none",
        ),
    ],
)
def test_wrong_addresses_are_refused(bundle: Path, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    """One line says what was expected, and nothing is visited."""
    ended = compare(bundle, tmp_path, *options)

    assert ended.returncode == 2
    assert message in ended.stderr
    assert not (tmp_path / "artifacts").exists()


def test_ctrl_c_while_a_page_loads_leaves_one_line(bundle: Path, tmp_path: Path) -> None:
    """The navigation that fails when its browser closes is not reported as well."""
    artifacts = tmp_path / "artifacts"
    with socket.create_server(("127.0.0.1", 0)) as site:
        url = f"http://127.0.0.1:{site.getsockname()[1]}"
        command = ["compare", str(bundle), f"--artifacts-dir={artifacts}", f"--base={url}", f"--head={url}"]
        with subprocess.Popen(
            [sys.executable, "-m", "eikon_engine", *command], stderr=subprocess.PIPE, text=True
        ) as process:
            site.settimeout(TIMEOUT_S)
            connection, _ = site.accept()
            with connection:
                connection.settimeout(TIMEOUT_S)
                assert connection.recv(1)
                process.send_signal(signal.SIGINT)
                _, said = process.communicate(timeout=TIMEOUT_S)

    assert process.returncode == 130
    assert said.splitlines()[1:] == ["eikon: stopped by the user (code interrupted)"]
    assert not artifacts.exists()
