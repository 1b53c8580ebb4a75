"""The configuration of a project: `eikon.toml`, or `[tool.eikon]` of `pyproject.toml`.

Settings of replays come from tables: `[replay]`, then `[env.NAME.replay]`, then each of `[[bundles]]` that matches the
bundle. Later ones win; mappings are merged key by key. The file names where secrets come from, never their values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from eikon_engine.divergence.effects import PolicyName
from eikon_engine.errors import RequirementError, UsageError
from eikon_engine.files.limits import MAX_SETTINGS_BYTES, read_file
from eikon_engine.files.models import FileModel, describe_fault, describe_value
from eikon_engine.files.origins import parse_origin
from eikon_engine.outcome.outcomes import NetworkMode
from eikon_engine.replay.options import OnDivergence
from eikon_engine.suite.configuration_search import (
    PYPROJECT_FILE,
    PYPROJECT_TABLE,
    absolute_path,
    pyproject_table,
    read_toml,
)
from eikon_engine.trace.base_urls import build_url_map
from eikon_engine.trace.trace_file import TRACE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic_core import ErrorDetails

_NAME: Final = r"^[A-Za-z_][A-Za-z0-9_]*$"
_MAX_TIMEOUT: Final = 86_400
_PATHS: Final = ("browser_path", "ignore", "gates", "storage_state")
_MAPPINGS: Final = ("base_urls", "variables", "secrets")


def _check_pattern(pattern: str) -> str:
    segments = pattern.split("/")
    if not pattern.strip() or pattern.startswith("/") or "\\" in pattern or ".." in segments:
        message = f"expected a pattern of paths relative to the file, with forward slashes, got {pattern!r}"
        raise ValueError(message)
    if any("**" in segment and segment != "**" for segment in segments):
        message = f"expected ** as a whole name between slashes, got {pattern!r}"
        raise ValueError(message)
    return pattern


def _check_origin(text: str) -> str:
    try:
        return parse_origin(text, "origins")
    except UsageError as error:
        raise ValueError(error.message) from error


def _as_items(value: object) -> object:
    """Return what validates as a tuple: a text is one item, and TOML has lists."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


_FilePath = Annotated[str, Field(min_length=1)]
_Name = Annotated[str, Field(pattern=_NAME)]
_Tag = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")]


class SecretSource(FileModel):
    """Where the value of a secret comes from: an environment variable or a file."""

    env: Annotated[str, Field(min_length=1)] | None = None
    file: _FilePath | None = None
    """A path relative to the configuration; the value is its text without the line break at the end."""
    origins: Annotated[tuple[Annotated[str, AfterValidator(_check_origin)], ...], BeforeValidator(_as_items)] = ()
    """The only origins into which a live replay types the secret."""

    @model_validator(mode="after")
    def _check_one_source(self) -> Self:
        if (self.env is None) == (self.file is None):
            message = 'expected { env = "NAME" } or { file = "PATH" }'
            raise ValueError(message)
        return self

    def __str__(self) -> str:
        """Return source and origins in words."""
        return f"{self._source}, for {', '.join(self.origins)}" if self.origins else self._source

    @property
    def _source(self) -> str:
        return f"environment variable {self.env}" if self.env is not None else f"file {self.file}"

    def read_value(self, environ: Mapping[str, str]) -> str:
        """Return the value of the secret.

        Raises:
            RequirementError: the variable is not set, the file cannot be read, or the value is empty.
        """
        if self.env is not None:
            if self.env not in environ:
                raise RequirementError(f"{self._source}, which is not set", code="secret-missing")
            value = environ[self.env]
        else:
            value = self._read_file()
        if not value:
            raise RequirementError(f"{self._source}, which is empty", code="secret-missing")
        return value

    def _read_file(self) -> str:
        try:
            return (
                read_file(Path(str(self.file)), limit=MAX_SETTINGS_BYTES).decode().removesuffix("\n").removesuffix("\r")
            )
        except OSError as error:
            raise RequirementError(
                f"{self._source}, which is not readable: {error.strerror}", code="secret-missing"
            ) from error
        except ValueError:  # its message would quote the file
            raise RequirementError(f"{self._source}, which is not text in UTF-8", code="secret-missing") from None


