"""Tool calls are recorded as fixtures, and replayed without executing anything."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from eikon_engine.errors import ReplayError, RequirementError, ResultNotStorableError, ToolArgumentsError, ToolError
from eikon_engine.files.blobs import BlobStore
from eikon_engine.scenario.fixtures import (
    Fixture,
    FixtureFolder,
    ToolResultValue,
    args_hash,
    read_digested,
    restore_result,
    store_result,
)
from eikon_engine.scenario.replayed_calls import ReplayingCalls
from eikon_engine.scenario.tool_box import ToolBox
from tests.error_codes import has_code
from tests.scenario.fixture_calls import NOON, Counter, echo, files, record, replayed


def picture() -> dict[str, ToolResultValue]:
    """Return bytes."""
    return {"png": b"\x89PNG\0", "all": [b"", b"\xff"]}


def fail(why: str = "no reason") -> None:
    """Fail."""
    raise LookupError(why)


@pytest.mark.parametrize(
    ("args", "text", "digest"),
    [
        ({}, "{}", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"),
        (
            {"url": "https://shop.test/?q=banana"},
            '{"url":"https://shop.test/?q=banana"}',
            "95b2e5151085fb254b8afecfa273e82154d0a3c49a5c1e3293d323b43e483fcc",
        ),
        (
            {"b": [1, 2.5, 1e21, 1e-7, 0.1], "a": {"\u20ac": "\U0001f600", "\r": None, "\u00f6": True}},
            '{"a":{"\\r":null,"\u00f6":true,"\u20ac":"\U0001f600"},"b":[1,2.5,1e+21,1e-7,0.1]}',
            "63e06269156952c73639bb9ec2e41688ce95a2e641188539ef235a64f8800f85",
        ),
        ({"n": 1}, '{"n":1}', "2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd"),
        ({"n": 1.0}, '{"n":1}', "2bfd14f43d17fc7cea24e0917a8879b4b2f880b8baeec1b9d90fbaad655e71bd"),
    ],
)
def test_hashes_are_those_of_the_specification(args: dict[str, JsonValue], text: str, digest: str) -> None:
    """The hashes equal those in the specification."""
    assert hashlib.sha256(text.encode()).hexdigest() == digest
    assert args_hash(args) == digest


@pytest.mark.parametrize("value", [2**53, float("nan"), float("inf"), "\ud800", {"\ud800": 1}, {1: 2}, b"", {1}])
def test_values_without_canonical_json_have_no_hash(value: JsonValue) -> None:
    """Values that canonical JSON cannot represent have no hash."""
    with pytest.raises(ToolArgumentsError, match="expected arguments that canonical JSON"):
        args_hash({"value": value})


def test_repeated_calls_replay_in_order_and_a_fourth_is_missed(tmp_path: Path) -> None:
    """Repeated calls are replayed in order, and a fourth one is a miss."""
    tool = Counter().next_number
    folder = record(tmp_path, ToolBox.of(tool), lambda box: [box.call("next_number") for _ in range(3)])

    box, calls = replayed(folder)

    assert [box.call("next_number") for _ in range(3)] == [1, 2, 3]
    calls.close()
    with pytest.raises(
        RequirementError,
        match=r"no fixture for call 4 \(next_number {}\): it was recorded 3 times",
        check=has_code("fixture-missing"),
    ):
        box.call("next_number")


def test_a_replay_executes_and_writes_nothing(tmp_path: Path) -> None:
    """A replay neither executes tools nor writes files."""
    counter = Counter()
    folder = record(tmp_path, ToolBox.of(counter.next_number), lambda box: box.call("next_number"))
    before = {each: each.read_bytes() for each in files(folder)}

    calls = ReplayingCalls(FixtureFolder(folder), {})
    ToolBox.of(counter.next_number).with_calls(calls).call("next_number")

    assert counter.count == 1
    assert {each: each.read_bytes() for each in files(folder)} == before


def test_the_path_of_a_fixture_follows_from_its_tool_and_arguments(tmp_path: Path) -> None:
    """The path of a fixture is determined by its tool and arguments."""
    folder = record(tmp_path, ToolBox.of(echo), lambda box: [box.call("echo", {"value": 1}) for _ in range(2)])

    first, second = f"echo/{args_hash({'value': 1})}.json", f"echo/{args_hash({'value': 1})}.2.json"
    assert [str(each.relative_to(folder)) for each in files(folder)] == sorted([first, second])
    fixture = json.loads((folder / second).read_text())
    assert (fixture["tool"], fixture["args"], fixture["result"], fixture["error"]) == ("echo", {"value": 1}, 1, None)
    assert (fixture["occurrence"], fixture["order"], fixture["format_version"]) == (2, 2, 1)
    assert fixture["started_at"] == "2026-01-20T12:00:00Z"


def test_bytes_are_restored_unchanged(tmp_path: Path) -> None:
    """Bytes are restored unchanged."""
    folder = record(tmp_path, ToolBox.of(picture), lambda box: box.call("picture"))

    box, _ = replayed(folder)

    assert box.call("picture") == picture()


def test_a_tool_that_failed_fails_again_by_the_same_error(tmp_path: Path) -> None:
    """A failed tool call fails with the same error in a replay."""
    errors: list[ToolError] = []

    def work(box: ToolBox) -> None:
        with pytest.raises(ToolError) as caught:
            box.call("fail", {"why": "no page"})
        errors.append(caught.value)

    folder = record(tmp_path, ToolBox.of(fail), work)
    work(replayed(folder)[0])

    assert [each.message for each in errors] == ["tool fail failed: LookupError: no page"] * 2
    assert errors[0].error_type == errors[1].error_type == "LookupError"


def test_concurrent_calls_are_each_recorded_once(tmp_path: Path) -> None:
    """Concurrent calls are recorded exactly once each."""
    tool = Counter().next_number

    def work(box: ToolBox) -> None:
        async def all_at_once() -> None:
            await asyncio.gather(*(box.acall("next_number") for _ in range(40)))

        asyncio.run(all_at_once())

    folder = record(tmp_path, ToolBox.of(tool), work)

    fixtures = [read_digested(Fixture, each) for each in files(folder)]
    assert sorted(each.order for each in fixtures) == list(range(1, 41))
    assert sorted(each.occurrence for each in fixtures) == list(range(1, 41))


def test_a_miss_names_the_nearest_call_and_the_argument_that_differs(tmp_path: Path) -> None:
    """A miss names the nearest call and the argument that differs."""

    def work(box: ToolBox) -> None:
        box.call("echo", {"value": {"url": "http://shop.test/banana", "page": 1}})
        box.call("echo", {"value": [1, 2, 3]})

    folder = record(tmp_path, ToolBox.of(echo), work)

    with pytest.raises(RequirementError, check=has_code("fixture-missing")) as caught:
        replayed(folder)[0].call("echo", {"value": {"url": "http://shop.test/cherry", "page": 1}})
    assert '$.value.url: expected "http://shop.test/banana", got "http://shop.test/cherry"' in caught.value.message
    assert "(call 1)" in caught.value.message
    assert "\n" not in caught.value.message


def test_a_miss_of_a_tool_names_those_that_were_recorded(tmp_path: Path) -> None:
    """A miss of a tool without recorded calls names the recorded tools."""
    folder = record(tmp_path, ToolBox.of(echo), lambda box: box.call("echo"))

    with pytest.raises(RequirementError, match=r"only of echo \(did you mean echo", check=has_code("fixture-missing")):
        replayed(folder)[0].call("ecko")


def test_a_deleted_fixture_is_named(tmp_path: Path) -> None:
    """A deleted fixture is an error that names it."""
    tool = Counter().next_number
    folder = record(tmp_path, ToolBox.of(tool), lambda box: [box.call("next_number") for _ in range(3)])
    lost = folder / "next_number" / f"{args_hash({})}.2.json"
    lost.unlink()
    box, _ = replayed(folder)

    assert box.call("next_number") == 1
    with pytest.raises(
        RequirementError, match=rf"{lost} is missing, but occurrence 3 exists", check=has_code("fixture-missing")
    ):
        box.call("next_number")


def test_unused_fixtures_are_reported(tmp_path: Path) -> None:
    """A replay that leaves recorded calls unused fails, and names them."""
    folder = record(tmp_path, ToolBox.of(echo), lambda box: [box.call("echo", {"value": each}) for each in (1, 2)])
    box, calls = replayed(folder)
    box.call("echo", {"value": 1})

    with pytest.raises(
        ReplayError,
        match=r'1 recorded tool call was not made: echo {"value":2} \(call 2\)',
        check=has_code("tool-calls-diverged"),
    ):
        calls.close()


def test_a_changed_order_is_reported_unless_calls_are_unordered(tmp_path: Path) -> None:
    """Calls in another order fail a replay, unless the run is unordered."""
    folder = record(tmp_path, ToolBox.of(echo), lambda box: [box.call("echo", {"value": each}) for each in (1, 2)])
    box, calls = replayed(folder)
    unordered = ReplayingCalls(FixtureFolder(folder), {}, is_ordered=False)
    for value in (2, 1):
        box.call("echo", {"value": value})
        ToolBox.of().with_calls(unordered).call("echo", {"value": value})

    with pytest.raises(
        ReplayError,
        match=r'expected call 1 to be echo {"value":1}, got echo {"value":2}',
        check=has_code("tool-calls-diverged"),
    ):
        calls.close()
    unordered.close()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((1, 2), r"\$: expected a result that a fixture can hold, got a value of type tuple"),
        ({"at": NOON}, r"\$\.at: .* got a value of type datetime"),
        ([float("nan")], r"\$\[0\]: .* got nan"),
        ({1: 2}, ".*the key 1"),
        ({"$bytes": 1}, ".*the reserved key"),
        ("\ud800", ".*a lone surrogate"),
    ],
)
def test_a_result_that_cannot_be_restored_is_refused(tmp_path: Path, value: ToolResultValue, message: str) -> None:
    """A result that cannot be restored is refused."""

    def give() -> ToolResultValue:
        return value

    with pytest.raises(ResultNotStorableError, match=rf"result of tool give, {message}"):
        record(tmp_path, ToolBox.of(give), lambda box: box.call("give"))
    assert files(tmp_path) == []


texts = st.text().filter(lambda text: text != "$bytes")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.binary(),
    lambda each: (
        st.lists(each, max_size=4) | st.dictionaries(st.text().filter(lambda key: key != "$bytes"), each, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(value=json_values)
def test_every_stored_result_is_restored(tmp_path_factory: pytest.TempPathFactory, value: ToolResultValue) -> None:
    """Every stored result is restored unchanged."""
    blobs = BlobStore(tmp_path_factory.mktemp("blobs"))

    assert restore_result(json.loads(json.dumps(store_result(value, blobs.put))), blobs) == value
