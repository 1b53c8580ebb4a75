"""State digests, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.browser.observation import CapturedObservation
from eikon_engine.debug.state_digest import STATE_LAYERS, StateDigest, digest_result, digest_state
from eikon_engine.outcome.outcomes import NetworkMiss
from eikon_engine.trace.execution import Failed, Succeeded
from eikon_engine.trace.masks import ConsoleErrorPart, Mask, RequestPart, StoragePart
from eikon_engine.trace.observation import (
    DocumentLoad,
    FrameObservation,
    Observation,
    ObservedDialog,
    ObservedDownload,
    PageObservation,
    StoredItem,
    TargetState,
)

if TYPE_CHECKING:
    from eikon_engine.debug.state_digest import StateLayer

URL = "http://shop.test/cart"
ITEM = StoredItem(kind="local", place="http://shop.test", name="cart", digest="1" * 64)
MISS = NetworkMiss(key="GET http://shop.test/new", reason="not recorded")


def page(**changed: object) -> PageObservation:
    """Return the observation of a page."""
    fields: dict[str, Any] = {"page": 0, "url": URL, "title": "Cart", "frames": (frame(),)}
    return PageObservation(**{**fields, **changed})


def frame(**changed: object) -> FrameObservation:
    """Return the observation of its main frame."""
    fields: dict[str, Any] = {"path": "", "url": URL, "digest": "a" * 64, "visibility": "b" * 64}
    return FrameObservation(**{**fields, **changed})


def state(**changed: object) -> StateDigest:
    """Return the digest of an observation."""
    fields: dict[str, Any] = {"pages": (page(),), "storage": (ITEM,)}
    return digest_state(CapturedObservation(observation=Observation(**{**fields, **changed})))


@pytest.mark.parametrize(
    ("changed", "layer"),
    [
        ({"pages": (page(frames=(frame(digest="c" * 64),)),)}, "dom"),
        ({"pages": (page(frames=(frame(visibility="c" * 64),)),)}, "dom"),
        ({"pages": (page(url=f"{URL}#2"),)}, "url"),
        ({"pages": (page(title="Basket"),)}, "title"),
        ({"storage": (ITEM.model_copy(update={"digest": "2" * 64}),)}, "storage"),
        ({"target": TargetState(value="3")}, "target"),
        ({"requests": ("GET http://shop.test/",)}, "network"),
        ({"writes": ("POST http://shop.test/",)}, "network"),
        ({"documents": (DocumentLoad(page=0, url=URL, status=200),)}, "network"),
        ({"console_errors": ("no",)}, "console"),
        ({"page_errors": ("TypeError: no",)}, "console"),
        ({"dialogs": (ObservedDialog(page=0, kind="alert", message="Hi", answer="accepted"),)}, "dialogs"),
        ({"downloads": (ObservedDownload(page=0, name="a", sha256=None, size=None, failure="cut"),)}, "dialogs"),
        ({"opened": (1,)}, "dialogs"),
    ],
)
def test_each_change_affects_its_layer_only(changed: dict[str, object], layer: StateLayer) -> None:
    """All other digests are equal."""
    assert state(**changed).differences(state()) == (layer,)


def test_clock_result_and_misses_have_digests() -> None:
    """Page time, the result of the step and missing responses count."""
    sight = CapturedObservation(observation=Observation(pages=(page(),)))
    plain = digest_state(sight, result=Succeeded())

    assert digest_state(sight, result=Succeeded(), page_ms=1).differences(plain) == ("clock",)
    assert digest_state(sight, result=Failed(code="wait-timeout")).differences(plain) == ("result",)
    assert digest_state(sight, result=Succeeded(), misses=(MISS,)).differences(plain) == ("network",)
    assert len({digest_result(None), digest_result(Succeeded()), digest_result(Succeeded(), {"price": 3})}) == 3


@pytest.mark.parametrize(
    "changed",
    [
        {"begun_ms": 3.0, "acted_ms": 4.0, "virtual_ms": 5.0},
        {"timer_requests": ("GET http://shop.test/poll",), "loading_pages": (0,)},
        {"storage": (ITEM, ITEM.model_copy(update={"kind": "cookie", "is_brief": True}))},
    ],
)
def test_values_that_replays_ignore_have_no_digest(changed: dict[str, object]) -> None:
    """Action times and short-lived cookies are excluded."""
    assert state(**changed) == state()


def test_order_counts_only_where_it_is_deterministic() -> None:
    """Console errors may occur in any order."""
    assert state(console_errors=("a", "b")) == state(console_errors=("b", "a"))


def test_masked_values_have_no_digest() -> None:
    """Masks exclude requests, missing responses, storage and console errors."""
    masks = tuple(
        Mask(name=name, part=part, reason="it varies")
        for name, part in (
            ("request", RequestPart(key="*shop.test/new*")),
            ("cart", StoragePart(name="cart")),
            ("console", ConsoleErrorPart(prefix="tick")),
        )
    )
    noisy = Observation(
        pages=(page(),), requests=(MISS.key,), writes=(MISS.key,), storage=(ITEM,), console_errors=("tick 3",)
    )
    calm = Observation(pages=(page(),), writes=(), storage=())

    found = digest_state(CapturedObservation(observation=noisy), misses=(MISS,), masks=masks)

    assert found.differences(digest_state(CapturedObservation(observation=calm), masks=masks)) == ()
    assert set(digest_state(CapturedObservation(observation=noisy)).differences(found)) == {
        "network",
        "storage",
        "console",
    }


def test_every_layer_has_a_field() -> None:
    """No layer is missing from a comparison."""
    assert set(STATE_LAYERS) == set(StateDigest.model_fields)
