"""The target of a call is known only where it is unambiguous."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.browser.attach.element_probe import ElementSnapshot, TargetSnapshot
from eikon_engine.record.pending_action import TargetCandidates
from eikon_engine.trace.target import Identity


def identity(name: str) -> Identity:
    """Return the identity of a button with a name."""
    return Identity(tag="button", role="button", name=name)


def seen(name: str | None, *, document: float = 1, hit: bool = False, before: str | None = None) -> TargetSnapshot:
    """Return a probe result with one element of a name, or none."""
    element = ElementSnapshot(count=0) if name is None else ElementSnapshot(count=1, identity=identity(name))
    known = None if before is None else identity(before)
    return TargetSnapshot(
        element=element, document=document, is_before_any_hit=not hit, was_hit=hit, identity_before_hit=known
    )


def settled(*looks: TargetSnapshot, last: TargetSnapshot | None, is_felt: bool = True) -> str | None:
    """Return the name of the element that is known to have been acted on."""
    sightings = TargetCandidates()
    for look in looks:
        sightings.add(look)
    element = sightings.resolve(last, must_be_hit=is_felt)
    return None if element is None or element.identity is None else element.identity.name


def test_the_element_seen_before_the_hit_is_the_target() -> None:
    """The target is the last element seen before the hit, even if it can no longer be found."""
    assert settled(seen(None), seen("Loading"), seen("Go"), last=seen(None, hit=True)) == "Go"
    assert settled(seen("Go"), seen("Gone", hit=True, before="Go"), last=seen("Gone", hit=True)) == "Go"


def test_the_element_remembered_by_the_document_is_the_target_if_none_was_seen() -> None:
    """The element that the selector still matches was hit, and is the target."""
    assert settled(seen(None), last=seen("Gone", hit=True, before="Go")) == "Go"


def test_a_document_that_is_gone_was_acted_on() -> None:
    """The element of the earlier document is the target, because the one of the next document was not hit."""
    assert settled(seen("Go"), last=None) == "Go"
    assert settled(seen("Go"), last=seen(None, document=2)) == "Go"
    assert settled(seen("Go"), seen("Next", document=2), last=seen("Next", document=2)) == "Go"


def test_the_document_in_which_it_was_hit_counts() -> None:
    """An element of the same name in the earlier document was not reached in time."""
    assert settled(seen("Go"), last=seen("Gone", document=2, hit=True, before="Next")) == "Next"


def test_an_ambiguous_element_is_unknown() -> None:
    """The element was seen in two documents without a hit, or in one that was never hit."""
    assert settled(seen("Go"), seen("Next", document=2), last=None) is None
    assert settled(seen("Go"), last=seen("Go")) is None
    assert settled(seen(None), last=seen("Gone")) is None
    assert settled(seen(None), last=seen("Gone", hit=True)) is None


def test_a_call_without_events_needs_no_hit() -> None:
    """A call that failed, or had nothing to do, causes no events."""
    assert settled(seen("Go"), last=seen("Go"), is_felt=False) == "Go"


LOOKS = st.builds(
    seen,
    st.sampled_from([None, "a", "b"]),
    document=st.sampled_from([1.0, 2.0]),
    hit=st.booleans(),
    before=st.sampled_from([None, "c", "d"]),
)


@given(looks=st.lists(LOOKS), last=st.none() | LOOKS, felt=st.sampled_from([True, False]))
def test_an_element_seen_too_late_is_not_recorded(
    looks: list[TargetSnapshot], last: TargetSnapshot | None, *, felt: bool
) -> None:
    """A known element was seen before any hit, or its document remembers it from before."""
    resolved = settled(*looks, last=last, is_felt=felt)
    early = {look.element.identity for look in looks if look.is_before_any_hit}
    before = {look.identity_before_hit for look in (*looks, *([last] if last else []))}

    assert resolved is None or identity(resolved) in early | before
