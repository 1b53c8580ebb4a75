"""The skill `extract_prices`: extract the prices of a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field

from eikon_engine.skills.document import select_scopes
from eikon_engine.skills.json_ld import read_json_ld
from eikon_engine.skills.money import Amount, find_money, read_amount
from eikon_engine.skills.skill import Output, Parameters, SkillInput, TypedSkill
from eikon_engine.skills.text_runs import text_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode

    from eikon_engine.files.json_text import JsonValue
    from eikon_engine.skills.document import Document
    from eikon_engine.skills.json_ld import JsonLdNode
    from eikon_engine.skills.money import Money

_NAME: Final = "extract_prices"
_DECIMAL: Final = re.compile(r"\d+(?:\.\d+)?")
_CODE: Final = re.compile(r"[A-Za-z]{3}")
_MAX_DEPTH: Final = 6


class PricesParameters(Parameters):
    """The part of the page, and its number format."""

    selector: str | None = None
    """CSS selector of the parts to read; if None, the whole page."""
    language: str | None = None
    """Language that defines the separators; if None, the `lang` of the page."""
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] | None = None
    """ISO 4217 code of `$`, `¥` and `kr`; if None, the only currency that the page declares."""


class Price(Output):
    """One price in the text of the page."""

    text: str
    amount: str | None
    """Decimal number, or the lower end of a range; null if ambiguous."""
    amount_to: str | None
    """Upper end of a range."""
    currency: str | None
    """ISO 4217 code; null if several currencies use the sign."""
    sign: str
    old: bool
    """Whether the price is struck through, or has a class of a former price."""
    readings: tuple[str, ...]
    """All readings of an ambiguous amount such as 1.234, else empty."""


class DeclaredPrice(Output):
    """One price in structured data."""

    amount: str
    amount_to: str | None
    currency: str | None
    source: Literal["json-ld", "meta", "microdata"]


class Prices(Output):
    """The prices of a page, in document order."""

    count: int
    prices: tuple[Price, ...]
    declared: tuple[DeclaredPrice, ...]


class ExtractPrices(TypedSkill[PricesParameters, Prices]):
    """Return every amount with a currency, and the prices in structured data."""

    name = _NAME
    version = 1
    description = "Extract prices: amount, currency, ranges, old prices; ambiguous amounts keep all readings."
    parameters = PricesParameters
    output = Prices
    example = SkillInput(
        html="<html lang=de><p><del>1.299,00 €</del> 999,- € <p>ab 5 bis 10 EUR", url="https://shop.example/"
    )

    def analyze(self, document: Document, parameters: PricesParameters) -> Prices:
        """Extract all prices; a page without prices is a result, not an error.

        Raises:
            SkillError: the selector is not standard CSS, or matches nothing.
        """
        declared = tuple(dict.fromkeys(_declared_prices(document)))
        currencies = {each.currency for each in declared if each.currency is not None}
        currency = parameters.currency or (next(iter(currencies)) if len(currencies) == 1 else None)
        html = document.tree.css_first("html")
        language = parameters.language or (html.attributes.get("lang") if html is not None else None)
        prices = tuple(
            _price(money, old=run.is_struck)
            for scope in select_scopes(document, parameters.selector, _NAME)
            for run in text_runs(scope)
            for money in find_money(run.text, language, currency)
        )
        return Prices(count=len(prices), prices=prices, declared=declared)


def _price(money: Money, *, old: bool) -> Price:
    ends: tuple[Amount, ...] = (money.low,) if money.high is None else (money.low, money.high)
    unsure = any(end.unambiguous is None for end in ends)
    return Price(
        text=money.text,
        amount=money.low.unambiguous,
        amount_to=None if money.high is None else money.high.unambiguous,
        currency=money.currency,
        sign=money.sign,
        old=old,
        readings=tuple(reading for end in ends for reading in end.readings) if unsure else (),
    )


def _declared_prices(document: Document) -> Iterator[DeclaredPrice]:
    for node in read_json_ld(document).nodes:
        yield from _offer_prices(node, 0)
    metas = {meta.attributes.get("property"): meta.attributes.get("content") for meta in document.tree.css("meta")}
    for prefix in ("product:price", "og:price", "product:sale_price"):
        yield from _declared_price(metas.get(f"{prefix}:amount"), None, metas.get(f"{prefix}:currency"), "meta")
    currencies = [_content(node) for node in document.tree.css("[itemprop=priceCurrency]")]
    for price in document.tree.css("[itemprop=price]"):
        only = currencies[0] if len(set(currencies)) == 1 else None
        yield from _declared_price(_content(price), None, only, "microdata")


def _content(node: LexborNode) -> str:
    attributes = node.attributes
    return str(attributes.get("content") or node.text()).strip()


def _offer_prices(node: JsonLdNode, depth: int) -> Iterator[DeclaredPrice]:
    """Yield the prices of a node and of its nested offers."""
    low, high = node.get("price", node.get("lowPrice")), node.get("highPrice")
    yield from _declared_price(low, high, node.get("priceCurrency"), "json-ld")
    for name in ("offers", "priceSpecification", "mainEntity", "itemListElement", "item", "hasVariant"):
        below = node.get(name)
        for each in below if isinstance(below, list) else [below]:
            if isinstance(each, dict) and depth < _MAX_DEPTH:
                yield from _offer_prices(each, depth + 1)


def _declared_price(
    low: JsonValue, high: JsonValue, currency: JsonValue, source: Literal["json-ld", "meta", "microdata"]
) -> Iterator[DeclaredPrice]:
    amount = _declared_amount(low)
    if amount is not None:
        code = currency.strip().upper() if isinstance(currency, str) else ""
        known = code if _CODE.fullmatch(code) else None
        yield DeclaredPrice(amount=amount, amount_to=_declared_amount(high), currency=known, source=source)


def _declared_amount(value: JsonValue) -> str | None:
    """Read a declared amount: schema.org demands a decimal point; other formats count only if unambiguous."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    text = str(value).strip()
    if _DECIMAL.fullmatch(text):
        return text
    return read_amount(text, None, None).unambiguous if re.fullmatch(r"\d[\d.,]*\d", text) else None
