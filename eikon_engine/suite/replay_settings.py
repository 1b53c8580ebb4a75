"""Arguments of `ReplayOptions` from what is configured for a bundle, below what was chosen for one run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.errors import RequirementError
from eikon_engine.files.paths import safe_file_name
from eikon_engine.gates import read_gates_file
from eikon_engine.replay.ignore_file import read_ignore_file
from eikon_engine.replay.plan import choose_network
from eikon_engine.trace.variables import used_variables

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from eikon_engine.outcome.outcomes import NetworkMode
    from eikon_engine.suite.configuration import BundleSettings
    from eikon_engine.trace.bundle import Bundle

_OPTIONS: Final = {"timeout": "timeout_ms", "ignore": "masks"}
"""Names in `ReplayOptions` of settings and options that have others."""
_SEALED_ONLY: Final = frozenset({"from_step", "har", "responses_from"})
SITE_MODES: Final = frozenset({"live", "recorded-api"})
"""Network modes for which a base URL makes sense."""
_LIVE_ONLY: Final = ("base_urls", "storage_state")


def option_name(name: str) -> str:
    """Return the name in `ReplayOptions` of a setting, or of an option of the command line."""
    return _OPTIONS.get(name, name)


def resolve_replay_settings(
    settings: BundleSettings, bundle: Bundle, options: Mapping[str, Any], given: Collection[str]
) -> dict[str, Any]:
    """Return keyword arguments of `ReplayOptions`: the options with the settings for those that were not given.

    Args:
        settings: what is configured for the bundle.
        bundle: the bundle that will be replayed.
        options: keyword arguments of `ReplayOptions` from the command line, which include secrets of all other sources.
        given: the names in `options` that were given, from `given_options`.

    Raises:
        UsageError: a configured file of masks is invalid.
        YamlError: a configured file of gates is invalid.
        RequirementError: the bundle does not hold what the network mode serves.
    """
    resolved = dict(options)
    for name, value in settings.replay.items():
        option = option_name(name)
        if option not in given:
            resolved[option] = _option_value(name, value)
    if settings.artifacts_dir is not None and "artifacts_dir" not in given:
        resolved["artifacts_dir"] = _artifacts_folder(settings.artifacts_dir, bundle)
    if "network" not in given:
        resolved["network"] = _network(resolved.get("network"), given)
    resolved["base_urls"] = {**settings.replay.base_urls, **options.get("base_urls", {})}
    _drop_unless_live(resolved, bundle, options, given)
    resolved["variables"] = {**_used_variables(settings, bundle), **options.get("variables", {})}
    configured = {name: source.origins for name, source in settings.replay.secrets.items() if source.origins}
    resolved["secret_origins"] = {**configured, **options.get("secret_origins", {})}
    return {**resolved, **_secrets(settings, options.get("secrets", {}), os.environ)}


def _option_value(name: str, value: str | float | tuple[str, ...]) -> object:
    """Return the value of an option from that of a setting."""
    match name:
        case "timeout":
            return float(str(value)) * 1000
        case "ignore":
            return read_ignore_file(Path(str(value)))
        case "gates":
            return read_gates_file(Path(str(value)))
        case "browser_path" | "storage_state":
            return Path(str(value))
        case _:
            return value


def _artifacts_folder(root: Path, bundle: Bundle) -> Path:
    return root / safe_file_name(bundle.trace.mission_id, "mission")


def _network(configured: NetworkMode | None, given: Collection[str]) -> NetworkMode | None:
    """Return the configured network mode; None where a given option implies another one."""
    if not _SEALED_ONLY.isdisjoint(given) and configured != "sealed":
        return None
    return None if "base_urls" in given and configured not in SITE_MODES else configured


def _drop_unless_live(
    resolved: dict[str, Any], bundle: Bundle, options: Mapping[str, Any], given: Collection[str]
) -> None:
    """Replace what is configured for live replays by what was given, if the replay is another one."""
    if all(not resolved.get(name) for name in _LIVE_ONLY):
        return
    implied: NetworkMode | None = "live" if "base_urls" in given else None
    is_sealed = not _SEALED_ONLY.isdisjoint(given)
    network = "sealed" if is_sealed else choose_network(bundle, resolved["network"] or implied)
    dropped = () if network == "live" else _LIVE_ONLY if network != "recorded-api" else ("storage_state",)
    resolved.update({name: options[name] for name in dropped if name in options})


def _used_variables(settings: BundleSettings, bundle: Bundle) -> dict[str, str]:
    if not settings.replay.variables:
        return {}
    used = frozenset(used_variables(bundle.trace))
    return {name: value for name, value in settings.replay.variables.items() if name in used}


def _secrets(
    settings: BundleSettings, provided: Mapping[str, str], environ: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """Return the values of secrets, and why configured ones have none: an error only if the trace needs them."""
    values, missing = dict(provided), {}
    for name, source in settings.replay.secrets.items():
        if name in values:
            continue
        try:
            values[name] = source.read_value(environ)
        except RequirementError as error:
            missing[name] = f"{settings.origins[f'secrets.{name}']}: {error.message}"
    return {"secrets": values, "missing_secrets": missing}