class ReplaySettings(FileModel):
    """Settings of replays, as the options of `eikon replay`; None and absent keys leave the default."""

    network: NetworkMode | None = None
    policy: PolicyName | None = None
    on_divergence: OnDivergence | None = None
    timeout: Annotated[float, Field(gt=0, le=_MAX_TIMEOUT)] | None = None
    """Seconds."""
    headless: bool | None = None
    browser_path: _FilePath | None = None
    ignore: _FilePath | None = None
    gates: _FilePath | None = None
    storage_state: _FilePath | None = None
    """For live replays only."""
    base_urls: dict[str, str] = Field(default_factory=dict)
    """Current base URL by recorded one, for live replays and `recorded-api` only."""
    front_end: Annotated[tuple[str, ...], BeforeValidator(_as_items)] | None = None
    back_end: Annotated[tuple[str, ...], BeforeValidator(_as_items)] | None = None
    allow_schemes: Annotated[tuple[str, ...], BeforeValidator(_as_items)] | None = None
    variables: dict[_Name, str] = Field(default_factory=dict)
    """Values of variables; a bundle gets those that its trace uses."""
    secrets: dict[_Name, SecretSource] = Field(default_factory=dict)

    def items(self) -> Iterator[tuple[str, str | float | bool | tuple[str, ...]]]:
        """Yield the settings that have a value, other than mappings."""
        for name in type(self).model_fields:
            value = getattr(self, name)
            if name not in _MAPPINGS and value is not None:
                yield name, value


class EnvironmentTable(FileModel):
    """`[env.NAME]`: what holds for one environment, such as a deployment."""

    replay: ReplaySettings = Field(default_factory=ReplaySettings)


class BundleTable(FileModel):
    """`[[bundles]]`: what holds for the bundles that it matches, by path or by a tag that an earlier table gave."""

    match: Annotated[
        tuple[Annotated[str, AfterValidator(_check_pattern)], ...], BeforeValidator(_as_items), Field(min_length=1)
    ] = ()
    tag: _Tag | None = None
    tags: Annotated[tuple[_Tag, ...], BeforeValidator(_as_items)] = ()
    """Tags of the matching bundles."""
    replay: ReplaySettings = Field(default_factory=ReplaySettings)

    @model_validator(mode="after")
    def _check_one_criterion(self) -> Self:
        if bool(self.match) == (self.tag is not None):
            message = f"expected one of match and tag, got {'both' if self.match else 'none'}"
            raise ValueError(message)
        return self

    def is_for(self, relative: str | None, tags: frozenset[str]) -> bool:
        """Return whether a bundle matches: by its path relative to the file (None outside), or by its tags so far."""
        if self.tag is not None:
            return self.tag in tags
        return relative is not None and any(_matches(pattern, relative) for pattern in self.match)


class QuarantinedMission(FileModel):
    """`[[quarantine]]`: a mission whose failures do not count until a day."""

    mission: Annotated[str, Field(min_length=1)]
    reason: Annotated[str, Field(min_length=1)]
    until: date
    """The last day."""


