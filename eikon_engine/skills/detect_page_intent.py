"""The skill `detect_page_intent`: classify a page with the labels of older recordings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.skills.detect_login_form import find_logins
from eikon_engine.skills.document import text_of
from eikon_engine.skills.extract_article import article_blocks
from eikon_engine.skills.listing_group import find_listing
from eikon_engine.skills.money import find_money
from eikon_engine.skills.parameters import Parameters
from eikon_engine.skills.protocol import SkillInput
from eikon_engine.skills.structured_data import read_json_ld, types_of
from eikon_engine.skills.typed_skill import Output, TypedSkill

if TYPE_CHECKING:
    from eikon_engine.skills.document import Document

Intent: TypeAlias = Literal["login_form", "detail_page", "article_page", "listing_page", "dashboard", "unknown"]

_ENOUGH: Final = 2
_SURE: Final = 5
_LONG_TEXT: Final = 600
_FEW_CARDS: Final = 3
_SOME: Final = 2
_MANY_LINKS: Final = 5
_ARTICLE: Final = re.compile(r"Article$|Posting$|^Report$")
_DETAIL: Final = frozenset(
    {
        "Product",
        "ProductGroup",
        "Recipe",
        "Book",
        "Movie",
        "Event",
        "JobPosting",
        "Vehicle",
        "Hotel",
        "RealEstateListing",
    }
)
_LIST: Final = frozenset({"ItemList", "CollectionPage", "SearchResultsPage", "OfferCatalog"})
_BUY: Final = re.compile(
    r"add to (?:cart|basket|bag)|buy now|book now|reserve|apply now|in den warenkorb|jetzt kaufen|ajouter au panier"
    r"|añadir (?:al carrito|a la cesta)|aggiungi al carrello|in winkelwagen|lägg i (?:varukorg|kundvagn)|do koszyka"
    r"|в корзину|加入购物车|カートに入れる|أضف إلى",
    re.IGNORECASE,
)
_LEAVE: Final = re.compile(
    r"(?:log|sign)[ -]?(?:out|off)|abmelden|ausloggen|déconnexion|cerrar sesión|esci|uitloggen|logga ut|wyloguj|выйти"
    r"|退出|ログアウト|تسجيل الخروج",
    re.IGNORECASE,
)
_DASHBOARD: Final = re.compile(
    r"dashboard|overview|control panel|admin(?:istration)?\b|übersicht|tableau de bord|panel de control|cruscotto"
    r"|panoramica|pulpit|панель|仪表|ダッシュボード|لوحة",
    re.IGNORECASE,
)


class IntentParameters(Parameters):
    """No parameters."""


class PageIntentFound(Output):
    """The classification of a page."""

    intent: Intent
    confidence: float
    """0 to 1, two decimals: the score of the intent and its lead over the second best; 0 for `unknown`."""
    signals: tuple[str, ...]
    """The evidence for the intent."""
    scores: dict[Intent, int]
    """Score of every intent."""


@dataclass(slots=True)
class _Votes:
    points: dict[Intent, int] = field(default_factory=dict)
    reasons: dict[Intent, list[str]] = field(default_factory=dict)

    def vote(self, intent: Intent, points: int, reason: str, *, when: bool) -> None:
        if when:
            self.points[intent] = self.points.get(intent, 0) + points
            self.reasons.setdefault(intent, []).append(reason)


_INTENTS: Final[tuple[Intent, ...]] = ("login_form", "detail_page", "article_page", "listing_page", "dashboard")
"""In order of preference when scores are equal."""


class DetectPageIntent(TypedSkill[IntentParameters, PageIntentFound]):
    """Return whether a page is a login form, a listing, a detail page, an article or a dashboard."""

    name = "detect_page_intent"
    version = 1
    description = "Detect what a page is for: login_form, listing_page, detail_page, article_page, dashboard."
    parameters = IntentParameters
    output = PageIntentFound
    example = SkillInput(
        html="<form><input name=user><input type=password autocomplete=current-password><button>Log in</button></form>",
        url="https://site.example/login",
    )

    def look(self, document: Document, parameters: IntentParameters) -> PageIntentFound:  # noqa: ARG002 - no parameters
        """Score every intent and choose the best."""
        votes = _Votes()
        types = {each for node in read_json_ld(document).nodes for each in types_of(node)}
        _vote_login(votes, document)
        _vote_article(votes, document, types)
        _vote_detail(votes, document, types)
        _vote_listing(votes, document, types)
        _vote_dashboard(votes, document)
        scores = {intent: votes.points.get(intent, 0) for intent in _INTENTS}
        best = max(_INTENTS, key=lambda intent: scores[intent])
        if scores[best] < _ENOUGH:
            return PageIntentFound(intent="unknown", confidence=0.0, signals=(), scores=scores)
        second = max(points for intent, points in scores.items() if intent != best)
        share = scores[best] / (scores[best] + second) * min(1.0, scores[best] / _SURE)
        return PageIntentFound(
            intent=best, confidence=round(share, 2), signals=tuple(votes.reasons[best]), scores=scores
        )


def _vote_login(votes: _Votes, document: Document) -> None:
    logins = list(find_logins(document))
    sure = any(login.confidence == "high" for login in logins)
    votes.vote("login_form", 4, "login form", when=sure)
    votes.vote("login_form", 2, "likely login form", when=bool(logins) and not sure)
    body = document.tree.body
    votes.vote(
        "login_form",
        2,
        "little else on the page",
        when=bool(logins) and body is not None and len(text_of(body)) < _LONG_TEXT,
    )


def _vote_article(votes: _Votes, document: Document, types: set[str]) -> None:
    votes.vote("article_page", 3, "declared as an article", when=any(_ARTICLE.search(each) for each in types))
    votes.vote("article_page", 2, "og:type article", when=_og_type(document) == "article")
    published = document.tree.css_first('meta[property="article:published_time"],[itemprop=articleBody]') is not None
    votes.vote("article_page", 2, "publication declared", when=published)
    blocks = [each for each in article_blocks(document) if each.kind in {"paragraph", "quote", "item"}]
    long = sum(len(each.text) for each in blocks) >= _LONG_TEXT
    votes.vote("article_page", 2, "long text", when=long)
    dated = document.tree.css_first("article time,[rel=author],.byline,[itemprop=datePublished]") is not None
    votes.vote("article_page", 1, "author or date", when=long and dated)


def _vote_detail(votes: _Votes, document: Document, types: set[str]) -> None:
    votes.vote("detail_page", 3, "declared as one thing", when=bool(types & _DETAIL))
    votes.vote("detail_page", 2, "og:type product", when=(_og_type(document) or "").startswith("product"))
    priced = len(document.tree.css("[itemprop=price]")) == 1
    votes.vote("detail_page", 1, "one declared price", when=priced)
    buttons = document.tree.css("button,a,[role=button],input[type=submit]")
    labels = (text_of(node) or node.attributes.get("value") or "" for node in buttons)
    buying = sum(bool(_BUY.search(label)) for label in labels)
    votes.vote("detail_page", 2, "one thing to buy", when=0 < buying <= _SOME)
    alone = len(document.tree.css("h1")) == 1
    body = document.tree.body
    money = alone and body is not None and any(True for _ in find_money(text_of(body), None, None))
    votes.vote("detail_page", 1, "one heading and a price", when=money and 0 < buying <= _SOME)


def _vote_listing(votes: _Votes, document: Document, types: set[str]) -> None:
    votes.vote("listing_page", 3, "declared as a list", when=bool(types & _LIST))
    selector = find_listing(document)
    cards = [] if selector is None else document.tree.css(selector)
    rich = [card for card in cards if card.css_first("h1,h2,h3,h4,h5,h6,img,[role=heading]") is not None]
    votes.vote("listing_page", 2, "several alike cards", when=len(rich) >= _FEW_CARDS)
    prices = sum(any(True for _ in find_money(text_of(card), None, None)) for card in cards)
    votes.vote("listing_page", 1, "prices in cards", when=prices >= _SOME)
    votes.vote("listing_page", 1, "many alike cards", when=len(rich) >= 2 * _FEW_CARDS)
    pager = document.tree.css_first("[rel~=next],[rel~=prev],.pagination,.pager,nav[aria-label*=agination]") is not None
    votes.vote("listing_page", 1, "pagination", when=pager)


def _vote_dashboard(votes: _Votes, document: Document) -> None:
    leaving = any(
        _LEAVE.search(text_of(node) or node.attributes.get("value") or node.attributes.get("href") or "")
        for node in document.tree.css("a,button,input[type=submit]")
    )
    votes.vote("dashboard", 1, "way to sign out", when=leaving)
    headings = [text_of(node) for node in document.tree.css("title,h1")]
    named = any(_DASHBOARD.search(text) for text in headings) or bool(_DASHBOARD.search(document.url))
    votes.vote("dashboard", 2, "named a dashboard", when=named)
    panels = len(document.tree.css("table,canvas,svg[role=img],[class*=chart],[class*=widget],[class*=kpi]"))
    votes.vote("dashboard", 1, "several tables or charts", when=panels >= _SOME)
    links = document.tree.css("aside a[href],[class*=sidebar] a[href],nav[class*=side] a[href]")
    votes.vote("dashboard", 1, "side navigation", when=len(links) >= _MANY_LINKS)


def _og_type(document: Document) -> str | None:
    meta = document.tree.css_first('meta[property="og:type"]')
    return (meta.attributes.get("content") or "").strip().lower() if meta is not None else None
