"""Storage is compared by name, and by value where values do not depend on time."""

from __future__ import annotations

import pytest

from eikon_engine.divergence.comparison import Comparison, StepPosition
from eikon_engine.divergence.detectors.storage import detect_storage
from eikon_engine.divergence.masks import remove_masked_storage
from eikon_engine.trace.actions import Note
from eikon_engine.trace.execution import ActionTrace, Succeeded
from eikon_engine.trace.masks import Mask, StoragePart
from eikon_engine.trace.observation import Observation, StoredItem

SESSION = StoredItem(kind="cookie", place="shop.test/", name="session", digest="a" * 64)
CART = StoredItem(kind="local", place="http://shop.test", name="cart", digest="b" * 64)
OTHER = CART.model_copy(update={"digest": "c" * 64})


def found(
    before: tuple[StoredItem, ...] | None,
    after: tuple[StoredItem, ...] | None,
    *,
    storage: bool = True,
    values: bool = True,
) -> list[str]:
    """Return the codes of the differences."""
    recorded = Observation(pages=(), storage=before)
    comparison = Comparison(
        position=StepPosition(subgoal="s__attempt_1", subgoal_id="s", sequence=1),
        recorded=ActionTrace(id="a", sequence=1, action=Note(text="x"), result=Succeeded(), observation=recorded),
        result=Succeeded(),
        observed=Observation(pages=(), storage=after),
        is_sealed=storage,
        compares_stored_values=values,
    )
    return [each.code for each in detect_storage(comparison)]


@pytest.mark.parametrize(
    ("before", "after", "codes"),
    [
        ((SESSION, CART), (SESSION, CART), []),
        ((SESSION, CART), (CART,), ["storage-missing"]),
        ((CART,), (SESSION, CART), ["storage-unexpected"]),
        ((SESSION, CART), (SESSION, OTHER), ["storage-changed"]),
        (None, (CART,), []),
    ],
)
def test_what_differs_is_found(
    before: tuple[StoredItem, ...] | None, after: tuple[StoredItem, ...] | None, codes: list[str]
) -> None:
    """Differences are found; storage that an older recording lacks is not compared."""
    assert found(before, after) == codes


def test_storage_values_and_live_storage_are_not_compared() -> None:
    """Only names are compared if values contain times; live sites are not compared, since they contain sessions."""
    assert found((CART,), (OTHER,), values=False) == []
    assert found((CART,), (SESSION,), values=False) == ["storage-unexpected", "storage-missing"]
    assert found((CART,), (), storage=False) == []


def test_what_a_mask_names_is_not_compared() -> None:
    """A mask names a storage entry by its name."""
    names: set[str] = set()
    mask = Mask(name="m", reason="it is random", part=StoragePart(name="car*"))

    left = remove_masked_storage(Observation(pages=(), storage=(CART, SESSION)), [mask], names)

    assert left.storage == (SESSION,)
    assert names == {"m"}
