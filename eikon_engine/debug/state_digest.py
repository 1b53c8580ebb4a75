"""The state of a mission after a step, as one digest per layer, so that states are compared without storing them."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, get_args

from pydantic import Field

from eikon_engine.divergence.masks import mask_observation, remove_masked_storage, unmasked_misses
from eikon_engine.errors import InternalError
from eikon_engine.files.models import FileModel
from eikon_engine.outcome.events import SkillRun
from eikon_engine.trace.execution import Failed
from eikon_engine.trace.masks import RequestPart

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

    from eikon_engine.browser.observation import CapturedObservation
    from eikon_engine.browser.worker import PerformedAction, Worker
    from eikon_engine.outcome.events import ActionPerformed
    from eikon_engine.outcome.outcomes import NetworkMiss
    from eikon_engine.replay.step import IsExpected
    from eikon_engine.trace.execution import Result
    from eikon_engine.trace.masks import Mask
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
    captured: CapturedObservation,
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
    observation = _masked_observation(captured, masks)
    pages = observation.pages
    return StateDigest(
        dom=_digest(
            [(page.page, [(each.path, each.digest, each.visibility) for each in page.frames]) for page in pages]
        ),
        url=_digest([(page.page, page.url, [each.url for each in page.frames]) for page in pages]),
        title=_digest([(page.page, page.title) for page in pages]),
        storage=_digest(_to_json(each for each in observation.storage or () if not each.is_brief)),
        target=_digest(_to_json([] if observation.target is None else [observation.target])),
        network=_digest(
            _to_json(observation.documents),
            observation.requests,
            observation.writes,
            sorted((each.key, each.reason) for each in unmasked_misses(misses, masks)),
        ),
        console=_digest(sorted(observation.console_errors), sorted(observation.page_errors)),
        dialogs=_digest(
            _to_json(observation.dialogs), _to_json(observation.downloads), observation.opened, observation.closed
        ),
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


def _masked_observation(captured: CapturedObservation, masks: tuple[Mask, ...]) -> Observation:
    """Return an observation without what masks exclude."""
    observation = captured.observation
    if not masks:
        return observation
    observation = remove_masked_storage(mask_observation(observation, captured.snapshots.get, masks), masks, set())
    parts = [mask.part for mask in masks if isinstance(mask.part, RequestPart)]

    def is_compared(key: str) -> bool:
        return not any(part.matches(key) for part in parts)

    writes = None if observation.writes is None else tuple(filter(is_compared, observation.writes))
    return observation.model_copy(
        update={"requests": tuple(filter(is_compared, observation.requests)), "writes": writes}
    )


def _to_json(values: Iterable[FileModel]) -> list[JsonValue]:
    return [each.model_dump(mode="json") for each in values]


def _digest(*parts: object) -> str:
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


_TIMEOUT_RESULTS: Final = frozenset(
    digest_result(Failed(code=code, message=""))
    for code in ("option-missing", "target-missing", "target-not-actionable", "wait-timeout")
)


class ObservedStates:
    """Record what each step of a worker showed."""

    def __init__(self, worker: Worker, masks: tuple[Mask, ...]) -> None:
        """Start with nothing observed."""
        self.masks = masks
        """What digests exclude."""
        self.digests: dict[int, StateDigest] = {}
        """By iteration."""
        self._worker = worker
        self._counted_misses = 0
        self._result: Result | None = None
        self._last_observed: CapturedObservation | None = None
        self._last_digest: StateDigest | None = None

    @property
    def last_observed(self) -> CapturedObservation:
        """Return the last observation."""
        if self._last_observed is None:
            raise InternalError(_NOT_OBSERVED)
        return self._last_observed

    @property
    def last_digest(self) -> StateDigest:
        """Return its digest."""
        if self._last_digest is None:
            raise InternalError(_NOT_OBSERVED)
        return self._last_digest

    def digest(self, captured: CapturedObservation, result: Result | None) -> StateDigest:
        """Digest an observation after a step with this result."""
        return digest_state(
            captured,
            result=result,
            misses=self._worker.network_outcome().misses[self._counted_misses :],
            masks=self.masks,
            page_ms=self._worker.session.timeline.now_ms,
        )

    def digest_again(self, captured: CapturedObservation) -> StateDigest:
        """Digest pages that were observed again since the last step."""
        return self.digest(captured, self._result)

    def matches(self, expected: StateDigest) -> IsExpected:
        """Return a predicate: whether an action led to the expected state."""

        def shows(performed: PerformedAction) -> bool:
            return performed.captured is None or self.digest(performed.captured, performed.result) == expected

        return shows

    def record_observation(self, captured: CapturedObservation) -> StateDigest:
        """Record an observation between two steps."""
        self._last_observed, self._last_digest = captured, self.digest_again(captured)
        return self._last_digest

    def record_step(self, iteration: int, event: ActionPerformed | SkillRun, performed: PerformedAction | None) -> None:
        """Record what a step showed; `performed` is the last performed action."""
        self._result = event.outcome.result
        if isinstance(event, SkillRun) or self._result is None:
            output = event.output.model_dump(mode="json") if isinstance(event, SkillRun) else None
            self._last_digest = self.last_digest.model_copy(update={"result": digest_result(self._result, output)})
        else:
            self._last_observed = (
                performed.captured if performed is not None and performed.captured is not None else self.last_observed
            )
            self._last_digest = self.digest(self._last_observed, self._result)
        self._counted_misses = len(self._worker.network_outcome().misses)
        self.digests[iteration] = self._last_digest


_NOT_OBSERVED = "a context is used before its pages were observed"
