"""A replay has the recorded environment, and differences from it are found first."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.dom import render_plain_html
from eikon_engine.errors import RequirementError, UsageError
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.trace.actions import Click, Navigate
from eikon_engine.trace.bundle import load_page, open_bundle
from eikon_engine.trace.environment import Geolocation, Viewport
from tests.browser.pages import Answer, Asked, PageSite, serve_pages
from tests.error_codes import has_code
from tests.missions.shop import css
from tests.record.test_recording import everything_in
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.browser

REPORT = """<!doctype html><title>Report</title><button>Where</button><pre></pre><script>
const show = text => { document.querySelector('pre').textContent += text + '\\n'; };
for (const query of ['prefers-reduced-motion: reduce', 'forced-colors: active', 'prefers-color-scheme: dark'])
  show(`${query} ${matchMedia(`(${query})`).matches}`);
show(`touch ${navigator.maxTouchPoints}`);
show(`agent ${navigator.userAgent}`);
show(`processors ${navigator.hardwareConcurrency} memory ${navigator.deviceMemory}`);
document.querySelector('button').onclick = () => navigator.geolocation.getCurrentPosition(
  ({ coords }) => show(`at ${coords.latitude} ${coords.longitude}`), error => show(error.message));
</script>"""
CHOSEN = RecordOptions(
    user_agent="Shopper/1",
    reduced_motion="reduce",
    forced_colors="active",
    has_touch=True,
    permissions=("geolocation",),
    geolocation=Geolocation(latitude=52.5, longitude=13.4),
    extra_http_headers={"X-Shop-Key": "key swordfish-7"},
    secrets={"KEY": "swordfish-7"},
)


def record(directory: Path, site: PageSite, options: RecordOptions) -> None:
    """Record a page that reads its position."""

    async def recorded() -> None:
        async with open_recorder(directory, mission_text="Look", options=options) as mission, mission.subgoal("Look"):
            await mission.perform(Navigate(url=f"{site.url}/report"))
            await mission.perform(Click(target=css("button")))

    site.answers["/report"] = Answer(body=REPORT)
    SHARED.run(recorded())


def change(bundle: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Change the environment of a recorded trace."""
    path = bundle / "trace.json"
    trace = json.loads(path.read_text(encoding="utf-8"))
    edit(trace["environment"])
    path.write_text(json.dumps(trace), encoding="utf-8")


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Asked, ...]]:
    """Record one mission with every option set; return its bundle and the requests of the site."""
    folder = tmp_path_factory.mktemp("chosen")
    with serve_pages() as site:
        record(folder / "b", site, CHOSEN)
        return folder / "b", tuple(site.asked)


def copied(bundle: Path, folder: Path) -> Path:
    """Return a copy of a bundle."""
    copy = folder / "copy"
    for path in bundle.rglob("*"):
        if path.is_file():
            target = copy / path.relative_to(bundle)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return copy


def test_a_page_sees_the_chosen_environment(chosen: tuple[Path, tuple[Asked, ...]], tmp_path: Path) -> None:
    """The page shows every option, the site gets the header, no file has its secret, and the bundle replays."""
    bundle, asked = chosen
    trace = open_bundle(bundle).trace
    observation = trace.subgoal_traces[0].actions_taken[-1].observation
    assert observation is not None
    snapshot = load_page(open_bundle(bundle).dom, observation.pages[0])
    assert snapshot is not None
    page = render_plain_html(snapshot.main)

    outcome = replay(bundle, tmp_path / "run", secrets={"KEY": "another"})

    for line in (
        "reduced-motion: reduce true",
        "forced-colors: active true",
        "dark false",
        "touch 1",
        "agent Shopper/1",
    ):
        assert line in page
    assert "at 52.5 13.4" in page
    assert asked[0].header("X-Shop-Key") == "key swordfish-7"
    assert b"swordfish-7" not in everything_in(bundle)
    assert outcome.environment_differences == ()
    assert outcome.verdict == "faithful"


