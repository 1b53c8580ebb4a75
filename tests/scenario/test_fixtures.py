"""Tool calls are recorded as fixtures, and replayed without executing anything."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from eikon_engine.errors import (
    FixtureCorruptError,
    FixtureError,
    FixtureMissingError,
    FixturesIncompleteError,
    FixturesMixedError,
    ResultNotStorableError,
    ToolArgumentsError,
    ToolCallsDivergedError,
    ToolError,
)
from eikon_engine.redact.rules import RedactionRules
from eikon_engine.scenario.args_hash import args_hash
from eikon_engine.scenario.finding_secrets import FindingSecrets
from eikon_engine.scenario.fixture import Fixture
from eikon_engine.scenario.fixture_folder import FixtureFolder
from eikon_engine.scenario.recorded_calls import RecordedCalls
from eikon_engine.scenario.replayed_calls import ReplayedCalls
from eikon_engine.scenario.sealed import read_sealed, sealed_text
from eikon_engine.scenario.stored_result import Result, restore_result, store_result
from eikon_engine.scenario.tool_box import ToolBox
from eikon_engine.trace.blobs import BlobStore

NOON = datetime(2026, 1, 20, 12, tzinfo=UTC)
TOKEN = "ghp_Kd83hs92Jdk3Lq0Zx7Vb5Nm1Ty6Ue4Wc8Ra"


class Counter:
    """A tool that answers otherwise each time, and counts what it was asked."""

    def __init__(self) -> None:
        self.count = 0

    def next_number(self) -> int:
        """Count on."""
        self.count += 1
        return self.count


def echo(value: JsonValue = None) -> JsonValue:
    """Return what is given."""
    return value


def picture() -> dict[str, Result]:
    """Return bytes."""
    return {"png": b"\x89PNG\0", "all": [b"", b"\xff"]}


def fail(why: str = "no reason") -> None:
    """Fail."""
    raise LookupError(why)


def log_in() -> dict[str, str]:
    """Return a token."""
    return {"access_token": TOKEN}


def record(
    folder: Path,
    box: ToolBox,
    work: Callable[[ToolBox], object],
    *,
    run_id: str = "run_1",
    secrets: Mapping[str, str] | None = None,
) -> Path:
    """Record what is done with a box."""
    calls = RecordedCalls(folder, run_id, FindingSecrets(secrets or {}, RedactionRules(), b"key"), lambda: NOON)
    work(box.answered_by(calls))
    calls.close()
    return folder


def replayed(folder: Path, secrets: Mapping[str, str] | None = None) -> tuple[ToolBox, ReplayedCalls]:
    """Give an empty box that is answered by a recording."""
    calls = ReplayedCalls(FixtureFolder(folder), secrets or {})
    return ToolBox.of().answered_by(calls), calls


def files(folder: Path) -> list[Path]:
    """List the fixtures of a folder."""
    return sorted(each for each in folder.rglob("*.json") if each.name != "recording.json")


# ── the hash ─────────────────────────────────────────────────────────────────────────────────────────────────────────


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
def test_hashes_are_those_that_stand_in_the_documents(args: dict[str, JsonValue], text: str, digest: str) -> None:
    """Hashes are those that stand in the documents."""
    assert hashlib.sha256(text.encode()).hexdigest() == digest
    assert args_hash(args) == digest


@pytest.mark.parametrize("value", [2**53, float("nan"), float("inf"), "\ud800", {"\ud800": 1}, {1: 2}, b"", {1}])
def test_what_canonical_json_cannot_say_has_no_hash(value: JsonValue) -> None:
    """What canonical json cannot say has no hash."""
    with pytest.raises(ToolArgumentsError, match="wanted arguments that canonical JSON"):
        args_hash({"value": value})


# ── record and replay ────────────────────────────────────────────────────────────────────────────────────────────────


def test_repeated_calls_replay_in_order_and_a_fourth_is_missed(tmp_path: Path) -> None:
    """Repeated calls replay in order and a fourth is missed."""
    tool = Counter().next_number
    folder = record(tmp_path, ToolBox.of(tool), lambda box: [box.call("next_number") for _ in range(3)])

    box, calls = replayed(folder)

    assert [box.call("next_number") for _ in range(3)] == [1, 2, 3]
    calls.close()
    with pytest.raises(FixtureMissingError, match=r"no fixture for call 4, next_number {}: it was recorded 3 times"):
        box.call("next_number")


def test_a_replay_executes_and_writes_nothing(tmp_path: Path) -> None:
    """A replay executes and writes nothing."""
    counter = Counter()
    folder = record(tmp_path, ToolBox.of(counter.next_number), lambda box: box.call("next_number"))
    before = {each: each.read_bytes() for each in files(folder)}

    calls = ReplayedCalls(FixtureFolder(folder), {})
    ToolBox.of(counter.next_number).answered_by(calls).call("next_number")

    assert counter.count == 1
    assert {each: each.read_bytes() for each in files(folder)} == before


def test_a_fixture_lies_where_its_tool_and_arguments_say(tmp_path: Path) -> None:
    """A fixture lies where its tool and arguments say."""
    folder = record(tmp_path, ToolBox.of(echo), lambda box: [box.call("echo", {"value": 1}) for _ in range(2)])

    first, second = f"echo/{args_hash({'value': 1})}.json", f"echo/{args_hash({'value': 1})}.2.json"
    assert [str(each.relative_to(folder)) for each in files(folder)] == sorted([first, second])
    fixture = json.loads((folder / second).read_text())
    assert (fixture["tool"], fixture["args"], fixture["result"], fixture["error"]) == ("echo", {"value": 1}, 1, None)
    assert (fixture["occurrence"], fixture["order"], fixture["format_version"]) == (2, 2, 1)
    assert fixture["started_at"] == "2026-01-20T12:00:00Z"


def test_bytes_come_back_as_they_were(tmp_path: Path) -> None:
    """Bytes come back as they were."""
    folder = record(tmp_path, ToolBox.of(picture), lambda box: box.call("picture"))

    box, _ = replayed(folder)

    assert box.call("picture") == picture()


def test_a_tool_that_failed_fails_again_by_the_same_error(tmp_path: Path) -> None:
    """A tool that failed fails again by the same error."""
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
    """Concurrent calls are each recorded once."""
    tool = Counter().next_number

    def work(box: ToolBox) -> None:
        async def all_at_once() -> None:
            await asyncio.gather(*(box.acall("next_number") for _ in range(40)))

        asyncio.run(all_at_once())

    folder = record(tmp_path, ToolBox.of(tool), work)

    fixtures = [read_sealed(Fixture, each) for each in files(folder)]
    assert sorted(each.order for each in fixtures) == list(range(1, 41))
    assert sorted(each.occurrence for each in fixtures) == list(range(1, 41))


# ── what a replay does not forgive ───────────────────────────────────────────────────────────────────────────────────


def test_a_miss_names_the_nearest_call_and_the_argument_that_differs(tmp_path: Path) -> None:
    """A miss names the nearest call and the argument that differs."""

    def work(box: ToolBox) -> None:
        box.call("echo", {"value": {"url": "http://shop.test/banana", "page": 1}})
        box.call("echo", {"value": [1, 2, 3]})

    folder = record(tmp_path, ToolBox.of(echo), work)

    with pytest.raises(FixtureMissingError) as caught:
        replayed(folder)[0].call("echo", {"value": {"url": "http://shop.test/cherry", "page": 1}})
    assert '$.value.url was recorded "http://shop.test/banana", asked "http://shop.test/cherry"' in caught.value.message
    assert "(call 1)" in caught.value.message
    assert "\n" not in caught.value.message


def test_a_miss_of_a_tool_names_those_that_were_recorded(tmp_path: Path) -> None:
    """A miss of a tool names those that were recorded."""
    folder = record(tmp_path, ToolBox.of(echo), lambda box: box.call("echo"))

    with pytest.raises(FixtureMissingError, match="only of echo, nearest is echo"):
        replayed(folder)[0].call("ecko")


def test_a_deleted_fixture_is_named(tmp_path: Path) -> None:
    """A deleted fixture is named."""
    tool = Counter().next_number
    folder = record(tmp_path, ToolBox.of(tool), lambda box: [box.call("next_number") for _ in range(3)])
    lost = folder / "next_number" / f"{args_hash({})}.2.json"
    lost.unlink()
    box, _ = replayed(folder)

    assert box.call("next_number") == 1
    with pytest.raises(FixtureMissingError, match=rf"{lost} is missing, and occurrence 3 is there"):
        box.call("next_number")


def test_unused_fixtures_are_told(tmp_path: Path) -> None:
    """Unused fixtures are told."""
    folder = record(tmp_path, ToolBox.of(echo), lambda box: [box.call("echo", {"value": each}) for each in (1, 2)])
    box, calls = replayed(folder)
    box.call("echo", {"value": 1})

    with pytest.raises(ToolCallsDivergedError, match=r'1 recorded tool call was not made: echo {"value":2} \(call 2\)'):
        calls.close()


def test_a_changed_order_is_told_unless_none_was_promised(tmp_path: Path) -> None:
    """A changed order is told unless none was promised."""
    folder = record(tmp_path, ToolBox.of(echo), lambda box: [box.call("echo", {"value": each}) for each in (1, 2)])
    box, calls = replayed(folder)
    unordered = ReplayedCalls(FixtureFolder(folder), {}, is_ordered=False)
    for value in (2, 1):
        box.call("echo", {"value": value})
        ToolBox.of().answered_by(unordered).call("echo", {"value": value})

    with pytest.raises(ToolCallsDivergedError, match=r'call 1 was echo {"value":2}, recorded is echo {"value":1}'):
        calls.close()
    unordered.close()


def edit(path: Path, **fields: JsonValue) -> None:
    """Change a file as a person does."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def reseal(path: Path, **fields: object) -> None:
    """Change a fixture as we would write it."""
    path.write_bytes(sealed_text(read_sealed(Fixture, path).model_copy(update=fields)))


