"""Recording options validate their values when they are created."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.errors import UsageError
from eikon_engine.record import AttachOptions, RecordOptions


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clock": "Natural"}, "clock: expected 'stepped' or 'natural', got 'Natural'. Did you mean 'natural'?"),
        ({"color_scheme": "blue"}, "color_scheme: expected 'light' or 'dark' or 'no-preference', got 'blue'."),
        ({"reduced_motion": True}, "reduced_motion: expected 'reduce' or 'no-preference', got True."),
        ({"forced_colors": None}, "forced_colors: expected 'active' or 'none', got None."),
        ({"headless": "no"}, "headless: expected True or False, got 'no'."),
        ({"settle_ms": -1}, "settle_ms: expected a finite number of milliseconds of at least 0, got -1."),
        (
            {"settle_ms": 10**400},
            "settle_ms: expected a finite number of milliseconds of at least 0, got a number of more",
        ),
        ({"settle_ms": math.nan}, "settle_ms: expected a finite number of milliseconds of at least 0, got nan."),
        ({"random_seed": 0}, "random_seed: expected an integer from 1 to 2147483647, got 0."),
        ({"random_seed": 2**31}, "random_seed: expected an integer from 1 to 2147483647, got 2147483648."),
        ({"device_scale_factor": -2.0}, "device_scale_factor: expected a finite number"),
        ({"viewport": (800, 600)}, "viewport: expected an instance of Viewport, got (800, 600)."),
        ({"permissions": "geolocation"}, "permissions: expected a tuple of names of permissions, got 'geolocation'."),
        ({"clock_start": 0}, "clock_start: expected an instance of datetime, got 0."),
        ({"storage_state": 3}, "storage_state: expected a path, got 3."),
        ({"variables": {"count": 3}}, "variables: expected strings as values, got int for 'count'."),
        ({"completion_client": print}, "completion_client: expected an object with a method complete()"),
        ({"now": 5}, "now: expected a function, got 5."),
    ],
)
def test_a_wrong_value_is_a_usage_error(options: dict[str, object], message: str) -> None:
    """The error is one line that names the option, the expected values and the wrong one."""
    with pytest.raises(UsageError) as raised:
        RecordOptions(**options)  # type: ignore[arg-type] # wrong on purpose

    assert raised.value.message.startswith(f"RecordOptions.{message}")
    assert "\n" not in raised.value.message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mission_id": 7}, "mission_id: expected a string, got 7."),
        ({"redact": None}, "redact: expected True or False, got None."),
        ({"redaction": "all"}, "redaction: expected an instance of RedactionRules, got 'all'."),
        ({"certify": True}, "certify: expected an instance of CertifyOptions, got True."),
        ({"skills": ()}, "skills: expected an instance of SkillRegistry, got ()."),
        ({"new_key": b"key"}, "new_key: expected a function, got b'key'."),
    ],
)
def test_a_wrong_value_for_an_attached_recording_is_a_usage_error(options: dict[str, object], message: str) -> None:
    """Options of agent recordings have the same validation messages."""
    with pytest.raises(UsageError) as raised:
        AttachOptions(**options)  # type: ignore[arg-type] # wrong on purpose

    assert raised.value.message.startswith(f"AttachOptions.{message}")


@pytest.mark.parametrize("kind", [RecordOptions, AttachOptions])
def test_a_secret_is_not_in_the_message(kind: type[RecordOptions | AttachOptions]) -> None:
    """The value of a malformed secret is not in the error."""
    with pytest.raises(UsageError) as raised:
        kind(secrets=["hunter2"])  # type: ignore[arg-type] # wrong on purpose

    assert raised.value.message == (
        f"{kind.__name__}.secrets: expected a mapping of strings to strings, got list. Pass a dict."
    )


def test_paths_may_be_given_as_text() -> None:
    """A path is converted to a `Path`."""
    options = RecordOptions(browser_path="/opt/chrome", storage_state=Path("state.json"))  # type: ignore[arg-type] # converted

    assert (options.browser_path, options.storage_state) == (Path("/opt/chrome"), Path("state.json"))


def test_certifying_may_be_skipped() -> None:
    """Both choices of `certify` are accepted."""
    assert AttachOptions(certify=None).certify is None
    assert AttachOptions(certify=CertifyOptions(runs=2)).certify is not None
