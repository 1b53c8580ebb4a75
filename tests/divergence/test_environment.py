"""The replay must re-create the settings of the environment; other properties may differ and are named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.divergence.comparison import StepPosition
from eikon_engine.divergence.detectors.environment import (
    GIVEN_PROPERTIES,
    detect_environment,
    environment_differences,
    is_environment_cause_unlikely,
    possible_environment_cause,
)
from eikon_engine.outcome.divergence import Divergence, Layer
from eikon_engine.trace.environment import Environment, Geolocation, PageEnvironment, Viewport

PLACE = StepPosition(subgoal="s__attempt_1", subgoal_id="s", sequence=1)
VIEW = PageEnvironment(
    user_agent="agent",
    languages=("de-DE",),
    locale="de-DE",
    timezone="Europe/Berlin",
    width=1280,
    height=720,
    screen_width=1280,
    screen_height=720,
    device_pixel_ratio=1.0,
    dark=False,
    reduced_motion=False,
    forced_colors=False,
    touch_points=0,
    cpu_count=2,
)
HERE = Environment(
    browser_version="156.0.1",
    playwright_version="1.65.2",
    platform="Linux x86_64",
    flags=("--one", "--two"),
    fonts_digest="a" * 64,
    browser_kind="headless-shell",
    clock_start_ms=0,
    random_seed=1,
    page_view=VIEW,
)
OTHER: dict[str, Any] = {
    "viewport": Viewport(width=1, height=1),
    "device_scale_factor": 2.0,
    "locale": "fr-FR",
    "timezone": "Asia/Tokyo",
    "user_agent": "another",
    "color_scheme": "dark",
    "reduced_motion": "reduce",
    "forced_colors": "active",
    "has_touch": True,
    "is_mobile": True,
    "permissions": ("midi",),
    "geolocation": Geolocation(latitude=1.0, longitude=2.0),
    "extra_http_headers": {"X-Shop": "1"},
    "cpu_count": 64,
    "device_memory_gb": 4.0,
    "clock_start_ms": 1,
    "clock": "natural",
    "random_seed": 2,
    "random_source": "script",
    "settle_ms": 1.0,
    "tick_ms": 1.0,
}


def changed(**parts: object) -> Environment:
    """Return the environment with some parts changed."""
    return HERE.model_copy(update=parts)


def finding(layer: Layer) -> Divergence:
    """Return a finding of a layer."""
    return Divergence(
        code="c", layer=layer, subgoal="s__attempt_1", subgoal_id="s", sequence=1, expected="", observed="", message=""
    )


@pytest.mark.parametrize(
    "name", sorted(set(Environment.model_fields) - set(GIVEN_PROPERTIES) - {"browser_name", "page_view"})
)
def test_each_setting_of_the_environment_is_compared(name: str) -> None:
    """A change of one setting is one finding in the environment layer, with both values."""
    other = OTHER[name]

    (found,) = detect_environment(PLACE, HERE, changed(**{name: other}))

    assert (found.code, found.layer) == ("environment-changed", "environment")
    assert found.expected == f"{name}: {getattr(HERE, name)}"
    assert found.observed == f"{name}: {other}"


@pytest.mark.parametrize("name", PageEnvironment.model_fields)
def test_each_value_that_pages_read_is_compared(name: str) -> None:
    """A page that reads a different value is one finding, even if all settings are equal."""
    recorded_value = getattr(VIEW, name)
    other = (
        not recorded_value
        if isinstance(recorded_value, bool)
        else recorded_value + 1
        if isinstance(recorded_value, int | float)
        else "other"
    )

    (found,) = detect_environment(PLACE, HERE, changed(page_view=VIEW.model_copy(update={name: other})))

    assert found.code == "environment-changed"
    assert found.observed == f"{name}: {other}"


@pytest.mark.parametrize("name", GIVEN_PROPERTIES)
def test_what_is_as_it_is_is_no_divergence_and_is_named(name: str) -> None:
    """A different browser or machine is not a divergence, and is listed in the outcome."""
    here = changed(**{name: ("--one", "--three") if name == "flags" else "other"})

    assert tuple(detect_environment(PLACE, HERE, here)) == ()
    (difference,) = environment_differences(HERE, here)
    assert difference.startswith(f"{name}: ")
    assert ("not comparable" in difference) == bool(GIVEN_PROPERTIES[name])


def test_differences_read_well() -> None:
    """Only differing flags and the beginning of a digest are shown."""
    here = changed(flags=("--two", "--three"), fonts_digest="", browser_version="157.0.2")

    assert environment_differences(HERE, here) == (
        "browser_version: 156.0.1 -> 157.0.2 (not comparable: pixels, text metrics)",
        "flags: --one -> --three (not comparable: pixels, text metrics)",
        "fonts_digest: aaaaaaaaaaaa -> unknown (not comparable: pixels, text metrics)",
    )


def test_values_that_were_not_recorded_are_not_compared() -> None:
    """In an older recording, missing values are neither findings nor differences; a recording without any is noted."""
    older = changed(page_view=None, browser_kind="")

    assert tuple(detect_environment(PLACE, older, HERE)) == ()
    assert environment_differences(older, HERE) == ()
    assert tuple(detect_environment(PLACE, None, HERE)) == ()
    assert "has no environment" in environment_differences(None, HERE)[0]


def test_another_environment_is_a_possible_cause_of_what_was_found() -> None:
    """Differing parts are named beside a finding, unless its layer does not involve a browser."""
    here = changed(playwright_version="1.66.0")

    assert possible_environment_cause(finding("dom"), HERE, here) == (
        "possible cause: the environment differs: playwright_version 1.65.2 -> 1.66.0"
    )
    assert possible_environment_cause(finding("dom"), HERE, HERE) is None
    assert possible_environment_cause(finding("skill"), HERE, here) is None
    assert possible_environment_cause(finding("environment"), HERE, here) is None
    assert possible_environment_cause(finding("network"), None, here) is not None


@pytest.mark.parametrize(
    ("version", "is_same"),
    [
        ("156.0.8078.114", True),
        ("156.0.8079.79", False),
        ("157.0.8078.79", False),
        ("156.0.8078", False),
        ("156.0.8078.79", False),
    ],
)
def test_releases_of_one_branch_differ_in_their_last_number(*, version: str, is_same: bool) -> None:
    """Whatever else differs, features may differ."""
    before = changed(browser_version="156.0.8078.79")
    here = changed(browser_version=version)
    first = finding("dom")

    assert is_environment_cause_unlikely(first, before, here) is is_same
    other_playwright = here.model_copy(update={"playwright_version": "1.66.0"})
    assert not is_environment_cause_unlikely(first, before, other_playwright)
    assert not is_environment_cause_unlikely(first, None, here)
    assert not is_environment_cause_unlikely(first, before, None)
    shown = first.model_copy(update={"observed": f"Chromium {version}"})
    assert not is_environment_cause_unlikely(shown, before, here)


@given(st.sets(st.sampled_from(sorted(OTHER))), st.sets(st.sampled_from(sorted(GIVEN_PROPERTIES))))
def test_findings_and_differences_never_mix(made: set[str], as_it_is: set[str]) -> None:
    """A difference in a re-created part is a finding; a difference in any other part is listed only."""
    parts = {name: OTHER[name] for name in made} | {name: ("--x",) if name == "flags" else "other" for name in as_it_is}
    here = changed(**parts)

    assert {each.expected.partition(":")[0] for each in detect_environment(PLACE, HERE, here)} == made
    assert {each.partition(":")[0] for each in environment_differences(HERE, here)} == as_it_is
