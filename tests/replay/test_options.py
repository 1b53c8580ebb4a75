"""Options validate their values when they are created."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine import ExecutionTraceSerializer, ReplayOptions, RunOptions
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.errors import UsageError
from eikon_engine.replay.options import ProceedAlways
from eikon_engine.scenario.options import ScenarioOptions
from eikon_engine.trace.masks import Mask, TextPart

if TYPE_CHECKING:
    from collections.abc import Callable

TRACES = Path(__file__).resolve().parents[1] / "data" / "traces"
MASK = Mask(name="clock", part=TextPart(path="** > time"), reason="it ticks")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"network": "Sealed"},
            (
                "ReplayOptions.network: expected 'sealed' or 'live' or 'snapshot' or 'recorded-api', got 'Sealed'. "
                "Did you mean 'sealed'?"
            ),
        ),
        ({"policy": "lax"}, "ReplayOptions.policy: expected 'strict' or 'effects', got 'lax'. Use one of these."),
        ({"policy": None}, "ReplayOptions.policy: expected 'strict' or 'effects', got None. Use one of these."),
        (
            {"on_divergence": "contiune"},
            "ReplayOptions.on_divergence: expected 'stop' or 'continue', got 'contiune'. Did you mean 'continue'?",
        ),
        (
            {"then_network": "snapshot"},
            "ReplayOptions.then_network: expected 'sealed' or 'live', got 'snapshot'. Use one of these.",
        ),
        (
            {"from_step": 0},
            "ReplayOptions.from_step: expected an integer of at least 1, got 0. Steps are numbered from 1.",
        ),
        (
            {"plan_digest": "abc"},
            (
                "ReplayOptions.plan_digest: expected the 64 hex digits of a SHA-256, got 'abc'. "
                "Copy it from the outcome of an earlier run."
            ),
        ),
        (
            {"from_step": 10**5000},
            (
                "ReplayOptions.from_step: expected an integer of at least 1, got a number of more than 19 digits. "
                "Steps are numbered from 1."
            ),
        ),
        ({"headless": "no"}, "ReplayOptions.headless: expected True or False, got 'no'. Pass a bool."),
        (
            {"base_urls": ["http://a=http://b"]},
            "ReplayOptions.base_urls: expected a mapping of strings to strings, got list. Pass a dict.",
        ),
        (
            {"variables": {"count": 3}},
            "ReplayOptions.variables: expected strings as values, got int for 'count'. Pass the value as text.",
        ),
        (
            {"masks": ("clock",)},
            "ReplayOptions.masks: expected masks of type Mask, got 'clock'. Correct or remove this item.",
        ),
        (
            {"har": b"site.har"},
            "ReplayOptions.har: expected a path, got b'site.har'. Pass a str or a pathlib.Path.",
        ),
        ({"artifacts_dir": ""}, "ReplayOptions.artifacts_dir: expected a path, got ''. Pass a str or a pathlib.Path."),
        (
            {"gates": "gates.yaml"},
            (
                "ReplayOptions.gates: expected an object with a method monitor(), got 'gates.yaml'. "
                "Read a file of gates with read_gates_file(…)."
            ),
        ),
        (
            {"controller": ProceedAlways},
            (
                "ReplayOptions.controller: expected an object with a method decide(), got "
                "<class 'eikon_engine.replay.options.ProceedAlways'>. Pass an instance of a Controller."
            ),
        ),
        ({"readers": print}, "ReplayOptions.readers: expected a tuple of functions, got <built-in function print>."),
    ],
)
def test_a_wrong_value_is_refused_at_once(options: dict[str, object], message: str) -> None:
    """A value that an option does not accept is a `UsageError` that names the option, both values and the remedy."""
    with pytest.raises(UsageError) as raised:
        ReplayOptions(**options)  # type: ignore[arg-type] # wrong values

    assert raised.value.message.startswith(message)


@pytest.mark.parametrize("timeout", [-1, 0, math.inf, math.nan, "5", True])
def test_a_timeout_is_a_finite_number_above_zero(timeout: object) -> None:
    """No other timeout reaches an action, where it would look like a divergence."""
    with pytest.raises(UsageError, match=r"timeout_ms: expected a finite number of milliseconds above 0, got .*Omit"):
        ReplayOptions(timeout_ms=timeout)  # type: ignore[arg-type] # wrong values


def test_a_message_shows_no_secret() -> None:
    """A wrong mapping of secrets is refused without showing its values."""
    for secrets in ("PASSWORD=hunter22", {"PASSWORD": b"hunter22"}):
        with pytest.raises(UsageError) as raised:
            ReplayOptions(secrets=secrets)  # type: ignore[arg-type] # wrong values

        assert "hunter22" not in raised.value.message


def test_paths_are_text_or_path_objects() -> None:
    """Each path of the options may be given as text, and is a `Path` afterwards."""
    names = ("browser_path", "artifacts_dir", "har", "responses_from", "storage_state")
    text = ReplayOptions(**dict.fromkeys(names, "some/file"))  # type: ignore[arg-type] # text for paths

    assert {getattr(text, name) for name in names} == {Path("some/file")}


def test_lists_become_tuples() -> None:
    """A list is accepted and converted."""
    options = ReplayOptions(masks=[MASK], readers=[print])  # type: ignore[arg-type] # lists for tuples

    assert (options.masks, options.readers) == ((MASK,), (print,))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CertifyOptions(runs=1), "CertifyOptions.runs: expected an integer of at least 2, got 1."),
        (lambda: CertifyOptions(parallel=0), "CertifyOptions.parallel: expected an integer of at least 1, got 0."),
        (lambda: CertifyOptions(network="life"), "got 'life'. Did you mean 'live'?"),  # type: ignore[arg-type] # wrong
        (lambda: ScenarioOptions(run_id="a/b"), "ScenarioOptions.run_id: expected at most 100 letters, digits,"),
        (lambda: ScenarioOptions(tools=[len]), "ScenarioOptions.tools: expected an instance of ToolBox, got"),  # type: ignore[arg-type] # wrong
        (lambda: RunOptions(allowed="search"), "RunOptions.allowed: expected a tuple of names of tools, got 'search'."),  # type: ignore[arg-type] # wrong
        (lambda: RunOptions(redact=0), "RunOptions.redact: expected True or False, got 0."),  # type: ignore[arg-type] # wrong
    ],
)
def test_other_options_are_checked_alike(make: Callable[[], object], message: str) -> None:
    """Options of certifications, scenarios and agent runs refuse wrong values when they are made."""
    with pytest.raises(UsageError) as raised:
        make()

    assert message in raised.value.message


def test_options_of_scenarios_accept_paths_as_text() -> None:
    """The parent folder of runs and the browser may be given as text."""
    options = ScenarioOptions(runs="runs", browser_path="/bin/chrome")  # type: ignore[arg-type] # text for paths

    assert (options.runs, options.browser_path) == (Path("runs"), Path("/bin/chrome"))


def test_a_trace_is_read_from_a_path_given_as_text(tmp_path: Path) -> None:
    """The serializer reads and writes traces at text paths and at path objects alike."""
    trace = ExecutionTraceSerializer.read_trace(str(TRACES / "shop_passing"))
    ExecutionTraceSerializer.write_trace(trace, str(tmp_path))

    assert ExecutionTraceSerializer.read_trace(TRACES / "shop_passing") == trace
    assert ExecutionTraceSerializer.read_trace(tmp_path) == trace
