"""Which properties identify an element."""

from __future__ import annotations

import pytest

from eikon_engine.trace.target import (
    Ancestor,
    Box,
    Identity,
    Target,
    identity_differences,
    identity_weakness,
    target_differences,
)

STRONG = (
    Identity(tag="button", name="Buy"),
    Identity(tag="p", text="Price"),
    Identity(tag="div", attributes=(("id", "cart"),)),
    Identity(tag="a", attributes=(("href", "/help"),)),
    Identity(tag="i", attributes=(("data-testid", "star"), ("type", "x"))),
)
WEAK = (
    Identity(tag="button"),
    Identity(tag="i", role="img", attributes=(("role", "img"),), ordinal=3),
    Identity(tag="input", attributes=(("type", "checkbox"),), ancestors=(Ancestor(tag="form", id="order"),)),
)


@pytest.mark.parametrize("identity", STRONG)
def test_a_naming_property_makes_an_identity_strong(identity: Identity) -> None:
    """One identifying property is sufficient."""
    assert identity_weakness(identity) is None


@pytest.mark.parametrize("identity", WEAK)
def test_tag_and_position_alone_are_weak(identity: Identity) -> None:
    """Tag and position change with the elements around."""
    assert "only its position" in (identity_weakness(identity) or "")


def test_every_property_but_the_box_is_compared() -> None:
    """The box is not compared because it depends on fonts."""
    one = Identity(tag="a", name="Help", box=Box(x=0, y=0, width=1, height=1))
    other = one.model_copy(update={"box": Box(x=9, y=9, width=1, height=1)})

    assert identity_differences(one, other) == ()
    assert identity_differences(one, one.model_copy(update={"ordinal": 2})) == ("ordinal: 0 -> 2",)


@pytest.mark.parametrize(
    ("recorded", "observed", "is_same"),
    [
        ("prices.csv14s ago", "prices.csv15s ago", True),
        ("saved Just now", "saved a few seconds ago", True),
        ("edited a minute ago", "edited 2 min ago", True),
        ("2 mins ago by Ann", "1 min ago by Ann", True),
        ("2 mins ago by Ann", "1 min ago by Bob", False),
        ("2 mins ago", "4 mins ago", False),
        ("3 days ago", "4 days ago", False),
        ("14s ago, 3s ago", "14s ago", False),
        ("order 14", "order 15", False),
    ],
)
def test_the_text_of_an_element_with_a_name_may_age(recorded: str, observed: str, *, is_same: bool) -> None:
    """A page shows another age a moment later."""
    one, other = (Identity(tag="li", name="Prices", text=text) for text in (recorded, observed))

    found = target_differences(Target(selector='role=listitem[name="Prices"]', identity=one), other)

    assert found == (() if is_same else (f"text: {recorded!r} -> {observed!r}",))


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("li", ("", "")),
        ("li", ("1m ago", "2m ago")),
        ("text=Ann", ("Ann", "Bob")),
        ("text=Open >> nth=1", ("Open", "Open")),
        ("li.selected", ("Open", "Open")),
    ],
)
def test_elements_that_differ_in_nothing_but_their_age_are_different(selector: str, names: tuple[str, str]) -> None:
    """Rows of a list may have no other text."""
    one = Identity(tag="li", name=names[0], text="1m ago")
    other = Identity(tag="li", name=names[1], text="2m ago")

    assert "text: '1m ago' -> '2m ago'" in target_differences(Target(selector=selector, identity=one), other)


def test_a_position_among_equal_ages_is_not_compared() -> None:
    """Positions count elements with the same text."""
    one = Identity(tag="li", name="Prices", text="14s ago", ordinal=1, ordinal_of_kind=1)
    other = one.model_copy(update={"text": "15s ago", "ordinal": 0, "ordinal_of_kind": 0})

    assert target_differences(Target(selector="text=Prices", identity=one), other) == ()


def test_a_position_is_compared_if_nothing_has_aged() -> None:
    """The replay hit another row of the same age."""
    one = Identity(tag="li", name="Prices", text="14s ago", ordinal=1)
    other = one.model_copy(update={"ordinal": 0})

    assert target_differences(Target(selector="text=Prices", identity=one), other) == ("ordinal: 1 -> 0",)


