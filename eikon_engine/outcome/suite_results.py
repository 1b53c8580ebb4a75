"""What a suite of replays did: a result for each mission, and all of them together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import AwareDatetime, Field

from eikon_engine.files.models import FileModel

if TYPE_CHECKING:
    from collections.abc import Iterable

SUITE_VERSION: Literal[1] = 1

MissionVerdict: TypeAlias = Literal["faithful", "diverged", "unverifiable", "failed"]
"""The verdict of the replay and its gates; `failed` if it ended with an error."""
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
    """Why it is not faithful, in a sentence."""
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
    shard: str = ""
    """Such as `2/8`; empty for a whole suite."""
    started_at: AwareDatetime
    ended_at: AwareDatetime
    planned: tuple[PlannedReplay, ...]
    results: tuple[MissionResult, ...]
    """In the order of `planned`."""
    ended_early: str = ""
    """Why some replays were not made; empty if all were."""
    missing_shards: tuple[str, ...] = ()
    """Shards whose results were not merged."""

    @property
    def missing(self) -> tuple[PlannedReplay, ...]:
        """Return the replays that were not made."""
        made = {each.key for each in self.results}
        return tuple(each for each in self.planned if each.key not in made)

    @property
    def exit_status(self) -> int:
        """Return that of the worst result that counts; that of an unverifiable one if replays are missing."""
        return worst_status((*_counted(self.results), *((3,) if self.missing or self.missing_shards else ())))

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
