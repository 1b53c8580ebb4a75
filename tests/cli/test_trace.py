"""`eikon trace`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eikon_engine.cli.trace import trace_command
from eikon_engine.errors import EikonError, TraceFieldError, TraceSyntaxError, UsageError
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.patch import TracePatch
from eikon_engine.trace.trace_file import parse_trace, serialize_trace
from tests.error_codes import has_code
from tests.trace.test_patched_copy import contents

if TYPE_CHECKING:
    from click.testing import Result

TRACES = Path(__file__).parents[1] / "data" / "traces"
SHOP = TRACES / "shop_passing"
TYPE = "find_banana__attempt_1_action_003"
ATTEMPT = "find_banana__attempt_1"


def run(*arguments: str | Path) -> Result:
    """Run the command; its errors are raised."""
    result = CliRunner().invoke(trace_command, [str(each) for each in arguments], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy a bundle, and check afterwards that the original files are unchanged."""
    return Path(shutil.copytree(SHOP, tmp_path_factory.mktemp("edited") / "shop"))


def test_a_bundle_is_shown_in_three_forms() -> None:
    """A listing, one step as JSON, the whole trace as JSON."""
    listing = run("show", SHOP).stdout
    step = json.loads(run("show", SHOP, TYPE).stdout)
    whole = run("show", SHOP, "--json").stdout

    assert f"  003 {TYPE}  type #search ('Search') with 'banana'" in listing.splitlines()
    assert (step["id"], step["action"]["text"]) == (TYPE, "banana")
    assert parse_trace(whole, "shown") == open_bundle(SHOP).trace


def test_a_change_is_shown_and_nothing_is_written(shop: Path) -> None:
    """Without -o and --save, a diff is printed, with the reason for each result that becomes unknown."""
    before = contents(shop)

    shown = run("set", shop, TYPE, "action.text=Banana")

    assert {'-      "text": "banana",', '+      "text": "Banana",'} <= set(shown.stdout.splitlines())
    assert "the observations of 23 actions were dropped" in shown.stderr
    assert contents(shop) == before


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("set", TYPE, "action.text={{fruit}}", "--var", "fruit=banana"), '"fruit": "banana"'),
        (("set", "--var", "fruit"), '"fruit": null'),
        (("set", "mission_text=Buy fruit", "--reason", "shorter"), '"mission_text": "Buy fruit"'),
        (("set", ATTEMPT, "description=Look"), '"description": "Look"'),
        (("delete", TYPE, "check_cart__attempt_1"), "edited: delete check_cart__attempt_1 (manual edit)"),
        (("split", ATTEMPT, "--before", TYPE, "--description", "Search"), '"subgoal_id": "find_banana_2"'),
        (("merge", ATTEMPT, "add_to_cart__attempt_1", "--description", "Both"), '"description": "Both"'),
    ],
)
def test_an_edit_is_applied_to_a_copy_and_can_be_repeated(
    shop: Path, tmp_path: Path, arguments: tuple[str, ...], expected: str
) -> None:
    """The copy has the edit, the original bundle is unchanged, and the saved patch creates the same copy."""
    before = contents(shop)
    command, *rest = arguments

    run(command, shop, *rest, "-o", tmp_path / "copy", "--save", tmp_path / "patch.json")
    run("apply", shop, tmp_path / "patch.json", "-o", tmp_path / "again")

    copy = contents(tmp_path / "copy")
    assert expected in copy["trace.json"].decode()
    assert contents(tmp_path / "again") == copy
    assert contents(shop) == before
    assert open_bundle(tmp_path / "copy").trace.warnings[0].startswith("edited: ")
    assert TracePatch.model_validate_json((tmp_path / "patch.json").read_text()).operations


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("show", "BUNDLE", "nothing"), "trace-field"),
        (("show", "BUNDLE", TYPE, "--json"), "usage"),
        (("show", "missing"), "trace-missing"),
        (("set", "BUNDLE"), "usage"),
        (("set", "BUNDLE", TYPE), "usage"),
        (("set", "BUNDLE", TYPE, "action.text=banana"), "usage"),
        (("set", "BUNDLE", TYPE, "action.text"), "usage"),
        (("set", "BUNDLE", TYPE, "action.page=-1"), "trace-field"),
        (("set", "BUNDLE", TYPE, "action.text=a", "--var", "two words"), "usage"),
        (("set", "BUNDLE", TYPE, "action.text=a", "--var", "x=\udcff"), "usage"),
        (("set", "BUNDLE", "mission_text=\udcff"), "usage"),
        (("set", "BUNDLE", TYPE, "action.text=a", "--save", "BUNDLE"), "output-not-writable"),
        (("delete", "BUNDLE", "nothing"), "trace-field"),
        (("delete", "BUNDLE", TYPE, TYPE), "trace-field"),
        (("split", "BUNDLE", ATTEMPT, "--before", TYPE, "--description", "\udcff"), "usage"),
        (("split", "BUNDLE", TYPE, "--before", TYPE, "--description", "x"), "trace-field"),
        (("merge", "BUNDLE", ATTEMPT, ATTEMPT), "trace-field"),
        (("apply", "BUNDLE", "missing"), "trace-missing"),
        (("apply", "BUNDLE", "BUNDLE"), "trace-missing"),
    ],
)
def test_what_cannot_be_done_is_one_line(shop: Path, tmp_path: Path, arguments: tuple[str, ...], code: str) -> None:
    """Nothing is written, and the message is one line."""
    before = contents(shop)
    given = [str(shop) if each == "BUNDLE" else each for each in arguments]
    ways = [] if arguments[0] == "show" else ["-o", str(tmp_path / "copy")]

    with pytest.raises(EikonError, check=has_code(code)) as caught:
        run(*given, *ways)

    assert "\n" not in caught.value.message
    assert contents(shop) == before


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (('{"type": "press"}', "--before", TYPE), TraceFieldError, "ACTION: key"),
        (("press", "--before", TYPE), TraceSyntaxError, "ACTION"),
        (('{"type": "jump"}', "--before", TYPE), TraceFieldError, "ACTION: type"),
        (('{"type": "press", "key": "Tab"}',), UsageError, "got neither"),
        (('{"type": "press", "key": "Tab"}', "--before", TYPE, "--after", TYPE), UsageError, "got both"),
        (('{"type": "press", "key": "Tab"}', "--before", TYPE, "--id", TYPE), TraceFieldError, "which is taken"),
    ],
)
def test_an_insertion_that_is_none_is_refused(
    arguments: tuple[str, ...], error: type[EikonError], message: str
) -> None:
    """The message is one line with the expected and the actual value."""
    with pytest.raises(error, match=message):
        run("insert", SHOP, *arguments)


