"""The closed set of deviations from the shop's normal behaviour, one at a time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One deviation of the site."""

    name: str
    where: tuple[str, ...]
    """The requests whose answers differ, as ``METHOD path`` without the query; empty if answers are only delayed."""

    what: str


def _change(line: str) -> Change:
    name, where, what = (part.strip() for part in line.split("|"))
    return Change(name=name, where=tuple(filter(None, where.split(", "))), what=what)


_TABLE = tuple(
    _change(line)
    for line in """\
renamed-target     | GET /product/1     | the button is `#buy-now`, class `buy-now`, "Buy now"
new-id             | GET /product/1     | the button is `#buy-now`, class `buy-now`, "Add to cart"
new-label          | GET /product/1     | `#add-to-cart` reads "Add to basket"
two-matches        | GET /product/1     | a second button with the same id, class and label stands below the first
disabled-button    | GET /product/1     | the add-to-cart button is disabled
hidden-button      | GET /product/1     | the add-to-cart button is hidden
covered-button     | GET /product/1     | a sheet "We use cookies" lies over the whole page
moved-button       | GET /product/1     | the add-to-cart button stands above the form, otherwise the same
wrong-target       | GET /product/1     | `#add-to-cart` is now a button "Add to wish list" that adds nothing
other-redirect     | POST /checkout     | a good order redirects to `/cart?notice=1`
error-on-submit    | POST /checkout     | a good order is answered by a friendly page with status 500
missing-option     | GET /checkout      | the delivery list has no "express"
new-required-field | GET /checkout, POST /checkout | the form wants a phone number, without it 422
expired-session    | GET /checkout, POST /checkout, GET /order/1000 | pages that need a sign-in always redirect to it
other-price        | GET /prices        | the carrot costs 0.35 € in the table instead of 0.25 €
removed-item       | GET /              | the rye bread is missing in the listing
reordered-list     | GET /              | the first two cards of the listing are swapped
only-one-left      | GET /              | all cards of the listing but the first are missing
sponsored-first    | GET /              | an advertisement worded as the first card stands before it; it leads elsewhere
title              | GET /              | the title is "Corner Shop - Summer sale"
console-error      | GET /              | the page writes an error to the console
dialog-text        | GET /static/cart.js | the question before removing is worded otherwise
no-dialog          | GET /static/cart.js | removing asks no question
popup-blocked      | GET /static/shop.js | the help button opens no window
cart-error         | POST /api/cart     | adding to the cart answers 503
download-content   | GET /invoice/1000.txt | the invoice's total is one cent higher
frame-text         | GET /reviews-frame | the heading in the frame reads "What people say"
shadow-text        | GET /static/product.js | the text in the closed shadow root is worded otherwise
slow-list          |                    | `/`, `/api/cart` and `/api/news` answer 300 ms later; harmless
""".splitlines()
)

CHANGE_TABLE: tuple[Change, ...] = _TABLE
CHANGES: tuple[str, ...] = tuple(change.name for change in _TABLE)


def check_change(name: str | None) -> str | None:
    """Return a known change, or None.

    Raises:
        ValueError: The name is not in ``CHANGES``.
    """
    if name is not None and name not in CHANGES:
        raise ValueError(f"no change of the shop is called {name!r}; known are {', '.join(CHANGES)}")
    return name
