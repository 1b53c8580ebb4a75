"""No input makes a reader end in anything but success or an error of ours."""

from __future__ import annotations

from contextlib import ExitStack
from random import Random  # noqa: TID251 - seeded
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.fuzz import run
from benchmarks.fuzz.__main__ import main, report
from benchmarks.fuzz.run import Choice, Fuzzer, fuzz
from benchmarks.fuzz.target import CORPUS, Target
from benchmarks.fuzz.targets import TARGETS
from eikon_engine.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EXAMPLES = 30
MAX_CORPUS_BYTES = 300_000


@pytest.fixture(scope="module")
def fuzzers() -> Iterator[dict[str, Fuzzer]]:
    """Make the folder of each target once, since some are copies of bundles."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(Fuzzer(name, target)) for name, target in TARGETS.items()}


@pytest.mark.parametrize("name", TARGETS)
def test_every_input_of_a_corpus_is_accepted_or_refused(fuzzers: dict[str, Fuzzer], name: str) -> None:
    """The corpus has valid inputs, and every input that once had another end."""
    paths = list(TARGETS[name].corpus(name))

    ends = {path.name: fuzzers[name].feed(path.read_bytes()) for path in paths}

    assert paths
    assert not {path: end for path, end in ends.items() if end is not None}


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(min_value=0))
def test_broken_inputs_are_accepted_or_refused(fuzzers: dict[str, Fuzzer], name: str, seed: int) -> None:
    """A bounded run; `python -m benchmarks.fuzz` makes long ones."""
    chance, samples = Random(seed), fuzzers[name].samples  # noqa: S311 - no secret

    assert fuzzers[name].feed(TARGETS[name].mutated(chance.choice(samples), chance, samples)) is None


def test_the_corpus_is_small() -> None:
    """It is read in each run of the tests."""
    assert sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()) <= MAX_CORPUS_BYTES


def _read_strictly(data: bytes, _folder: Path) -> None:
    if b"!" in data:
        raise KeyError("!")
    if b"?" in data:
        raise UsageError("no questions")


def _read_for_ever(_data: bytes, _folder: Path) -> None:
    while True:
        pass


def test_another_exception_is_a_finding_with_a_short_input(tmp_path: Path) -> None:
    """It is found by mutations, and shortened; an error of ours is a refusal."""
    (tmp_path / "strict").mkdir()
    (tmp_path / "strict" / "sample").write_bytes(b"What a long line of text! And more of it?")

    result = fuzz("strict", Target(form="text", read=_read_strictly), Choice(inputs=50, corpus=tmp_path))

    (found,) = result.findings.values()
    assert found.data == b"!"
    assert "KeyError" in found.site
    assert result.foreign > 0
    assert result.refused > 0
    assert result.inputs == 50
    assert "strict: KeyError" in report([result])


def test_the_same_seed_feeds_the_same_inputs(tmp_path: Path) -> None:
    """So that a finding can be repeated."""

    def inputs_of(seed: int) -> list[bytes]:
        fed: list[bytes] = []
        target = Target(form="json", read=lambda data, _: fed.append(data), samples=("tests/data/fuzz/action/*.json",))
        fuzz("any", target, Choice(inputs=30, seed=seed, corpus=tmp_path))
        return fed

    assert inputs_of(1) == inputs_of(1)
    assert inputs_of(1) != inputs_of(2)


def test_an_input_that_takes_too_long_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a loop without an end."""
    monkeypatch.setattr(run, "MAX_SECONDS", 0.05)

    result = fuzz("slow", Target(form="text", read=_read_for_ever), Choice(inputs=1, corpus=tmp_path))

    assert [site.partition(" ")[0] for site in result.findings] == ["TooSlowError:"]


def test_the_command_prints_a_row_for_a_target(capfd: pytest.CaptureFixture[str]) -> None:
    """It fuzzes in processes of its own."""
    assert main(["viewport", "--inputs", "20"]) == 0

    assert "20 inputs, 0 findings" in capfd.readouterr().out


def test_an_unknown_target_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    """The names are those of `--list`."""
    with pytest.raises(SystemExit, match="2"):
        main(["viewpoint"])

    assert "expected targets of --list, got viewpoint" in capfd.readouterr().err