def test_an_action_is_inserted_into_a_copy(tmp_path: Path) -> None:
    """It gets its own id, and is at the requested position."""
    run("insert", SHOP, '{"type": "press", "key": "Tab"}', "--after", TYPE, "-o", tmp_path / "copy")

    steps = open_bundle(tmp_path / "copy").trace.subgoal_traces[1].steps
    assert [step.id for step in steps][2:4] == [TYPE, "find_banana__attempt_1_inserted_001"]


def test_braces_around_an_undeclared_name_are_a_warning() -> None:
    """An undeclared name is typed literally, with a warning."""
    assert "{{fruit}} is not a variable" in run("set", SHOP, TYPE, "action.text={{fruit}}").stderr


def test_an_older_trace_can_be_edited(tmp_path: Path) -> None:
    """The copy is written in the current format."""
    old = TRACES / "old_format"
    before = contents(old)

    run("set", old, "mission_text=Other", "-o", tmp_path / "copy")

    assert open_bundle(tmp_path / "copy").trace.mission_text == "Other"
    assert contents(old) == before


STEPS = st.sampled_from([TYPE, ATTEMPT, "find_banana__attempt_1_action_006", "compare_prices__attempt_1", "gone"])
LINES = st.one_of(
    st.tuples(st.just("delete"), STEPS),
    st.tuples(st.just("set"), STEPS, st.sampled_from(["action.text=x", "description=x", "action.target.selector=#x"])),
    st.tuples(st.just("set"), STEPS, st.just("action.text={{a}}"), st.just("--var"), st.sampled_from(["a", "a=x"])),
    st.tuples(st.just("split"), STEPS, st.just("--before"), STEPS, st.just("--description"), st.just("x")),
    st.tuples(st.just("merge"), STEPS, STEPS),
    st.tuples(
        st.just("insert"), st.just('{"type": "press", "key": "Tab"}'), st.sampled_from(["--before", "--after"]), STEPS
    ),
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES, min_size=1, max_size=3))
def test_any_sequence_of_commands_makes_bundles(
    shop: Path, tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[str, ...]]
) -> None:
    """Each copy is a readable bundle, and its source is unchanged."""
    folder = tmp_path_factory.mktemp("copies")
    bundle, original = shop, contents(shop)
    for number, (command, *rest) in enumerate(lines):
        before = contents(bundle)
        try:
            run(command, bundle, *rest, "-o", folder / str(number))
        except EikonError:
            assert not (folder / str(number)).exists()
            continue
        assert contents(bundle) == before
        bundle = folder / str(number)
        opened = open_bundle(bundle)
        opened.verify()
        assert serialize_trace(opened.trace) == written_trace(bundle)

    assert contents(shop) == original


def written_trace(bundle: Path) -> bytes:
    """Return the written trace."""
    return (bundle / "trace.json").read_bytes()