def test_a_text_that_was_cut_may_age() -> None:
    """The age may push out its last character."""
    one, other = (Identity(tag="li", name="a", text=(age + "x" * 300)[:200]) for age in ("9s ago ", "10s ago "))

    assert target_differences(Target(selector="text=a", identity=one), other) == ()


def test_the_narrower_position_is_compared_if_both_were_recorded() -> None:
    """Older recordings have only the one that counts all elements with the same tag and text."""
    old = Identity(tag="p", ordinal=1)
    new = old.model_copy(update={"ordinal": 2, "ordinal_of_kind": 0})

    assert identity_differences(new, new.model_copy(update={"ordinal": 3})) == ()
    assert identity_differences(new, new.model_copy(update={"ordinal_of_kind": 1})) == ("ordinal: 0 -> 1",)
    assert identity_differences(old, new) == ("ordinal: 1 -> 2",)


@pytest.mark.parametrize(
    ("identity", "selector", "is_compared"),
    [
        (Identity(tag="a", name="Help", text="Help"), 'internal:role=link[name="Help"i]', True),
        (Identity(tag="i"), "i", True),
        (Identity(tag="button", name="Close"), 'internal:role=button[name="Close"i]', False),
        (Identity(tag="button", name="Close"), 'internal:role=button[name="close"i] >> nth=1', True),
        (Identity(tag="button", name="Delete"), "#list > :last-child button", True),
        (Identity(tag="button", name="Delete"), "xpath=(//button)[3]", True),
        (Identity(tag="input", name="Item *"), 'internal:label="Item"i', False),
        (Identity(tag="input", name="First name"), 'internal:label="First name"i', False),
        (Identity(tag="input", name="Text of the note"), 'form [type="text"]', True),
        (Identity(tag="input", name="Price", attributes=(("id", "item"),)), "form input", True),
        (Identity(tag="input", attributes=(("id", "item"),)), "form #item", False),
        (Identity(tag="input", attributes=(("id", "item"),)), "form #item >> nth=2", True),
        (Identity(tag="input", name="Items"), 'internal:label="Items"i >> [name="items[2]"]', False),
    ],
)
def test_an_ordinal_is_compared_unless_name_or_id_is_enough(
    identity: Identity,
    selector: str,
    is_compared: bool,  # noqa: FBT001 - of the test
) -> None:
    """All buttons without a text have a common count, which another icon in front changes."""
    target = Target(selector=selector, identity=identity)

    differences = target_differences(target, identity.model_copy(update={"ordinal": 2}))

    assert differences == (("ordinal: 0 -> 2",) if is_compared else ())


def test_urls_of_blobs_are_not_compared() -> None:
    """The browser draws each of them."""
    one, other = (
        Identity(tag="a", name="Save", attributes=(("href", f"blob:http://shop.test/{uuid}"),))
        for uuid in ("7c9e6679-7425-40de-944b-e07fc1f90ae7", "16fd2706-8baf-433b-82eb-8c7fada847da")
    )

    assert identity_differences(one, other) == ()


@pytest.mark.parametrize(
    ("recorded", "observed"),
    [
        (":r1:", ":r7:"),
        ("react-aria4711-:r3:", "react-aria0815-:r5:"),
        ("field-7c9e6679-7425-40de-944b-e07fc1f90ae7", "field-16fd2706-8baf-433b-82eb-8c7fada847da"),
        ("k3j9x2p1qz", "9f0w3mzla1"),
        ("row-1763873000123", "row-1763873000456"),
        ("mui-12", ""),
        ("ag-62-input", "ag-71-input"),
        ("modebar-1f0c9e", "modebar-22aa07"),
    ],
)
def test_generated_ids_are_neither_compared_nor_evidence(recorded: str, observed: str) -> None:
    """They differ in the next run: an element with another one is the same, and nothing but one leaves it weak."""
    one = Identity(
        tag="input",
        attributes=(("for", recorded), ("id", recorded), ("name", recorded)),
        ancestors=(Ancestor(tag="form", id=recorded),),
    )
    other = Identity(
        tag="input", attributes=(("id", observed),) if observed else (), ancestors=(Ancestor(tag="form", id=observed),)
    )

    assert identity_differences(one, other) == ()
    assert identity_weakness(one) is not None


