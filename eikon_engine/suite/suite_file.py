"""The file of a suite, such as `suite.yaml`: which bundles it has, how they are replayed, and its gates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field

from eikon_engine.errors import UsageError
from eikon_engine.files.models import FileModel
from eikon_engine.files.yaml import read_yaml_file
from eikon_engine.outcome.suite_results import SuiteGates
from eikon_engine.suite.object_storage import is_url

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SUFFIXES: Final = frozenset({".yaml", ".yml"})
MAX_REPEAT: Final = 1000

_Texts = tuple[Annotated[str, Field(min_length=1)], ...]
_Seconds = Annotated[float, Field(gt=0)]


class SuiteFile(FileModel):
    """A suite; what is absent is as without a file. The keys are those of the options of `eikon suite run`."""

    suite_version: Literal[1] = 1
    bundles: Annotated[_Texts, Field(min_length=1)]
    """Bundles, and folders of bundles: paths relative to the file, or URLs in object storage."""
    include: _Texts = ()
    """Patterns of names, of which a mission fits one."""
    exclude: _Texts = ()
    tags: _Texts = ()
    skip_tags: _Texts = ()
    repeat: Annotated[int, Field(ge=1, le=MAX_REPEAT)] = 1
    """Replays of each mission."""
    mission_timeout: _Seconds | None = None
    """Wall time of a replay, in seconds."""
    suite_timeout: _Seconds | None = None
    """Wall time after which no replay begins, in seconds."""
    gates: SuiteGates = Field(default_factory=SuiteGates)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSuite:
    """What a suite consists of, by its file or by the command line."""

    paths: tuple[Path | str, ...]
    """Paths, and URLs as texts."""
    options: Mapping[str, Any]
    """Options that the file gives, by the names of their parameters."""
    gates: SuiteGates


def choose_suite(paths: Sequence[Path | str]) -> ChosenSuite:
    """Return what paths and URLs stand for: themselves, or what the file of a suite says.

    Raises:
        UsageError: the file of a suite is not the only argument.
        YamlError: the file is not valid.
        RequirementError: the library for YAML is not installed.
    """
    files = [path for path in paths if isinstance(path, Path) and path.suffix in SUFFIXES]
    if not files:
        return ChosenSuite(paths=tuple(paths), options={}, gates=SuiteGates())
    if len(paths) > 1:
        message = f"{files[0]}: expected the file of a suite as the only argument, got {len(paths)} arguments"
        raise UsageError(message)
    suite = read_yaml_file(files[0]).parse_as(SuiteFile)
    options = {
        "include": suite.include,
        "exclude": suite.exclude,
        "tags": suite.tags,
        "skipped_tags": suite.skip_tags,
        "repeat": suite.repeat,
        "mission_timeout_s": suite.mission_timeout,
        "suite_timeout_s": suite.suite_timeout,
    }
    return ChosenSuite(
        paths=tuple(each if is_url(each) else files[0].parent / each for each in suite.bundles),
        options={name: value for name, value in options.items() if value},
        gates=suite.gates,
    )
