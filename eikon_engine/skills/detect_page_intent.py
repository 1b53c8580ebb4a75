"""The skill `detect_page_intent`: classify a page with the labels of older recordings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.skills.detect_login_form import find_login_forms
from eikon_engine.skills.document import text_of
from eikon_engine.skills.extract_article import article_blocks
from eikon_engine.skills.extract_listing import find_listing
from eikon_engine.skills.json_ld import read_json_ld, types_of
from eikon_engine.skills.money import find_money
from eikon_engine.skills.skill import Output, Parameters, SkillInput, TypedSkill

if TYPE_CHECKING:
    from eikon_engine.skills.document import Document

Intent: TypeAlias = Literal["login_form", "detail_page", "article_page", "listing_page", "dashboard", "unknown"]

_MIN_SCORE: Final = 2
_CONFIDENT_SCORE: Final = 5
_LONG_TEXT_LENGTH: Final = 600
_MIN_CARDS: Final = 3
_MIN_COUNT: Final = 2
_MIN_SIDE_LINKS: Final = 5
_ARTICLE_TYPE: Final = re.compile(r"Article$|Posting$|^Report$")
_DETAIL_TYPES: Final = frozenset(
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
_LIST_TYPES: Final = frozenset({"ItemList", "CollectionPage", "SearchResultsPage", "OfferCatalog"})
_BUY_WORDS: Final = re.compile(
    r"add to (?:cart|basket|bag)|buy now|book now|reserve|apply now|in den warenkorb|jetzt kaufen|ajouter au panier"
    r"|añadir (?:al carrito|a la cesta)|aggiungi al carrello|in winkelwagen|lägg i (?:varukorg|kundvagn)|do koszyka"
    r"|в корзину|加入购物车|カートに入れる|أضف إلى",
    re.IGNORECASE,
)
_SIGN_OUT: Final = re.compile(
    r"(?:log|sign)[ -]?(?:out|off)|abmelden|ausloggen|déconnexion|cerrar sesión|esci|uitloggen|logga ut|wyloguj|выйти"
    r"|退出|ログアウト|تسجيل الخروج",
    re.IGNORECASE,
)
_DASHBOARD_WORDS: Final = re.compile(
    r"dashboard|overview|control panel|admin(?:istration)?\b|übersicht|tableau de bord|panel de control|cruscotto"
    r"|panoramica|pulpit|панель|仪表|ダッシュボード|لوحة",
    re.IGNORECASE,
)


class IntentParameters(Parameters):
    """No parameters."""


class PageIntentOutput(Output):
    """The classification of a page."""

    intent: Intent
    confidence: float
    """0 to 1, two decimals: the score of the intent and its lead over the second best; 0 for `unknown`."""
    signals: tuple[str, ...]
    """The evidence for the intent."""
    scores: dict[Intent, int]
    """Score of every intent."""


@dataclass(slots=True)
class _Scores:
    points: dict[Intent, int] = field(default_factory=dict)
    reasons: dict[Intent, list[str]] = field(default_factory=dict)

    def add(self, intent: Intent, points: int, reason: str, *, condition: bool) -> None:
        if condition:
            self.points[intent] = self.points.get(intent, 0) + points
            self.reasons.setdefault(intent, []).append(reason)


_INTENTS: Final[tuple[Intent, ...]] = ("login_form", "detail_page", "article_page", "listing_page", "dashboard")
"""In order of preference when scores are equal."""


class DetectPageIntent(TypedSkill[IntentParameters, PageIntentOutput]):
    """Return whether a page is a login form, a listing, a detail page, an article or a dashboard."""

    name = "detect_page_intent"
    version = 1
    description = "Detect what a page is for: login_form, listing_page, detail_page, article_page, dashboard."
    parameters = IntentParameters
    output = PageIntentOutput
    example = SkillInput(
        html="<form><input name=user><input type=password autocomplete=current-password><button>Log in</button></form>",
        url="https://site.example/login",
    )

    def analyze(self, document: Document, parameters: IntentParameters) -> PageIntentOutput:  # noqa: ARG002 - no parameters
        """Score every intent and choose the best."""
        votes = _Scores()
        types = {each for node in read_json_ld(document).nodes for each in types_of(node)}
        _score_login(votes, document)
        _score_article(votes, document, types)
        _score_detail(votes, document, types)
        _score_listing(votes, document, types)
        _score_dashboard(votes, document)
        scores = {intent: votes.points.get(intent, 0) for intent in _INTENTS}
        best = max(_INTENTS, key=lambda intent: scores[intent])
        if scores[best] < _MIN_SCORE:
            return PageIntentOutput(intent="unknown", confidence=0.0, signals=(), scores=scores)
        second = max(points for intent, points in scores.items() if intent != best)
        share = scores[best] / (scores[best] + second) * min(1.0, scores[best] / _CONFIDENT_SCORE)
        return PageIntentOutput(
            intent=best, confidence=round(share, 2), signals=tuple(votes.reasons[best]), scores=scores
        )


def _score_login(votes: _Scores, document: Document) -> None:
    logins = list(find_login_forms(document))
    sure = any(login.confidence == "high" for login in logins)
    votes.add("login_form", 4, "login form", condition=sure)
    votes.add("login_form", 2, "likely login form", condition=bool(logins) and not sure)
    body = document.tree.body
    votes.add(
        "login_form",
        2,
        "little else on the page",
        condition=bool(logins) and body is not None and len(text_of(body)) < _LONG_TEXT_LENGTH,
    )


def _score_article(votes: _Scores, document: Document, types: set[str]) -> None:
    votes.add("article_page", 3, "declared as an article", condition=any(_ARTICLE_TYPE.search(each) for each in types))
    votes.add("article_page", 2, "og:type article", condition=_og_type(document) == "article")
    published = document.tree.css_first('meta[property="article:published_time"],[itemprop=articleBody]') is not None
    votes.add("article_page", 2, "publication declared", condition=published)
    blocks = [each for each in article_blocks(document) if each.kind in {"paragraph", "quote", "item"}]
    long = sum(len(each.text) for each in blocks) >= _LONG_TEXT_LENGTH
    votes.add("article_page", 2, "long text", condition=long)
    dated = document.tree.css_first("article time,[rel=author],.byline,[itemprop=datePublished]") is not None
    votes.add("article_page", 1, "author or date", condition=long and dated)


def _score_detail(votes: _Scores, document: Document, types: set[str]) -> None:
    votes.add("detail_page", 3, "declared as one thing", condition=bool(types & _DETAIL_TYPES))
    votes.add("detail_page", 2, "og:type product", condition=(_og_type(document) or "").startswith("product"))
    priced = len(document.tree.css("[itemprop=price]")) == 1
    votes.add("detail_page", 1, "one declared price", condition=priced)
    buttons = document.tree.css("button,a,[role=button],input[type=submit]")
    labels = (text_of(node) or node.attributes.get("value") or "" for node in buttons)
    buying = sum(bool(_BUY_WORDS.search(label)) for label in labels)
    votes.add("detail_page", 2, "one thing to buy", condition=0 < buying <= _MIN_COUNT)
    alone = len(document.tree.css("h1")) == 1
    body = document.tree.body
    money = alone and body is not None and any(True for _ in find_money(text_of(body), None, None))
    votes.add("detail_page", 1, "one heading and a price", condition=money and 0 < buying <= _MIN_COUNT)


def _score_listing(votes: _Scores, document: Document, types: set[str]) -> None:
    votes.add("listing_page", 3, "declared as a list", condition=bool(types & _LIST_TYPES))
    selector = find_listing(document)
    cards = [] if selector is None else document.tree.css(selector)
    rich = [card for card in cards if card.css_first("h1,h2,h3,h4,h5,h6,img,[role=heading]") is not None]
    votes.add("listing_page", 2, "several alike cards", condition=len(rich) >= _MIN_CARDS)
    prices = sum(any(True for _ in find_money(text_of(card), None, None)) for card in cards)
    votes.add("listing_page", 1, "prices in cards", condition=prices >= _MIN_COUNT)
    votes.add("listing_page", 1, "many alike cards", condition=len(rich) >= 2 * _MIN_CARDS)
    pager = document.tree.css_first("[rel~=next],[rel~=prev],.pagination,.pager,nav[aria-label*=agination]") is not None
    votes.add("listing_page", 1, "pagination", condition=pager)


def _score_dashboard(votes: _Scores, document: Document) -> None:
    leaving = any(
        _SIGN_OUT.search(text_of(node) or node.attributes.get("value") or node.attributes.get("href") or "")
        for node in document.tree.css("a,button,input[type=submit]")
    )
    votes.add("dashboard", 1, "way to sign out", condition=leaving)
    headings = [text_of(node) for node in document.tree.css("title,h1")]
    named = any(_DASHBOARD_WORDS.search(text) for text in headings) or bool(_DASHBOARD_WORDS.search(document.url))
    votes.add("dashboard", 2, "named a dashboard", condition=named)
    panels = len(document.tree.css("table,canvas,svg[role=img],[class*=chart],[class*=widget],[class*=kpi]"))
    votes.add("dashboard", 1, "several tables or charts", condition=panels >= _MIN_COUNT)
    links = document.tree.css("aside a[href],[class*=sidebar] a[href],nav[class*=side] a[href]")
    votes.add("dashboard", 1, "side navigation", condition=len(links) >= _MIN_SIDE_LINKS)


def _og_type(document: Document) -> str | None:
    meta = document.tree.css_first('meta[property="og:type"]')
    return (meta.attributes.get("content") or "").strip().lower() if meta is not None else None