@pytest.mark.parametrize(("recorded", "observed"), [("card-12", "card-13"), ("iphone15pro", "galaxy24pro"), ("q", "")])
def test_ids_that_someone_chose_are_compared(recorded: str, observed: str) -> None:
    """A number or a word in an id makes it no generated one."""
    one, other = (Identity(tag="p", attributes=(("id", each),) if each else ()) for each in (recorded, observed))

    assert len(identity_differences(one, other)) == 1
    assert identity_weakness(one) is None


EDIT = (Ancestor(tag="fieldset", role="group"), Ancestor(tag="form", id="edit"), Ancestor(tag="div", id="content"))
WRAPPER = Ancestor(tag="div")


@pytest.mark.parametrize(
    ("attributes", "observed", "is_same"),
    [
        ((("id", "text"),), (WRAPPER, WRAPPER, *EDIT), True),
        ((("id", "text"),), (WRAPPER, EDIT[0], WRAPPER, EDIT[1]), True),
        ((("id", "text"),), (WRAPPER, EDIT[0], Ancestor(tag="form", id=":r2:")), False),
        ((("id", "text"),), (*(WRAPPER,) * 4, EDIT[0]), False),
        ((("id", "text"),), EDIT[1:], False),
        ((("id", "text"),), (Ancestor(tag="div", id="dialog"), *EDIT), False),
        ((("id", "text"),), (Ancestor(tag="div", role="dialog"), *EDIT), False),
        ((("id", "text"),), (WRAPPER,) * 5, False),
        ((("name", "text"),), (WRAPPER, *EDIT), False),
        ((("id", ":r1:"),), (WRAPPER, *EDIT), False),
    ],
)
def test_an_element_with_an_id_may_be_wrapped(
    attributes: tuple[tuple[str, str], ...],
    observed: tuple[Ancestor, ...],
    is_same: bool,  # noqa: FBT001 - of the test
) -> None:
    """Scripts wrap fields to make them resizable, once the page is loaded."""
    recorded = Identity(tag="textarea", attributes=attributes, ancestors=EDIT)
    other = recorded.model_copy(update={"ancestors": observed, "ordinal_of_kind": 1})

    assert (target_differences(Target(selector="textarea", identity=recorded), other) == ()) == is_same


def test_a_wrapped_element_keeps_its_position_and_may_be_in_generated_ones() -> None:
    """Ids need not be unique: a selector that counts may find another element."""
    attributes, around = (("id", "delete"),), (Ancestor(tag="td", id=":r1:"), Ancestor(tag="tr"))
    recorded = Identity(tag="button", name="Delete", attributes=attributes, ancestors=around)
    wrapped = (WRAPPER, Ancestor(tag="td", id=":r2:"), Ancestor(tag="tr"))
    other = recorded.model_copy(update={"ancestors": wrapped, "ordinal_of_kind": 3})
    target = Target(selector="button >> nth=7", identity=recorded)

    assert target_differences(target, other) == ()
    assert target_differences(target, other.model_copy(update={"ordinal": 7})) == ("ordinal: 0 -> 7",)


@pytest.mark.parametrize(
    ("title", "name", "is_same"),
    [(None, "View", True), ("View", "View", True), ("Show", "View", False), (None, "Show", False)],
    ids=["taken away", "kept", "another title", "another name"],
)
def test_a_title_may_be_taken_away_for_a_tooltip(title: str | None, name: str, is_same: bool) -> None:  # noqa: FBT001
    """Bootstrap moves the title of a link to another attribute once the page is loaded; the link keeps its name."""
    attributes = (("href", "/customers/3"), ("title", "View"))
    recorded = Identity(tag="a", role="link", name="View", attributes=attributes)
    left = attributes[:1] if title is None else (attributes[0], ("title", title))
    other = recorded.model_copy(update={"name": name, "attributes": left})

    assert (target_differences(Target(selector="a", identity=recorded), other) == ()) == is_same


def test_texts_that_count_as_the_same_are_no_difference() -> None:
    """In name, text and attributes; all else is compared."""
    one = Identity(tag="li", name="prices, 1:35", text="1:35", attributes=(("title", "1:35"), ("id", "a")))
    other = Identity(tag="li", name="prices, 1:38", text="1:38", attributes=(("title", "1:38"), ("id", "b")))

    def is_same(recorded: str, observed: str) -> bool:
        return recorded.replace("1:35", "1:38") == observed

    found = target_differences(Target(selector="li", identity=one), other, is_same)

    assert found == ("attribute id: 'a' -> 'b'",)
