"""The state of a mission after a step, as one digest per layer, so that states are compared without storing them."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, get_args

from pydantic import Field

from eikon_engine.divergence.masked_requests import remove_masked_storage, unmasked_misses
from eikon_engine.divergence.masks import mask_observation
from eikon_engine.trace.execution import Failed
from eikon_engine.trace.mask import RequestPart
from eikon_engine.trace.record import FileModel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

    from eikon_engine.browser.observe import CapturedObservation
    from eikon_engine.outcome.outcomes import NetworkMiss
    from eikon_engine.trace.execution import Result
    from eikon_engine.trace.mask import Mask
    from eikon_engine.trace.observation import Observation

StateLayer: TypeAlias = Literal[
    "dom", "url", "title", "storage", "target", "network", "console", "dialogs", "clock", "result"
]
STATE_LAYERS: tuple[StateLayer, ...] = get_args(StateLayer)
"""All layers, in the order in which differences are reported."""
PERSISTENT_LAYERS: frozenset[StateLayer] = frozenset({"dom", "url", "title", "storage", "clock"})
"""Layers that idle pages keep; the others describe what a step did."""

Sha256: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class StateDigest(FileModel):
    """SHA-256 of each layer that a replay compares, in lower-case hex; see `digest_state`."""

    dom: Sha256
    """Frames of all pages with the digests of their documents."""
    url: Sha256
    """URLs of pages and frames."""
    title: Sha256
    storage: Sha256
    """Cookies and storage items, without cookies that expire within a day of the real clock."""
    target: Sha256
    """Value of the step's target element."""
    network: Sha256
    """Keys of the step's requests, those missing from the recording, and the received documents."""
    console: Sha256
    dialogs: Sha256
    """Dialogs with their responses, downloads, and opened and closed pages."""
    clock: Sha256
    """Page time, in whole milliseconds."""
    result: Sha256
    """How the step ended."""

    def differences(self, other: StateDigest) -> tuple[StateLayer, ...]:
        """Return the layers that differ."""
        return tuple(layer for layer in STATE_LAYERS if getattr(self, layer) != getattr(other, layer))


def digest_state(
    sight: CapturedObservation,
    *,
    result: Result | None = None,
    misses: tuple[NetworkMiss, ...] = (),
    masks: tuple[Mask, ...] = (),
    page_ms: float = 0.0,
) -> StateDigest:
    """Digest the state after a step, without what `masks` exclude.

    Also excluded is what replays do not compare: failure messages, page time used by actions, short-lived cookies.
    `page_ms` is the page time at the end of the step, `misses` are those of the step.
    """
    seen = _masked_observation(sight, masks)
    pages = seen.pages
    return StateDigest(
        dom=_digest(
            [(page.page, [(each.path, each.digest, each.visibility) for each in page.frames]) for page in pages]
        ),
        url=_digest([(page.page, page.url, [each.url for each in page.frames]) for page in pages]),
        title=_digest([(page.page, page.title) for page in pages]),
        storage=_digest(_to_json(each for each in seen.storage or () if not each.is_brief)),
        target=_digest(_to_json([] if seen.target is None else [seen.target])),
        network=_digest(
            _to_json(seen.documents),
            seen.requests,
            seen.writes,
            sorted((each.key, each.reason) for each in unmasked_misses(misses, masks)),
        ),
        console=_digest(sorted(seen.console_errors), sorted(seen.page_errors)),
        dialogs=_digest(_to_json(seen.dialogs), _to_json(seen.downloads), seen.opened, seen.closed),
        clock=_digest(round(page_ms)),
        result=digest_result(result),
    )


def digest_result(result: Result | None, output: JsonValue = None) -> str:
    """Digest how a step ended, and the output of a skill."""
    if result is None:
        return _digest(None, output)
    return _digest([result.kind, getattr(result, "code", None)], output)


def is_timeout(seen: StateDigest) -> bool:
    """Return whether the step timed out waiting for something."""
    return seen.result in _TIMEOUT_RESULTS


def _masked_observation(sight: CapturedObservation, masks: tuple[Mask, ...]) -> Observation:
    """Return an observation without what masks exclude."""
    seen = sight.observation
    if not masks:
        return seen
    seen = remove_masked_storage(mask_observation(seen, sight.snapshots.get, masks), masks, set())
    parts = [mask.part for mask in masks if isinstance(mask.part, RequestPart)]

    def is_compared(key: str) -> bool:
        return not any(part.matches(key) for part in parts)

    writes = None if seen.writes is None else tuple(filter(is_compared, seen.writes))
    return seen.model_copy(update={"requests": tuple(filter(is_compared, seen.requests)), "writes": writes})


def _to_json(values: Iterable[FileModel]) -> list[JsonValue]:
    return [each.model_dump(mode="json") for each in values]


def _digest(*parts: object) -> str:
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


_TIMEOUT_RESULTS: Final = frozenset(
    digest_result(Failed(code=code, message=""))
    for code in ("option-missing", "target-missing", "target-not-actionable", "wait-timeout")
)
