"""Mutants with changed documents: changed elements, replaced pages, redirects."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser

from benchmarks.mutations.elements import ELEMENT_OPERATORS, NEUTRAL_ELEMENT_OPERATORS, Element
from benchmarks.mutations.source import Answer
from benchmarks.mutations.truth import FAITHFUL, Mutant, Truth, diverges, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.mutations.elements import ElementOperator
    from benchmarks.mutations.source import Place, Source
    from eikon_engine.dom import DomNode
    from eikon_engine.network.exchange import Exchange

HTML = "text/html"
LOGIN_PAGE = b"<!doctype html><title>Log in</title><form action=/login method=post><input name=user></form>"
ERROR_PAGE = b"<!doctype html><title>Error</title><h1>Something went wrong</h1>"


def _documents(source: Source) -> Iterator[tuple[Exchange, str]]:
    return ((exchange, text) for exchange, text in source.answered(HTML) if exchange.request.is_navigation)


def of_elements(source: Source, per_document: int) -> Iterator[Mutant]:
    """Yield mutants of single elements: for each operator at most `per_document` in each document that it fits."""
    for exchange, text in _documents(source):
        tree = LexborHTMLParser(text)
        page = tree.html or ""
        place = source.place(exchange)
        alive = source.elements(place, exchange.request.url)
        nodes = [node for node in tree.css("[id]") if (node.attributes.get("id") or "") in alive]
        identities = ((node, node.attributes.get("id") or "") for node in nodes)
        read = (
            Element.of(node, page, "" if source.is_scripted(identity) else _text(alive[identity]))
            for node, identity in identities
        )
        elements = [each for each in read if page.count(each.markup) == 1]
        for operator, neutral in (
            *((each, False) for each in ELEMENT_OPERATORS),
            *((each, True) for each in NEUTRAL_ELEMENT_OPERATORS),
        ):
            fitting = [each for each in elements if operator.fits(each)]
            for element in spread(fitting, per_document):
                if operator.change(element) != operator.span(element):
                    yield _of_element(operator, exchange, place, element, neutral=neutral)


def _edit_element(operator: ElementOperator, identity: str, text: str) -> str:
    """Return a document with one of its elements changed."""
    tree = LexborHTMLParser(text)
    page = tree.html or ""
    node = next(each for each in tree.css("[id]") if each.attributes.get("id") == identity)
    element = Element.of(node, page, "")
    assert page.count(operator.span(element)) == 1, identity
    return page.replace(operator.span(element), operator.change(element))


def _text(node: DomNode) -> str:
    return "".join(each.text for each in node.walk() if each.text is not None).strip()


def _of_element(
    operator: ElementOperator, exchange: Exchange, place: Place, element: Element, *, neutral: bool
) -> Mutant:
    identity = element.attributes.get("id") or ""
    truth = (
        FAITHFUL if neutral else Truth(verdict="diverged", place=place, layers=operator.layers, causes=operator.causes)
    )
    return Mutant(
        operator=operator.name,
        what=f"{exchange.key}: <{element.tag} id={identity}>",
        truth=truth,
        answers={
            exchange.ordinal: Answer(
                edit=partial(_edit_element, operator, identity), content_type="text/html; charset=utf-8"
            )
        },
    )


def of_documents(source: Source) -> Iterator[Mutant]:
    """Yield mutants of whole documents."""
    for exchange, text in _documents(source):
        place = source.place(exchange)
        page = _rewrite(text)

        def mutant(
            operator: str,
            edit: Callable[[str], str],
            truth: Truth,
            exchange: Exchange = exchange,
            headers: dict[str, str] | None = None,
        ) -> Mutant:
            answer = Answer(edit=edit, content_type="text/html; charset=utf-8", headers=tuple((headers or {}).items()))
            return Mutant(operator=operator, what=exchange.key, truth=truth, answers={exchange.ordinal: answer})

        yield mutant("written anew", _rewrite, FAITHFUL)
        no_effect = {"server": "another/2", "x-request-id": "77"}
        yield mutant("headers without effect", str, FAITHFUL, headers=no_effect)
        advertisement = "<aside id=advertisement>Buy shoes</aside></body>"
        yield mutant(
            "advertisement at the end",
            partial(_substituted, "</body>", advertisement),
            diverges(place, "dom", "site-changed"),
        )
        if exchange.request.url in source.loads(place) and re.search(r"<title>[^<]+</title>", page):
            renamed = partial(_substituted, r"<title>([^<]+)</title>", r"<title>\1 now</title>")
            yield mutant("title changed", renamed, diverges(place, "lifecycle dom", "site-changed"))
        without = partial(_substituted, r"<script[^>]*\bsrc=[^>]*></script>", "")
        if without(text) != page:
            yield mutant("script gone", without, diverges(place, "dom lifecycle network", "site-changed"))


def _rewrite(text: str) -> str:
    """Return a document as a parser writes it."""
    return LexborHTMLParser(text).html or ""


def _substituted(pattern: str, replacement: str, text: str) -> str:
    """Return a rewritten document with the first match of a pattern replaced."""
    return re.sub(pattern, replacement, _rewrite(text), count=1)


def of_statuses(source: Source) -> Iterator[Mutant]:
    """Yield mutants whose documents are errors, redirects, or missing."""
    for exchange, _ in _documents(source):
        place = source.place(exchange)
        if exchange.request.url not in source.loads(place):
            continue  # the document of a frame

        def mutant(operator: str, truth: Truth, answer: Answer, exchange: Exchange = exchange) -> Mutant:
            return Mutant(operator=operator, what=exchange.key, truth=truth, answers={exchange.ordinal: answer})

        yield mutant("404 that looks well", diverges(place, "lifecycle", "site-error"), Answer(status=404))
        error, login = Answer(status=500, body=ERROR_PAGE), Answer(status=401, body=LOGIN_PAGE)
        yield mutant("500 page", diverges(place, "lifecycle network", "site-error"), error)
        yield mutant("401 page", diverges(place, "lifecycle network", "session-expired site-error"), login)
        origin = "/".join(exchange.request.url.split("/")[:3])
        yield mutant(
            "cookie expired: led to the login",
            diverges(place, "lifecycle network", "site-changed" if "/login" in exchange.key else "session-expired"),
            Answer(body=LOGIN_PAGE, led_from=f"{origin}/login?next=/"),
        )
        yield mutant(
            "led elsewhere", diverges(place, "lifecycle network", "site-changed"), Answer(led_from=f"{origin}/moved")
        )
        yield mutant(
            "connection reset",
            diverges(place, "result lifecycle network", "network"),
            Answer(failure="net::ERR_CONNECTION_RESET"),
        )