def test_a_fixture_that_was_edited_is_named(tmp_path: Path) -> None:
    """A fixture that was edited is named."""
    path = files(record(tmp_path, ToolBox.of(echo), lambda box: box.call("echo", {"value": 1})))[0]
    edit(path, result=2)

    with pytest.raises(FixtureCorruptError, match=rf"{path}: the digest that stands in it.*edited by hand"):
        replayed(tmp_path)[0].call("echo", {"value": 1})


@pytest.mark.parametrize(
    "fields", [{"args": {"value": 2}}, {"tool": "ecko"}, {"occurrence": 2}, {"args_hash": args_hash({})}]
)
def test_a_fixture_in_the_place_of_another_is_named(tmp_path: Path, fields: dict[str, object]) -> None:
    """A fixture in the place of another is named."""
    path = files(record(tmp_path, ToolBox.of(echo), lambda box: box.call("echo", {"value": 1})))[0]
    reseal(path, **fields)

    with pytest.raises(FixtureCorruptError, match=rf"{path}: wanted .* as its path says"):
        replayed(tmp_path)[0].call("echo", {"value": 1})


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"digest":"x"}', b"\xff", b"1" * 9])
def test_a_damaged_fixture_is_named(tmp_path: Path, content: bytes) -> None:
    """A damaged fixture is named."""
    path = files(record(tmp_path, ToolBox.of(echo), lambda box: box.call("echo")))[0]
    path.write_bytes(content)

    with pytest.raises(FixtureCorruptError, match=str(path)) as caught:
        replayed(tmp_path)[0].call("echo")
    assert "\n" not in caught.value.message