class ConfigurationTables(FileModel):
    """All tables of a configuration."""

    artifacts_dir: _FilePath | None = None
    replay: ReplaySettings = Field(default_factory=ReplaySettings)
    env: dict[Annotated[str, Field(min_length=1)], EnvironmentTable] = Field(default_factory=dict)
    bundles: Annotated[tuple[BundleTable, ...], BeforeValidator(_as_items)] = ()
    quarantine: Annotated[tuple[QuarantinedMission, ...], BeforeValidator(_as_items)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleSettings:
    """What holds for one bundle. Paths are absolute."""

    replay: ReplaySettings = field(default_factory=ReplaySettings)
    artifacts_dir: Path | None = None
    """The folder of the artifacts of all missions."""
    tags: frozenset[str] = frozenset()
    origins: Mapping[str, str] = field(default_factory=dict)
    """The table of each setting, such as `eikon.toml [env.staging.replay]`; keys of mappings as `variables.user`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A configuration that was read."""

    path: Path
    tables: ConfigurationTables

    @property
    def environments(self) -> tuple[str, ...]:
        """The names of the environments, sorted."""
        return tuple(sorted(self.tables.env))

    def settings_for(self, bundle: Path | None, environment: str | None = None) -> BundleSettings:
        """Return the settings of a bundle, its folder or trace; None for what holds whatever the bundle.

        Raises:
            UsageError: there is no such environment.
        """
        relative = None if bundle is None else self._relative_path(bundle)
        values: dict[str, Any] = {}
        origins: dict[str, str] = {}
        tags = frozenset[str]()
        for location, settings in self._general_layers(environment):
            self._merge(values, origins, settings, location)
        for number, table in enumerate(self.tables.bundles):
            if table.is_for(relative, tags):
                tags |= frozenset(table.tags)
                self._merge(values, origins, table.replay, ("bundles", number, "replay"))
        artifacts = self.tables.artifacts_dir
        if artifacts is not None:
            origins["artifacts_dir"] = self._origin(())
        return BundleSettings(
            replay=ReplaySettings(**values),
            artifacts_dir=None if artifacts is None else self._absolute(artifacts),
            tags=tags,
            origins=origins,
        )

    def tags_of(self, bundle: Path) -> frozenset[str]:
        """Return the tags of a bundle, as `settings_for` does, which takes longer."""
        relative, tags = self._relative_path(bundle), frozenset[str]()
        for table in self.tables.bundles:
            if table.tags and table.is_for(relative, tags):
                tags |= frozenset(table.tags)
        return tags

    def quarantine_of(self, mission_id: str, day: date) -> QuarantinedMission | None:
        """Return the quarantine of a mission that holds on a day."""
        holding = (each for each in self.tables.quarantine if each.mission == mission_id and day <= each.until)
        return next(holding, None)

    def _general_layers(self, environment: str | None) -> Iterator[tuple[tuple[str | int, ...], ReplaySettings]]:
        yield ("replay",), self.tables.replay
        if environment is None:
            return
        if environment not in self.tables.env:
            known = f"one of {', '.join(self.environments)}" if self.environments else "none, as it has no [env.NAME]"
            raise UsageError(f"{self.path}: unknown environment {environment!r}: expected {known}")
        yield ("env", environment, "replay"), self.tables.env[environment].replay

    def _merge(
        self,
        values: dict[str, Any],
        origins: dict[str, str],
        settings: ReplaySettings,
        location: tuple[str | int, ...],
    ) -> None:
        """Add the settings of a table to those of weaker ones."""
        origin = self._origin(location)
        for name, value in settings.items():
            values[name] = str(self._absolute(str(value))) if name in _PATHS else value
            origins[name] = origin
        for name in _MAPPINGS:
            origin = self._origin((*location, name))
            for key, value in getattr(settings, name).items():
                is_file = isinstance(value, SecretSource) and value.file is not None
                found = value.model_copy(update={"file": str(self._absolute(value.file))}) if is_file else value
                values.setdefault(name, {})[key] = found
                origins[f"{name}.{key}"] = origin

    def _origin(self, location: tuple[str | int, ...]) -> str:
        return f"{self.path.name} {_table_label(self.path, location)}".rstrip()

    def _absolute(self, path: str) -> Path:
        return absolute_path(self.path.parent / path)

    def _relative_path(self, bundle: Path) -> str | None:
        """Return the path of the folder of a bundle from the configuration, `` for the same one; None outside."""
        folder, root = absolute_path(bundle), absolute_path(self.path).parent
        if not folder.is_relative_to(root):
            folder, root = folder.resolve(), root.resolve()
        if not folder.is_relative_to(root):
            return None
        parts = folder.parts[len(root.parts) :]
        return "/".join(parts[:-1] if parts and parts[-1] == TRACE_FILE else parts)


def read_configuration(path: Path) -> Configuration:
    """Read an `eikon.toml` or a `pyproject.toml`.

    Raises:
        UsageError: the file cannot be read; a key is unknown, a value invalid; a tag is used before a table gives it.
    """
    data: object = read_toml(path)
    if path.name == PYPROJECT_FILE and isinstance(data, dict):
        data = pyproject_table(data)
        if data is None:
            raise UsageError(f"{path}: expected a table [{PYPROJECT_TABLE}], got none")
    try:
        tables = ConfigurationTables.model_validate(data)
    except ValidationError as error:
        raise UsageError(_describe_error(path, error)) from None  # the cause would hold values of secrets
    _check_base_urls(path, tables)
    _check_references(path, tables)
    return Configuration(path=path, tables=tables)


def _check_base_urls(path: Path, tables: ConfigurationTables) -> None:
    locations: list[tuple[tuple[str | int, ...], ReplaySettings]] = [(("replay",), tables.replay)]
    locations += [(("env", name, "replay"), each.replay) for name, each in tables.env.items()]
    locations += [(("bundles", number, "replay"), each.replay) for number, each in enumerate(tables.bundles)]
    for location, settings in locations:
        build_url_map(settings.base_urls, f"{path}: {_table_label(path, (*location, 'base_urls'))}")


def _check_references(path: Path, tables: ConfigurationTables) -> None:
    tags: set[str] = set()
    for number, table in enumerate(tables.bundles):
        if table.tag is not None and table.tag not in tags:
            where = _table_label(path, ("bundles", number))
            known = f"one of {', '.join(sorted(tags))}" if tags else "a table above with tags"
            raise UsageError(f"{path}: {where}: tag: expected a tag of an earlier table ({known}), got {table.tag!r}")
        tags.update(table.tags)
    missions = [each.mission for each in tables.quarantine]
    twice = next((each for each in missions if missions.count(each) > 1), None)
    if twice is not None:
        raise UsageError(f"{path}: [[quarantine]]: expected each mission once, got {twice!r} twice; remove one of them")


def _matches(pattern: str, relative: str) -> bool:
    """Return whether a pattern matches a path or one of the folders that it is in."""
    path = f"{relative}/" if relative else ""
    return _expression(pattern).match(path) is not None


@lru_cache
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile("".join(map(_segment_expression, pattern.split("/"))))


def _segment_expression(segment: str) -> str:
    if segment in {"", "."}:
        return ""
    if segment == "**":
        return "(?:[^/]+/)*"
    texts = {"*": "[^/]*", "?": "[^/]"}
    return "".join(texts.get(character) or re.escape(character) for character in segment) + "/"


def _describe_error(path: Path, error: ValidationError) -> str:
    """Describe the first fault with its table; the values of secrets are not shown."""
    faults = error.errors(include_url=False)
    first = faults[0]
    here = [each for each in faults if each["loc"] == first["loc"]]
    table, key = _split_location(first["loc"])
    label = _table_label(path, table)
    more = f" (and {len(faults) - len(here)} more)" if len(faults) > len(here) else ""
    if first["type"] == "extra_forbidden":
        known = ", ".join(_known_keys(table))
        return f"{path}: {label + ': ' if label else ''}unknown key {key!r}: expected one of {known}{more}"
    return f"{path}: {': '.join(filter(None, (label, key, _describe_value_fault(here))))}{more}"


def _describe_value_fault(faults: Sequence[ErrorDetails]) -> str:
    first = faults[0]
    if "secrets" in first["loc"] and first["type"] != "missing":
        return (
            'expected { env = "NAME" } or { file = "PATH" }, perhaps with origins = ["https://shop.example"], '
            "by a name of ASCII letters, digits and underscores"
        )
    if first["type"] in {"model_type", "dict_type"}:
        return f"expected a table, got {describe_value(first['input'])}"
    if first["type"] == "missing":
        return "this key is missing"
    return describe_fault(faults)


def _split_location(location: tuple[str | int, ...]) -> tuple[tuple[str | int, ...], str]:
    """Return the table of a fault and its key; the key is empty if the fault is that of a whole table of a list."""
    parts = [part for part in location if part != "[key]"]
    lists = {"bundles", "quarantine"}
    while len(parts) > 1 and isinstance(parts[-1], int) and parts[-2] not in lists:
        parts.pop()  # an item of a list of texts
    if parts and isinstance(parts[-1], int):
        return tuple(parts), ""
    return tuple(parts[:-1]), str(parts[-1]) if parts else ""


def _known_keys(table: tuple[str | int, ...]) -> tuple[str, ...]:
    model: type[FileModel]
    match [part for part in table if isinstance(part, str)]:
        case []:
            model = ConfigurationTables
        case ["env", _]:
            model = EnvironmentTable
        case ["bundles"]:
            model = BundleTable
        case ["quarantine"]:
            model = QuarantinedMission
        case [*_, "secrets", _]:
            model = SecretSource
        case _:
            model = ReplaySettings
    return tuple(model.model_fields)


def _table_label(path: Path, location: tuple[str | int, ...]) -> str:
    """Return a table as it is written in the file, such as `[env.staging.replay]`; tables of lists have numbers."""
    prefix = (PYPROJECT_TABLE,) if path.name == PYPROJECT_FILE else ()
    names = ".".join((*prefix, *(part for part in location if isinstance(part, str))))
    match location:
        case (str() as name, int() as number):
            return f"[[{'.'.join((*prefix, name))}]] {number + 1}"
        case (str() as name, int() as number, *_):
            return f"[[{'.'.join((*prefix, name))}]] {number + 1}, [{names}]"
        case _:
            return f"[{names}]" if names else ""
