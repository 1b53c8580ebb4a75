"""Compare environments: settings must equal the recorded ones; given properties may differ and are listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.outcome.divergence import Divergence
from eikon_engine.trace.environment import Environment, PageEnvironment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eikon_engine.divergence.comparison import StepPosition
    from eikon_engine.files.models import FileModel

Aspect: TypeAlias = Literal["pixels", "text metrics"]

_RENDERING: Final[tuple[Aspect, ...]] = ("pixels", "text metrics")
GIVEN_PROPERTIES: Final[Mapping[str, tuple[Aspect, ...]]] = {
    "browser_version": _RENDERING,
    "playwright_version": (),
    "platform": _RENDERING,
    "flags": _RENDERING,
    "browser_kind": _RENDERING,
    "fonts_digest": _RENDERING,
}
"""Properties that a replay cannot set, with the aspects that are not comparable if they differ. DOM, requests, URLs and
values are always compared."""

LAYERS_WITHOUT_ENVIRONMENT_CAUSE: Final = frozenset({"environment", "skill"})
"""Layers whose divergences the given properties cannot cause, or that already name the difference."""
UNKNOWN: Final = "unknown"
SHOWN_DIGITS: Final = 12
_VERSION_NUMBERS: Final = 4
"""MAJOR.MINOR.BUILD.PATCH, where MAJOR.MINOR.BUILD is the branch."""


def detect_environment(place: StepPosition, recorded: Environment | None, here: Environment) -> Iterator[Divergence]:
    """Compare the settings of the environment, as configured and as visible to pages."""
    if recorded is None:
        return
    parts = (name for name in Environment.model_fields if name not in GIVEN_PROPERTIES and name != "page_view")
    yield from _setting_changes(place, recorded, here, tuple(parts))
    if recorded.page_view is not None and here.page_view is not None:
        yield from _setting_changes(place, recorded.page_view, here.page_view, tuple(PageEnvironment.model_fields))


def environment_differences(recorded: Environment | None, here: Environment) -> tuple[str, ...]:
    """Return the given properties that differ as `name: recorded -> here`, with the aspects that are not comparable."""
    if recorded is None:
        return ("the recording has no environment; the replay used its own",)
    return tuple(
        f"{name}: {' -> '.join(_format_values(name, recorded, here))}{_not_comparable(GIVEN_PROPERTIES[name])}"
        for name in _differing(recorded, here)
    )


def is_comparable(aspect: Aspect, recorded: Environment | None, here: Environment) -> bool:
    """Return whether an aspect is comparable between two environments."""
    return recorded is not None and not any(aspect in GIVEN_PROPERTIES[name] for name in _differing(recorded, here))


def possible_environment_cause(first: Divergence, recorded: Environment | None, here: Environment) -> str | None:
    """Describe the differing environment if it may have caused a divergence; None if it cannot have."""
    if first.layer in LAYERS_WITHOUT_ENVIRONMENT_CAUSE:
        return None
    if recorded is None:
        return "possible cause: the recording has no environment, and the replay used its own"
    names = _differing(recorded, here)
    if not names:
        return None
    parts = ", ".join(f"{name} {' -> '.join(_format_values(name, recorded, here))}" for name in names)
    return f"possible cause: the environment differs: {parts}"


def is_environment_cause_unlikely(first: Divergence, recorded: Environment | None, here: Environment | None) -> bool:
    """Return whether nothing but the last number of the browser's version differs, and the divergence shows it nowhere.

    Chromium's releases of one branch, 156.0.8078.79 and 156.0.8078.114, have the same features: the later one has bug
    fixes (https://www.chromium.org/developers/version-numbers).
    """
    if recorded is None or here is None or _differing(recorded, here) != ("browser_version",):
        return False
    if recorded.browser_version in first.expected or here.browser_version in first.observed:
        return False
    before, after = (each.browser_version.split(".") for each in (recorded, here))
    return len(before) == len(after) == _VERSION_NUMBERS and before[:-1] == after[:-1]


def _differing(recorded: Environment, here: Environment) -> tuple[str, ...]:
    return tuple(
        name
        for name in GIVEN_PROPERTIES
        if getattr(recorded, name) != getattr(here, name) and _is_recorded(name, recorded)
    )


def _is_recorded(name: str, recorded: Environment) -> bool:
    """Return whether the recording knows a property. Unknown kind and flags are ignored; unknown fonts differ."""
    return name not in {"browser_kind", "flags"} or bool(getattr(recorded, name))


def _format_values(name: str, recorded: Environment, here: Environment) -> tuple[str, str]:
    before, after = getattr(recorded, name), getattr(here, name)
    if isinstance(before, tuple):
        return _only_in(before, after), _only_in(after, before)
    cut = SHOWN_DIGITS if name == "fonts_digest" else None
    return str(before)[:cut] or UNKNOWN, str(after)[:cut] or UNKNOWN


def _only_in(flags: tuple[str, ...], others: tuple[str, ...]) -> str:
    """Return the flags that are only in the first list, or a note that only the order differs."""
    own = [flag for flag in flags if flag not in others]
    return " ".join(own) or ("different order" if set(flags) == set(others) else "none")


def _not_comparable(aspects: tuple[Aspect, ...]) -> str:
    return f" (not comparable: {', '.join(aspects)})" if aspects else ""


def _setting_changes(
    place: StepPosition, recorded: FileModel, here: FileModel, names: tuple[str, ...]
) -> Iterator[Divergence]:
    for name in names:
        before, after = getattr(recorded, name), getattr(here, name)
        if before != after:
            yield Divergence(
                code="environment-changed",
                layer="environment",
                subgoal=place.subgoal,
                subgoal_id=place.subgoal_id,
                sequence=place.sequence,
                expected=f"{name}: {before}",
                observed=f"{name}: {after}",
                message=f"The replay could not reproduce the recorded {name}.",
            )