def test_a_folder_of_two_recordings_is_refused_whether_the_stranger_is_used_or_not(tmp_path: Path) -> None:
    """A folder of two recordings is refused whether the stranger is used or not."""
    ours = record(tmp_path / "ours", ToolBox.of(echo), lambda box: box.call("echo", {"value": 1}))
    theirs = record(tmp_path / "theirs", ToolBox.of(echo), lambda box: box.call("echo", {"value": 2}), run_id="run_2")
    shutil.copytree(theirs / "echo", ours / "echo", dirs_exist_ok=True)
    box, calls = replayed(ours)
    box.call("echo", {"value": 1})

    with pytest.raises(FixturesMixedError, match=r"wanted a fixture of run run_1 .*, found one of run run_2"):
        box.call("echo", {"value": 2})
    with pytest.raises(FixturesMixedError):
        ReplayedCalls(FixtureFolder(ours), {}).close()
    assert calls is not None


def test_a_recording_that_was_killed_is_refused(tmp_path: Path) -> None:
    """A recording that was killed is refused."""
    calls = RecordedCalls(tmp_path, "run_1", FindingSecrets({}, None, b""), lambda: NOON)
    ToolBox.of(echo).answered_by(calls).call("echo")

    with pytest.raises(FixturesIncompleteError, match="found run run_1, which was killed or is still going on"):
        FixtureFolder(tmp_path)


