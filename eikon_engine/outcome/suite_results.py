"""What a suite of replays did: a result for each mission, and all of them together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from pydantic import AwareDatetime, Field

from eikon_engine.files.models import FileModel
from eikon_engine.outcome.outcomes import EXIT_STATUS, GateResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SUITE_VERSION: Literal[1] = 1

MissionVerdict: TypeAlias = Literal["faithful", "diverged", "unverifiable", "failed"]
"""The verdict of the replay and its gates; `failed` if it ended with an error."""
ShardName: TypeAlias = Annotated[str, Field(pattern=r"^([1-9][0-9]{0,5}/[1-9][0-9]{0,5})?$")]
"""Such as `2/8`, the second of eight; empty for a whole suite."""
_WORST_FIRST: Final = (1, 70, 69, 78, 65, 2, 3)
"""Exit statuses: a divergence outweighs everything, then what failed; what is unverifiable, what is faithful."""


class MissionResult(FileModel):
    """One replay of a suite."""

    name: str
    """Path of the bundle, as it was found."""
    repeat: int = Field(default=1, ge=1)
    """Which replay of the mission it is."""
    mission_id: str = ""
    """Empty if the bundle cannot be read."""
    tags: tuple[str, ...] = ()
    verdict: MissionVerdict
    exit_status: int
    """That of the command `replay`."""
    summary: str = ""
    """Why it is not faithful, or that the mission it is faithful to failed, in a sentence."""
    artifacts: str = ""
    """Artifacts folder, relative to that of the suite; empty without one."""
    started_at: AwareDatetime
    duration_ms: int = Field(ge=0)
    retried: str = ""
    """Why it was replayed again, such as a browser that crashed; empty if it was not."""
    quarantine: str = ""
    """Why its failure counts for nothing; empty if it counts."""

    @property
    def key(self) -> tuple[str, int]:
        """Return what names the result in its suite."""
        return self.name, self.repeat

    @property
    def counts_as_failure(self) -> bool:
        """Whether it makes the suite fail."""
        return self.exit_status != 0 and not self.quarantine


class SuiteGates(FileModel):
    """Limits on a suite as a whole; None for no limit. They fail what is faithful, and pass nothing that is not."""

    min_replays: Annotated[int, Field(ge=1)] | None = None
    """Replays that were made: a suite that lost its missions would be faithful."""
    max_duration: Annotated[float, Field(gt=0)] | None = None
    """Wall time of the suite, in seconds."""
    max_replay_duration: Annotated[float, Field(gt=0)] | None = None
    """Wall time of the slowest replay, in seconds."""
    max_retried: Annotated[int, Field(ge=0)] | None = None
    """Replays that were made again, because their browser or worker ended."""
    max_quarantined: Annotated[int, Field(ge=0)] | None = None
    """Replays whose failure counts for nothing."""


class PlannedReplay(FileModel):
    """A replay that a suite is to make."""

    name: str
    repeat: int = Field(default=1, ge=1)
    digest: str = ""
    """SHA-256 of the trace and of the settings: results of another one do not count when a suite is resumed."""

    @property
    def key(self) -> tuple[str, int]:
        """Return what names its result."""
        return self.name, self.repeat


class SuiteResult(FileModel):
    """All replays of a suite, or of one shard: suite.json."""

    suite_version: Literal[1] = SUITE_VERSION
    shard: ShardName = ""
    """Such as `2/8`; empty for a whole suite."""
    started_at: AwareDatetime
    ended_at: AwareDatetime
    planned: tuple[PlannedReplay, ...]
    results: tuple[MissionResult, ...]
    """In the order of `planned`."""
    ended_early: str = ""
    """Why some replays were not made; empty if all were."""
    missing_shards: tuple[ShardName, ...] = ()
    """Shards whose results were not merged."""
    gates: SuiteGates = Field(default_factory=SuiteGates)
    """Those of the whole suite."""

    @property
    def missing(self) -> tuple[PlannedReplay, ...]:
        """Return the replays that were not made."""
        made = {each.key for each in self.results}
        return tuple(each for each in self.planned if each.key not in made)

    @property
    def exit_status(self) -> int:
        """Return that of the worst result or gate that counts; that of an unverifiable one if replays are missing."""
        gates = (EXIT_STATUS[each.verdict] for each in self.gate_results)
        return worst_status((*_counted(self.results), *gates, *((3,) if self.is_incomplete else ())))

    @property
    def is_incomplete(self) -> bool:
        """Whether replays were not made, or their results are elsewhere."""
        return bool(self.missing or self.missing_shards)

    @property
    def gate_results(self) -> tuple[GateResult, ...]:
        """Return what became of the gates; none for a shard, as they are those of the whole suite."""
        return () if self.shard else tuple(self._evaluate_gates())

    def _evaluate_gates(self) -> Iterator[GateResult]:
        measured = {
            "min_replays": len(self.results),
            "max_duration": (self.ended_at - self.started_at).total_seconds(),
            "max_replay_duration": max((each.duration_ms / 1000 for each in self.results), default=0.0),
            "max_retried": sum(bool(each.retried) for each in self.results),
            "max_quarantined": sum(bool(each.exit_status and each.quarantine) for each in self.results),
        }
        for gate, limit in self.gates.model_dump(exclude_none=True).items():
            found, is_minimum = measured[gate], gate.startswith("min_")
            is_within = found >= limit if is_minimum else found <= limit
            is_final = is_within == is_minimum or not self.is_incomplete
            word = ("passed" if is_within else "failed") if is_final else "unverifiable, as replays are missing"
            yield GateResult(
                gate=gate,
                passed=is_within if is_final else None,
                limit=limit,
                observed=found,
                message=f"{gate}: {word}; limit {limit:g}, observed {found:g}.",
            )

    def unequal(self) -> tuple[str, ...]:
        """Return the missions whose replays ended differently."""
        verdicts: dict[str, set[str]] = {}
        for each in self.results:
            verdicts.setdefault(each.name, set()).add(each.verdict)
        return tuple(name for name, found in verdicts.items() if len(found) > 1)


def worst_status(statuses: Iterable[int]) -> int:
    """Return the exit status that outweighs the others; 0 without any."""
    found = set(statuses) - {0}
    known = next((each for each in _WORST_FIRST if each in found), None)
    return known if known is not None else max(found, default=0)


def _counted(results: Iterable[MissionResult]) -> Iterable[int]:
    return (each.exit_status for each in results if each.counts_as_failure)