def test_a_mobile_device_is_replayed(tmp_path: Path) -> None:
    """A dark mobile device with a larger scale is the same to an empty page in the replay."""
    telephone = RecordOptions(
        viewport=Viewport(width=390, height=844),
        device_scale_factor=3.0,
        is_mobile=True,
        has_touch=True,
        locale="de-DE",
    )
    with serve_pages() as site:
        record(tmp_path / "b", site, replace(telephone, color_scheme="dark", timezone="Asia/Tokyo"))

    outcome = replay(tmp_path / "b", tmp_path / "run")

    told = open_bundle(tmp_path / "b").trace.environment
    assert told is not None
    assert told.page_view is not None
    assert (told.page_view.screen_width, told.page_view.device_pixel_ratio) == (390, 3.0)
    assert (told.page_view.dark, told.page_view.timezone, told.page_view.locale) == (True, "Asia/Tokyo", "de-DE")
    assert outcome.environment == told
    assert outcome.verdict == "faithful"


def test_the_recorded_processor_count_is_replayed(chosen: tuple[Path, tuple[Asked, ...]], tmp_path: Path) -> None:
    """A page of a machine with 99 processors sees 99 again."""
    bundle = copied(chosen[0], tmp_path)

    def edit(environment: dict[str, Any]) -> None:
        environment["cpu_count"] = environment["page_view"]["cpu_count"] = 99

    change(bundle, edit)

    outcome = replay(bundle, tmp_path / "run", on_divergence="continue", secrets={"KEY": "another-one"})

    assert outcome.environment is not None
    assert outcome.environment.page_view is not None
    assert outcome.environment.page_view.cpu_count == 99
    assert {each.layer for each in outcome.divergences} == {"dom"}


def test_a_different_environment_is_found_before_any_action(
    chosen: tuple[Path, tuple[Asked, ...]], tmp_path: Path
) -> None:
    """Another time zone is the first divergence, and no action is performed."""
    bundle = copied(chosen[0], tmp_path)
    change(bundle, lambda environment: environment["page_view"].update(timezone="Europe/Berlin"))

    outcome = replay(bundle, tmp_path / "run", secrets={"KEY": "another-one"})

    (found,) = outcome.divergences
    assert (found.layer, found.code) == ("environment", "environment-changed")
    assert (found.expected, found.observed) == ("timezone: Europe/Berlin", "timezone: UTC")
    assert outcome.subgoals[0].steps[0].result is None
    assert outcome.network.served == 0
    assert "environment-changed" in (tmp_path / "run" / "replay_summary.txt").read_text(encoding="utf-8")


def test_another_browser_is_noted_and_named_beside_a_divergence(
    chosen: tuple[Path, tuple[Asked, ...]], tmp_path: Path
) -> None:
    """A faithful replay has a note; a divergence names it as a possible cause."""
    bundle = copied(chosen[0], tmp_path)
    change(bundle, lambda environment: environment.update(browser_version="99.0.1"))

    same = replay(bundle, tmp_path / "same", secrets={"KEY": "another-one"})
    trace = (bundle / "trace.json").read_text(encoding="utf-8")
    (bundle / "trace.json").write_text(trace.replace('"title": "Report"', '"title": "Other"'), encoding="utf-8")
    other = replay(bundle, tmp_path / "other", secrets={"KEY": "another-one"})

    assert same.verdict == "faithful"
    assert "browser_version: 99.0.1 -> " in " ".join(same.environment_differences)
    assert other.divergences[0].code == "title-changed"
    assert "possible cause: the environment differs: browser_version 99.0.1" in other.reasons[1]


def test_a_header_with_a_secret_requires_its_value(chosen: tuple[Path, tuple[Asked, ...]], tmp_path: Path) -> None:
    """A live replay requires the value, a sealed one does not."""
    with pytest.raises(RequirementError, match="KEY", check=has_code("secret-missing")):
        replay(chosen[0], tmp_path / "run", secrets={}, network="live")
    assert not (tmp_path / "run").exists()

    assert replay(chosen[0], tmp_path / "run", secrets={}).verdict == "faithful"


@pytest.mark.parametrize(
    "options",
    [
        RecordOptions(permissions=("fly",)),
        RecordOptions(timezone="Mars/Olympus"),
        RecordOptions(extra_http_headers={"a b": "c"}),
    ],
    ids=["permission", "timezone", "header"],
)
def test_an_option_that_the_browser_rejects_is_a_usage_error(tmp_path: Path, options: RecordOptions) -> None:
    """It is one line, and there is no bundle."""
    with serve_pages() as site, pytest.raises(UsageError, match=r"^RecordOptions: [^\n]+$"):
        record(tmp_path / "b", site, options)

    assert not (tmp_path / "b").exists()
