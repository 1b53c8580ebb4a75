"""Each cause follows from evidence; without evidence the cause is unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.divergence.causes import DivergenceCase, classify_cause, is_login_page
from eikon_engine.outcome.divergence import Candidate, Divergence
from eikon_engine.outcome.outcomes import ResponseChange, ValueChange
from eikon_engine.trace.observation import DocumentLoad, FrameObservation, Observation, PageObservation, RedirectHop

if TYPE_CHECKING:
    from eikon_engine.outcome.divergence import Cause, Layer


def finding(layer: Layer = "dom", code: str = "dom-changed", observed: str = "3") -> Divergence:
    """Make a finding."""
    return Divergence(
        code=code, layer=layer, subgoal="s__attempt_1", subgoal_id="s", sequence=2, expected="2", observed=observed,
        message="It differs.",
    )  # fmt: skip


def answer(part: str, recorded: str, live: str, key: str = "GET http://a/items") -> ResponseChange:
    """Return a changed response."""
    what = (ValueChange(part=part, recorded=recorded, live=live),)
    return ResponseChange(key=key, occurrence=0, subgoal="s__attempt_1", sequence=2, what=what)


def showing(digest: str, *documents: tuple[str, int]) -> Observation:
    """Observe one page."""
    page = PageObservation(page=0, url="", title="", frames=(FrameObservation(path="", url="", digest=digest),))
    loads = tuple(DocumentLoad(page=0, url=url, status=status) for url, status in documents)
    return Observation(pages=(page,), documents=loads)


CASES: dict[str, tuple[Cause, dict[str, Any]]] = {
    "another time zone": ("environment", {"first": finding("environment", "environment-changed")}),
    "another output": ("skill-changed", {"first": finding("skill", "skill-output-changed")}),
    "a login page": (
        "session-expired",
        {
            "recorded": showing("1", ("http://a/cart", 200)),
            "observed": showing("2", ("http://a/users/sign_in?n=/", 200)),
        },
    ),
    "401": ("session-expired", {"changes": (answer("status", "200", "401"),)}),
    "a redirect to the login": (
        "session-expired",
        {"changes": (answer("header location", "/cart", "https://a/login?next=/cart"),)},
    ),
    "500": ("site-error", {"observed": showing("2", ("http://a/cart", 500))}),
    "500 of a sign-in": (
        "site-error",
        {"recorded": showing("1", ("http://a/cart", 200)), "observed": showing("2", ("http://a/login", 500))},
    ),
    "500 of a request": ("site-error", {"changes": (answer("status", "201", "503"),)}),
    "no answer": ("network", {"changes": (answer("ending", "status 200", "net::ERR_CONNECTION_RESET"),)}),
    "no document": (
        "network",
        {"first": finding("result", "navigation-failed", "navigation-failed: net::ERR_NAME_NOT_RESOLVED")},
    ),
    "a target that never was": (
        "trace-invalid",
        {"first": finding("target", "target-missing"), "before": showing("1"), "observed": showing("1")},
    ),
    "other data": ("test-data", {"changes": (answer("body $.items[0].price", "2", "3"),)}),
    "other markup": ("site-changed", {"changes": (answer("body line 12", "<b>2</b>", "<b>3</b>"),)}),
    "data and markup": (
        "site-changed",
        {"changes": (answer("body $.a", "1", "2"), answer("body line 1", "x", "y", key="GET http://a/"))},
    ),
    "a page of a live site": ("site-changed", {"network_mode": "live"}),
    "a wait on a live site": ("timing", {"first": finding("result", "wait-timeout"), "network_mode": "live"}),
    "nothing": ("unknown", {}),
    "a hidden target": (
        "unknown",
        {
            "first": finding("target", "target-not-actionable", "<b> is covered by <div>"),
            "before": showing("1"),
            "observed": showing("1"),
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_cause_follows_from_evidence(case: str) -> None:
    """The cause has its evidence."""
    cause, known = CASES[case]

    classified = classify_cause(
        DivergenceCase(**{"first": finding(), "related_changes": known.get("changes", ()), **known})
    )

    assert classified.cause == cause
    assert classified.why
    assert bool(classified.settle) == (cause == "unknown")


@pytest.mark.parametrize(("hops", "status"), [((), 200), ((RedirectHop(url="http://a/cart", status=302),), 503)])
def test_a_reason_says_whether_the_site_redirected(hops: tuple[RedirectHop, ...], status: int) -> None:
    """A form that is shown again comes without a redirect. A login page that fails was asked for all the same."""
    recorded, observed = showing("1", ("http://a/cart", 200)), showing("2", ("http://a/login", status))
    load = observed.documents[0].model_copy(update={"hops": hops})
    case = DivergenceCase(
        first=finding(), recorded=recorded, observed=observed.model_copy(update={"documents": (load,)})
    )

    found = classify_cause(case)

    assert found.cause == "session-expired"
    assert found.why == f"the site {'redirected to' if hops else 'showed'} a login page, http://a/login"


def test_a_login_page_that_was_recorded_is_no_expired_session() -> None:
    """If the mission itself visits a login page, a login page is not evidence of an expired session."""
    login = ("http://a/login", 200)
    case = DivergenceCase(first=finding(), recorded=showing("1", login), observed=showing("2", login))

    assert classify_cause(case).cause == "unknown"


@pytest.mark.parametrize(
    ("url", "is_login"),
    [
        ("https://a/users/sign_in?next=%2F", True),
        ("https://login.example.com/?app=shop", True),
        ("https://idp.test/authorize?client_id=shop&redirect_uri=https%3A%2F%2Fa%2Fback", True),
        ("https://idp.test/redirect?SAMLRequest=fZJ", True),
        ("https://idp.test/adfs/ls/?wa=wsignin1.0&wtrealm=urn:shop", True),
        ("https://pay.test/payments/authorize", False),
        ("https://login.example.com/api/v1/auth", False),
        ("https://a/maintenance", False),
        ("https://[a/login", False),
    ],
)
def test_login_pages_are_known_by_their_url(url: str, is_login: bool) -> None:  # noqa: FBT001 - a column of the table
    """Also those of single sign-on; an invalid URL in a header of a site is none."""
    assert is_login_page(url) is is_login


def test_a_blocked_request_is_named_where_nothing_else_is_known() -> None:
    """Not every response was served: this one is missing."""
    blocked = finding("network", "request-not-recorded", "GET http://a/items?page=3")

    for case in (DivergenceCase(first=blocked), DivergenceCase(first=finding(), other_divergences=(blocked,))):
        classified = classify_cause(case)
        assert classified.cause == "unknown"
        assert "no response for GET http://a/items?page=3" in classified.why


def test_another_environment_is_named_where_nothing_else_differs() -> None:
    """It may be the cause; a replay in the recorded environment would decide."""
    classified = classify_cause(
        DivergenceCase(first=finding(), possible_cause="possible cause: the environment differs")
    )

    assert classified.cause == "unknown"
    assert "the environment differs" in classified.why
    assert "recorded browser" in classified.settle


def test_an_unrelated_response_is_not_a_cause() -> None:
    """A missing advertisement does not explain the number of items."""
    advertisement = answer("ending", "status 200", "net::ERR_NAME_NOT_RESOLVED", key="GET http://ads/x.js")
    count = answer("body $.count", "2", "3")

    classified = classify_cause(
        DivergenceCase(first=finding(), changes=(advertisement, count), related_changes=(count,))
    )

    assert classified.cause == "test-data"
    assert "ads" not in classified.why


def test_an_error_that_was_recorded_too_is_no_cause() -> None:
    """An error page that was recorded too does not explain a difference."""
    recorded, observed = showing("1", ("http://a/item/7", 404)), showing("2", ("http://a/item/8", 404))

    assert classify_cause(DivergenceCase(first=finding(), recorded=recorded, observed=observed)).cause == "unknown"


def test_a_live_page_in_another_environment_is_not_blamed_on_the_site() -> None:
    """The different environment may have changed the rendering, so the cause is not the site."""
    case = DivergenceCase(first=finding(), network_mode="live")

    assert classify_cause(case).cause == "site-changed"
    elsewhere = replace(case, possible_cause="a possible cause: another browser")
    assert classify_cause(elsewhere).cause == "unknown"
    likely = classify_cause(replace(elsewhere, is_possible_cause_unlikely=True))
    assert likely.cause == "site-changed"
    assert likely.why.endswith("; a possible cause: another browser")


def test_an_element_that_its_target_does_not_find_is_a_fault_of_the_trace() -> None:
    """If the element is on the page unchanged, the target in the trace is wrong, even if the page changed elsewhere."""
    same = Candidate(frame="", path="html > body > a", description="<a>", score=1, agreements=())
    missing = finding("target", "target-missing").model_copy(update={"candidates": (same,)})
    alike = missing.model_copy(update={"candidates": (same.model_copy(update={"score": 0.9}),)})
    before, observed = showing("1"), showing("2")

    assert classify_cause(DivergenceCase(first=missing, before=before, observed=observed)).cause == "trace-invalid"
    assert classify_cause(DivergenceCase(first=alike, before=before, observed=observed)).cause == "unknown"


@pytest.mark.parametrize(
    ("code", "other", "cause"),
    [
        ("target-missing", "browser", "trace-invalid"),
        ("target-ambiguous", "browser", "trace-invalid"),
        ("target-missing", "Playwright", "unknown"),
        ("target-changed", "browser", "unknown"),
        ("target-changed", "release of the browser's branch", "trace-invalid"),
    ],
)
def test_another_browser_does_not_lose_a_target_on_the_same_page(*, code: str, other: str, cause: Cause) -> None:
    """What a selector finds depends on the page and on Playwright; an element may look different in another browser."""
    case = DivergenceCase(
        first=finding("target", code),
        before=showing("1"),
        observed=showing("1"),
        possible_cause="possible cause: the environment differs: browser_version 1 -> 2",
        is_possible_cause_unlikely="branch" in other,
        is_other_playwright=other == "Playwright",
    )

    assert classify_cause(case).cause == cause


@pytest.mark.parametrize("is_before_sign_in", [False, True])
def test_a_403_ends_only_a_session_that_may_exist(*, is_before_sign_in: bool) -> None:
    """Access that is denied before a sign-in, or by the sign-in itself, is an error of the site."""
    denied, sign_in = (answer("status", "200", "403", key=f"POST http://a/{path}") for path in ("notes", "login"))
    case = DivergenceCase(first=finding(), related_changes=(denied,), is_before_sign_in=is_before_sign_in)

    assert classify_cause(case).cause == ("site-error" if is_before_sign_in else "session-expired")
    assert classify_cause(replace(case, related_changes=(sign_in,))).cause == "site-error"


@pytest.mark.parametrize(
    ("part", "live"), [("url", "http://a/login?next=%2F"), ("sign-in form", "Sign in"), ("status", "401")]
)
def test_a_call_that_leads_to_a_sign_in_ends_the_session_whatever_the_page_shows(part: str, live: str) -> None:
    """No value of it is on the page, yet it says what the cause is; responses of other steps and pictures do not."""
    call = answer(part, "http://a/items", live)
    case = DivergenceCase(first=finding(), changes=(call,), network_mode="live")
    picture = call.model_copy(update={"resource_type": "image"})
    earlier = call.model_copy(update={"sequence": 1})

    assert classify_cause(case).cause == "session-expired"
    assert classify_cause(replace(case, changes=(picture, earlier))).cause == "site-changed"


def test_a_call_that_the_page_does_not_show_is_no_cause_beside_one_that_it_shows() -> None:
    """A background call may be refused for a reason of its own; so may it if the document is an error page."""
    call = answer("status", "200", "401", key="GET http://a/badge")
    count = answer("body $.count", "2", "3")
    case = DivergenceCase(first=finding(), changes=(call, count), related_changes=(count,))
    failed = showing("2", ("http://a/cart", 500))

    assert classify_cause(case).cause == "test-data"
    assert classify_cause(replace(case, related_changes=(), observed=failed)).cause == "site-error"
    assert classify_cause(replace(case, related_changes=())).cause == "session-expired"


def test_a_sign_in_that_is_refused_is_no_ended_session() -> None:
    """The password was changed: there was no session yet. The same status of a later call does end one."""
    sign_in = answer("status", "200", "401", key="POST http://a/api/login")
    form, document = showing("1", ("http://a/login", 200)), showing("2", ("http://a/login", 401))
    case = DivergenceCase(first=finding(), related_changes=(sign_in,), is_before_sign_in=True)

    for each in (case, replace(case, related_changes=(), recorded=form, observed=document)):
        assert classify_cause(each).cause == "site-error"
        assert "401" in classify_cause(each).why
        assert "(the sign-in was refused)" in classify_cause(each).why
        assert classify_cause(each).refusal == "sign-in"
    items = answer("status", "200", "401")
    assert classify_cause(replace(case, related_changes=(items,))).cause == "site-error"
    assert classify_cause(replace(case, related_changes=(items,), is_before_sign_in=False)).cause == "session-expired"


@pytest.mark.parametrize("key", ["POST http://a/login sha256:0", "POST http://a/order", "GET http://a/login"])
def test_a_sign_in_that_leads_to_its_page_again_is_refused(key: str) -> None:
    """With what that page says. A page of another request, or one from which no sign-in was sent, is no refusal."""
    what = (
        ValueChange(part="url", recorded="http://a/orders", live="http://a/login"),
        ValueChange(part="error text", recorded="(absent)", live="Wrong password"),
    )
    change = answer("url", "", "", key=key).model_copy(update={"what": what})
    recorded, observed = showing("1", ("http://a/orders", 200)), showing("2", ("http://a/login", 200))

    found = classify_cause(DivergenceCase(first=finding(), changes=(change,), recorded=recorded, observed=observed))

    assert found.cause == "session-expired"
    is_sign_in = key.startswith("POST http://a/login")
    assert found.refusal == ("sign-in" if is_sign_in else None)
    assert found.why.endswith("(the sign-in was refused): 'Wrong password'") == is_sign_in


def test_the_error_of_a_page_is_quoted_before_its_title_also_after_a_redirect() -> None:
    """The title is often that of the site; the response is stored with the request that was redirected."""
    hop = RedirectHop(url="http://a/new", status=302)
    seen = showing("2", ("http://a/tickets/1", 500))
    page = seen.pages[0].model_copy(update={"title": "Help desk"})
    load = seen.documents[0].model_copy(update={"hops": (hop,)})
    observed = seen.model_copy(update={"documents": (load,), "pages": (page,)})
    change = answer("error text", "(absent)", "database is locked", key="POST http://a/new sha256:0")
    case = DivergenceCase(first=finding(), observed=observed)

    assert classify_cause(case).why == "http://a/tickets/1 returned status 500: 'Help desk'"
    assert classify_cause(replace(case, changes=(change,))).why.endswith("returned status 500: 'database is locked'")


@pytest.mark.parametrize(("status", "refusal"), [(404, "address"), (410, "address"), (500, None)])
def test_an_address_that_is_gone_is_no_error_of_the_server(status: int, refusal: str | None) -> None:
    """Of a page, and of what a page loads."""
    page = DivergenceCase(first=finding(), observed=showing("2", ("http://a/cart", status)))
    script = DivergenceCase(first=finding(), related_changes=(answer("status", "200", str(status)),))

    for each in map(classify_cause, (page, script)):
        assert (each.cause, each.refusal) == ("site-error", refusal)


@pytest.mark.parametrize(
    ("key", "live", "cause"),
    [
        ("GET http://a/api/me", "http://a/api/auth/me", "site-changed"),
        ("GET http://a/api/auth/me", "http://a/auth/me?v=2", "site-changed"),
        ("POST http://a/session", "http://a/auth/refresh", "site-changed"),
        ("POST http://a/sign_in", "http://a/login?failed", "site-changed"),
        ("GET http://a/api/me", "http://a/api/auth/signin", "session-expired"),
        ("GET http://a/api/me", "http://a/realms/x/protocol/openid-connect/auth?client=1", "session-expired"),
    ],
)
def test_only_a_page_to_log_in_ends_the_session_of_a_redirected_call(key: str, live: str, cause: Cause) -> None:
    """Sites have an API below `/api/auth/`; and a refused sign-in leads back to its form."""
    call = answer("url", "http://a/here", live, key=key)

    assert classify_cause(DivergenceCase(first=finding(), related_changes=(call,))).cause == cause


@pytest.mark.parametrize(
    ("url", "recorded", "live"),
    [
        (
            "http://a/cart",
            "https://idp.test/authorize?client_id=shop&state=a",
            "https://idp.test/authorize?client_id=shop&state=b",
        ),
        ("http://a/cart", "https://login.test/?app=1&state=a", "https://login.test/?app=1&state=b"),
        ("https://login.test/items", "https://login.test/items/1", "https://login.test/items/2"),
        ("https://login.test/?app=1", "https://a/home", "https://login.test/?app=1&step=2"),
        ("https://idp.test/authorize?client_id=shop", "https://a/back", "https://idp.test/u/login"),
    ],
)
def test_a_redirect_to_a_login_page_that_was_recorded_is_no_ended_session(url: str, recorded: str, live: str) -> None:
    """Nor is one within a site whose host is called like one for logins, or of a login page to another one."""
    for part in ("header location", "url"):
        call = answer(part, recorded, live, key=f"GET {url}")

        assert classify_cause(DivergenceCase(first=finding(), related_changes=(call,))).cause == "site-changed"


def test_a_redirect_within_a_host_for_logins_to_its_login_page_ends_the_session() -> None:
    """Only the host is no evidence there; the path is."""
    call = answer("url", "https://login.test/items", "https://login.test/sign_in", key="GET https://login.test/items")

    assert classify_cause(DivergenceCase(first=finding(), related_changes=(call,))).cause == "session-expired"


@pytest.mark.parametrize(
    ("ending", "redirect", "cause"),
    [
        ("net::ERR_FAILED", "http://a/new", "network"),
        ("net::ERR_FAILED", "http://b/new", "site-changed"),
        ("net::ERR_FAILED (withheld by CORS)", "http://a/new", "site-changed"),
        ("net::ERR_CONNECTION_RESET", "http://b/new", "network"),
    ],
)
def test_a_page_may_not_read_a_response_only_as_far_as_that_is_known(ending: str, redirect: str, cause: Cause) -> None:
    """A request that fails after a redirect within its origin failed for another reason, unless the browser says so."""
    values = (
        ValueChange(part="ending", recorded="status 200", live=ending),
        ValueChange(part="header location", recorded="(absent)", live=redirect),
    )
    call = answer("ending", "", "").model_copy(update={"what": values})
    classified = classify_cause(DivergenceCase(first=finding(), related_changes=(call,)))

    assert classified.cause == cause
    assert ("does not let the page read" in classified.why) == (cause == "site-changed")


def test_a_sign_in_form_ends_only_a_session_that_there_was() -> None:
    """Not before a sign-in, and not if the recorded response was refused, too."""
    form = answer("sign-in form", "(absent)", "Sign in")
    refused = ValueChange(part="status", recorded="401", live="200")
    case = DivergenceCase(first=finding(), changes=(form,), network_mode="live")
    was_refused = form.model_copy(update={"what": (*form.what, refused)})

    assert classify_cause(case).cause == "session-expired"
    assert classify_cause(replace(case, is_before_sign_in=True)).cause == "site-changed"
    assert classify_cause(replace(case, changes=(was_refused,))).cause == "site-changed"


def test_changed_responses_that_the_page_does_not_show_are_not_said_to_explain_it() -> None:
    """Only responses differ between two recordings, but which one the page depends on is not known."""
    case = DivergenceCase(first=finding(), changes=(answer("body line 1", "a{}", "b{}"),), is_answered_by_other=True)

    assert classify_cause(case).why.endswith("none of their changed values is on the page")
