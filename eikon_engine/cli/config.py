"""`eikon config`: what is configured, and where."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from eikon_engine.cli.command import command
from eikon_engine.cli.configured_options import ConfigurationChoice, configuration_options, find_chosen_configuration
from eikon_engine.cli.shared_options import bundle_argument

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.suite import BundleSettings, Configuration

_HEAD: Final = ("SETTING", "VALUE", "ORIGIN")
_DEFAULT: Final = "default"
_MAPPINGS: Final = ("base_urls", "variables", "secrets")


@command("config")
@bundle_argument(required=False, type=click.Path(exists=True, path_type=Path))
@configuration_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output.")
def config_command(*, bundle: Path | None, configuration: ConfigurationChoice, as_json: bool) -> int:
    """Show the settings of replays and which table of the configuration each comes from.

    With BUNDLE, those of this bundle, else what holds for all. Values of secrets are not read; their sources are shown.
    `eikon replay` and `eikon suite run` use them, too, unless they get --no-config.

    Exit status: 0 shown, also if there is no configuration; 2 usage, or the configuration is invalid.
    """
    start = Path.cwd() if bundle is None else bundle
    found = find_chosen_configuration(configuration, start)
    if found is None:
        click.echo(_without_configuration(configuration, start, as_json=as_json), nl=False)
        return 0
    settings = found.settings_for(bundle, configuration.environment)
    rows = list(_rows(settings))
    if as_json:
        click.echo(_as_json(found, settings, rows, environment=configuration.environment), nl=False)
    else:
        click.echo(_as_text(found, settings, rows), nl=False)
    return 0


def _without_configuration(choice: ConfigurationChoice, start: Path, *, as_json: bool) -> str:
    from eikon_engine.outcome.terminal import safe_lines
    from eikon_engine.suite.configuration_search import CONFIGURATION_FILE, searched_folders

    folders = () if choice.is_ignored else tuple(map(str, searched_folders(start)))
    if as_json:
        return f"{json.dumps({'file': None, 'searched': folders}, indent=2)}\n"
    where = "not searched" if choice.is_ignored else "searched:"
    lines = (f"no configuration ({CONFIGURATION_FILE}, or [tool.eikon] of pyproject.toml); {where}", *folders)
    return safe_lines(lines)


def _rows(settings: BundleSettings) -> Iterator[tuple[str, Any, str]]:
    """Yield name, value and origin of each setting; secrets have their sources as values."""
    from eikon_engine.suite.configuration import ReplaySettings

    configured: dict[str, Any] = dict(settings.replay.items())
    if settings.artifacts_dir is not None:
        configured["artifacts_dir"] = str(settings.artifacts_dir)
    for name in ("artifacts_dir", *ReplaySettings.model_fields):
        if name not in _MAPPINGS:
            yield name, configured.get(name, _default(name)), settings.origins.get(name, _DEFAULT)
    for name in _MAPPINGS:
        for key, value in getattr(settings.replay, name).items():
            entry = f"{name}.{key}"
            yield entry, value if isinstance(value, str) else str(value), settings.origins[entry]


def _default(name: str) -> object:
    """Return the default of a setting, that of the option of the same name; None if it depends on the bundle."""
    from eikon_engine.replay.options import ReplayOptions

    default = next((each.default for each in fields(ReplayOptions) if each.name == name), None)
    return None if default is MISSING else default


def _as_text(found: Configuration, settings: BundleSettings, rows: Sequence[tuple[str, Any, str]]) -> str:
    from eikon_engine.outcome.terminal import safe_line

    shown = [_HEAD, *((name, _value_text(value), origin) for name, value, origin in rows)]
    shown.append(("tags", ", ".join(sorted(settings.tags)) or "-", ""))
    cells = [[safe_line(cell) for cell in row] for row in shown]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        f"configuration: {safe_line(str(found.path))}",
        f"environments: {safe_line(', '.join(found.environments)) or '-'}",
        "",
        *("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells),
    ]
    return "".join(f"{line}\n" for line in lines)


def _value_text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _as_json(
    found: Configuration, settings: BundleSettings, rows: Sequence[tuple[str, Any, str]], *, environment: str | None
) -> str:
    data = {
        "file": str(found.path),
        "environment": environment,
        "environments": found.environments,
        "tags": sorted(settings.tags),
        "settings": [{"setting": name, "value": value, "origin": origin} for name, value, origin in rows],
    }
    return f"{json.dumps(data, indent=2, ensure_ascii=False)}\n"