def test_a_folder_without_a_recording_is_refused(tmp_path: Path) -> None:
    """A folder without a recording is refused."""
    with pytest.raises(FixtureError, match=r"found no recording.json in it"):
        FixtureFolder(tmp_path)
    with pytest.raises(FixtureError, match="found no folder"):
        FixtureFolder(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["notes.txt", "echo/notes.json", f"echo/{'0' * 64}.1.json", f"echo/{'0' * 63}.json"])
def test_what_is_no_fixture_is_named(tmp_path: Path, name: str) -> None:
    """What is no fixture is named."""
    record(tmp_path, ToolBox.of(echo), lambda box: box.call("echo"))
    (tmp_path / name).write_text("{}")

    with pytest.raises(FixtureError, match="wanted nothing but fixtures"):
        FixtureFolder(tmp_path)


# ── results ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ((1, 2), r"\$: wanted a result that a fixture can hold, found a value of type tuple"),
        ({"at": NOON}, r"\$\.at: .* found a value of type datetime"),
        ([float("nan")], r"\$\[0\]: .* found nan"),
        ({1: 2}, ".*the key 1"),
        ({"$bytes": 1}, ".*which stands for bytes"),
        ("\ud800", ".*half of a surrogate pair"),
    ],
)
def test_a_result_that_would_not_come_back_is_refused(tmp_path: Path, value: Result, told: str) -> None:
    """A result that would not come back is refused."""

    def give() -> Result:
        return value

    with pytest.raises(ResultNotStorableError, match=rf"the result of tool give, {told}"):
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
def test_every_result_that_is_stored_comes_back(tmp_path_factory: pytest.TempPathFactory, value: Result) -> None:
    """Every result that is stored comes back."""
    blobs = BlobStore(tmp_path_factory.mktemp("blobs"))

    assert restore_result(json.loads(json.dumps(store_result(value, blobs.put))), blobs) == value


# ── secrets ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def all_bytes(folder: Path) -> bytes:
    """Return everything that is written in a folder, blobs unpacked."""
    stores = [(BlobStore(each.parent), each) for each in folder.rglob("*.zst")]
    plain = [each.read_bytes() for each in folder.rglob("*.json")]
    return b"".join([*plain, *(store.get(store.ref(path)) for store, path in stores)])


def test_a_named_secret_is_written_nowhere_and_needed_by_no_replay(tmp_path: Path) -> None:
    """A named secret is written nowhere and needed by no replay."""

    def work(box: ToolBox, secret: str) -> JsonValue:
        answer: JsonValue = box.call("echo", {"value": f"Bearer {secret}"})
        both: JsonValue = box.call("echo", {"value": [answer]})
        return both

    folder = record(
        tmp_path, ToolBox.of(echo), lambda box: work(box, "hunter-2-hunter"), secrets={"KEY": "hunter-2-hunter"}
    )

    assert b"hunter" not in all_bytes(folder)
    assert work(replayed(folder, {"KEY": "another-value"})[0], "another-value") == ["Bearer another-value"]
    assert work(replayed(folder)[0], "{{eikon-secret:KEY}}") == ["Bearer {{eikon-secret:KEY}}"]


def test_a_token_that_a_tool_brings_stands_in_for_itself_in_later_calls(tmp_path: Path) -> None:
    """A token that a tool brings stands in for itself in later calls."""

    def work(box: ToolBox) -> JsonValue:
        token = box.call("log_in")["access_token"]
        answer: JsonValue = box.call("echo", {"value": f"token {token}"})
        return answer

    folder = record(tmp_path, ToolBox.of(log_in, echo), work)
    box, calls = replayed(folder)

    assert str(work(box)).startswith("token ghp_eikonredacted")
    calls.close()
    assert TOKEN.removeprefix("ghp_").encode() not in all_bytes(folder)


def test_a_secret_that_is_found_late_is_taken_out_of_what_was_written_before(tmp_path: Path) -> None:
    """A secret that is found late is taken out of what was written before."""
    value = "Kd83hs92Jdk3Lq0Zx7Vb5Nm1Ty6Ue4Wc8Ra"

    def work(box: ToolBox) -> None:
        box.call("echo", {"value": {"note": value}})
        box.call("echo", {"value": {"session_token": value}})
        box.call("echo", {"value": {"note": value}})

    folder = record(tmp_path, ToolBox.of(echo), work)
    box, calls = replayed(folder)

    assert value.encode() not in all_bytes(folder)
    work(box)
    calls.close()
