"""Values that a server draws are found by their places, and stand for the recorded ones one to one."""

from __future__ import annotations

import re
from functools import partial

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eikon_engine.network.exchange import Hop, RecordedResponse
from eikon_engine.network.matching import RuleUsage
from eikon_engine.network.response_values import DrawnValues, RequestedSegments, pair_values, propose_response_rules
from eikon_engine.network.rule_learner import RuleLearner
from eikon_engine.secrets.stand_ins import RecordedStandIns
from eikon_engine.trace.rules import ResponseValueRule
from tests.network.factories import make_exchange

URL = "http://shop.test/tickets"
LINK = 'href="/tickets/([0-9a-f]{12})(?=")'
IDS = st.from_regex(r"[0-9a-f]{12}", fullmatch=True).filter(
    lambda each: re.search("[a-f]", each) and re.search("[0-9]", each)
)


def proposed(recorded: str, live: str) -> list[str]:
    """Return the patterns of the rules for two responses."""
    return [rule.pattern for rule in propose_response_rules((URL, URL), recorded, live)]


@pytest.mark.parametrize(
    ("recorded", "live", "pattern"),
    [
        ('<a href="/tickets/2861355d2bf5">', '<a href="/tickets/19c446aac358">', LINK),
        (
            '{"id": "c68472051def", "n": 3}',
            '{"id": "b68472051de1", "n": 3}',
            r'"id":\\ "([0-9a-f]{12})(?=")'.replace("\\\\", "\\"),
        ),
        ("<script src=/a.js?v=1795456933724>", "<script src=/a.js?v=1795456958816>", r"src=/a\.js\?v=([0-9]{13})(?=>)"),
    ],
)
def test_a_drawn_value_gets_a_rule_for_its_place(recorded: str, live: str, pattern: str) -> None:
    """The rule has the attribute or member before the value, and what it is drawn from."""
    assert proposed(recorded, live) == [pattern]


HEX = "3965df97182225ea60d3221740adc570"
OTHER_HEX = "b9a52ff590ac6806a0a72fc64d4b62e6"


@pytest.mark.parametrize("joint", ["~", ".", ":", "|", "+", "/", "=", "::"])
def test_the_parts_of_a_value_are_drawn_together(joint: str) -> None:
    """The rule of a signed id has both of its parts, and either may be sent alone."""
    ids = f"D3X2VHji2r8k1QXE{joint}{HEX}", f"VAOIlsGWwyXcbS8g{joint}{OTHER_HEX}"
    recorded, live = (f'{{"end_id": "{each}", "step": 3}}' for each in ids)
    learner = RuleLearner()
    learned: dict[str, str] = {}
    drawn = DrawnValues((), learner, RuleUsage(()), lambda found, _urls: learned.update(found))
    drawn.learn((URL, URL), recorded, live)

    (rule,) = learner.rules
    assert isinstance(rule, ResponseValueRule)
    assert re.findall(rule.pattern, live) == [ids[1]]
    assert learned == {ids[1]: ids[0], "VAOIlsGWwyXcbS8g": "D3X2VHji2r8k1QXE", OTHER_HEX: HEX}


SIGNED = "D3X2VHji2r8k1QXE", "VAOIlsGWwyXcbS8g", "Qm4ZtK9xw1BvR7dY"
SIGNATURES = HEX, OTHER_HEX, "57f1e0c94b2d8a6637c05be1f98d24a3", "0e9b4c7d1f2a8365b4d7c0e1a93f6258"


def signed(ids: tuple[int, int], signatures: tuple[str, ...]) -> list[str]:
    """Return two members with signed ids."""
    return [f'"id": "{SIGNED[one]}~{signature}"' for one, signature in zip(ids, signatures, strict=True)]


def learned_parts(*responses: tuple[str, str]) -> dict[str, str]:
    """Return the ids that stand for recorded ones after these recorded and live responses."""
    learned: dict[str, str] = {}
    drawn = DrawnValues((), RuleLearner(), RuleUsage(()), lambda found, _urls: learned.update(found))
    for recorded, live in responses:
        drawn.learn((URL, URL), recorded, live)
    return {value: one for value, one in learned.items() if value in SIGNED}


@pytest.mark.parametrize(
    ("recorded", "live", "parts"),
    [
        ((0, 0), (1, 2), {}),
        ((0, 0), (0, 2), {}),
        ((0, 1), (2, 2), {}),
        ((0, 0), (1, 1), {SIGNED[1]: SIGNED[0]}),
    ],
)
def test_a_part_that_would_stand_for_two_stands_for_none(
    recorded: tuple[int, int], live: tuple[int, int], parts: dict[str, str]
) -> None:
    """Nor do two stand for one: the site has one id where it had two, or the other way round."""
    ours, theirs = signed(recorded, SIGNATURES[:2]), signed(live, SIGNATURES[2:])

    assert learned_parts(("\n".join(ours), "\n".join(theirs))) == parts


@pytest.mark.parametrize(("recorded", "live"), [((0, 0), (1, 2)), ((0, 1), (2, 2))])
def test_a_part_stands_for_what_an_earlier_response_had(recorded: tuple[int, int], live: tuple[int, int]) -> None:
    """A later response that contradicts it adds nothing."""
    ours, theirs = signed(recorded, SIGNATURES[:2]), signed(live, SIGNATURES[2:])

    assert learned_parts(*zip(ours, theirs, strict=True)) == {SIGNED[live[0]]: SIGNED[recorded[0]]}


@given(IDS, IDS, IDS)
def test_a_record_has_one_drawn_id(recorded: str, live: str, other: str) -> None:
    """A page that shows another id than its link, or than the response before, shows what was not recorded."""
    assume(len({recorded, live, other}) == 3)
    page = '<a href="/tickets/{}">open</a>\n<code id=no>{}</code>'
    learned: dict[str, str] = {}
    drawn = DrawnValues((), RuleLearner(), RuleUsage(()), lambda found, _urls: learned.update(found))
    for ids in ((live, live), (live, other), (other, other)):
        drawn.learn((URL, URL), page.format(recorded, recorded), page.format(*ids))

    assert learned == {live: recorded}


def test_a_time_is_drawn_for_each_response() -> None:
    """Two recorded responses may have the same second, where those of a replay have two."""
    learned: dict[str, str] = {}
    drawn = DrawnValues((), RuleLearner(), RuleUsage(()), lambda found, _urls: learned.update(found))
    for now in ("1795456958", "1795456959"):
        drawn.learn((URL, URL), '"generated_at": "1795456933"', f'"generated_at": "{now}"')

    assert learned == {"1795456958": "1795456933", "1795456959": "1795456933"}


@pytest.mark.parametrize("joint", ["~", ".", ":", "|", "/", "+", "$", "!", "*", "@", "=", "::", "=="])
@pytest.mark.parametrize(("part", "other_part"), [("5", "6"), ("paid", "open"), ("EU42", "US9")])
def test_a_part_that_may_matter_is_no_part_of_a_value(joint: str, part: str, other_part: str) -> None:
    """A number or word behind a drawn part is compared; what is drawn before it is still learned."""
    recorded, live = f'"id": "{HEX}{joint}{part}"', f'"id": "{OTHER_HEX}{joint}{other_part}"'

    (pattern,) = proposed(recorded, live)

    assert re.findall(pattern, live) == [OTHER_HEX]


@pytest.mark.parametrize("joint", ["~", "/", "+", "="])
@pytest.mark.parametrize(
    ("recorded", "live"),
    [("EU42%sred1", "US9%sblue22"), ("room2%sbed1a", "room10%sbed3b"), ("XL2%sblack9", "M10%sWhite3")],
)
def test_joined_words_that_may_matter_are_no_value(joint: str, recorded: str, live: str) -> None:
    """A variant of two short words is compared, although it could be Base64."""
    assert proposed(*(f'"variant": "{each % joint}"' for each in (recorded, live))) == []


def test_a_joined_time_is_one_value() -> None:
    """Its parts are none on their own."""
    recorded, live = '"at": "1795456933.52"', '"at": "1795456958.81"'

    (pattern,) = proposed(recorded, live)

    assert re.findall(pattern, live) == ["1795456958.81"]


def test_a_rule_holds_no_live_value() -> None:
    """A live value may be a secret of the site, which the recorded one, redacted, is not."""
    (rule,) = propose_response_rules((URL, URL), '{"sid": "c68472051def"}', '{"sid": "b68472051de1"}')

    assert "c68472051def" in rule.reason
    assert "b68472051de1" not in rule.model_dump_json()


@pytest.mark.parametrize(
    ("recorded", "live"),
    [
        ("<b>7.50 EUR</b>", "<b>8.50 EUR</b>"),
        ("<b>Blue mug</b>", "<b>Green mug</b>"),
        ('<a href="/orders/1041">', '<a href="/orders/1042">'),
        ("<p>eikonredacted67F7HoHsOHw2bDUF82R</p>", "<p>uLT6Lr373uYyzXkbiUFiIQ7m0so1B--U</p>"),
    ],
)
def test_what_may_matter_or_is_a_token_gets_none(recorded: str, live: str) -> None:
    """Prices, names and numbers of records are compared; tokens are recognized without a rule."""
    assert proposed(recorded, live) == []


def test_a_rule_for_many_pages_of_a_site_is_one() -> None:
    """The second URL with the same pattern makes the rule one of the site."""
    learner = RuleLearner()
    known = learner.learn_response((URL, URL), "id=2861355d2bf5;", "id=19c446aac358;", ())
    other = "http://shop.test/new"
    known += learner.learn_response((other, other), "id=2861355d2bf5;", "id=19c446aac358;", known)

    assert learner.learn_response((other, other), "id=2861355d2bf5;", "id=19c446aac358;", known) == ()
    assert [rule.url for rule in learner.rules] == ["http://shop.test/*"]


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=6, unique_by=(lambda pair: pair[0], lambda pair: pair[1])))
def test_each_value_stands_for_the_one_in_its_place(pairs: list[tuple[str, str]]) -> None:
    """Ids are paired row by row."""
    recorded = "".join(f'<a href="/tickets/{one}">Row {place}</a>' for place, (one, _) in enumerate(pairs))
    live = "".join(f'<a href="/tickets/{other}">Row {place}</a>' for place, (_, other) in enumerate(pairs))

    assert pair_values(LINK, recorded, live) == {other: one for one, other in pairs if one != other}


def test_a_long_document_of_one_line_takes_no_time() -> None:
    """Long texts are compared place by place; if they have different numbers of words, they teach nothing."""
    row = '<li><a href="/tickets/{}">A ticket about something</a></li>'
    recorded = "".join(row.format(f"{number:08x}ab1c") for number in range(20_000))
    live = recorded.replace("00000007ab1c", "77777777ab1d")

    assert proposed(recorded, live) == [LINK]
    assert proposed(recorded, f"<p>News</p>{live}") == []
    assert proposed(
        recorded.replace("</li>", "</li>\n"), live.replace("</li>", "</li>\n").replace("A t", "2 more t", 1)
    ) == [LINK]
    assert pair_values(LINK, recorded, live) == {"77777777ab1d": "00000007ab1c"}


def test_a_missing_row_shifts_no_other() -> None:
    """Ids are paired by the text before them, so that one row less is the only difference."""
    rows = [("2861355d2bf5", "Chair"), ("aa61355d2b77", "Desk"), ("bb61355d2b78", "Lamp")]
    recorded = "".join(f'{name} <a href="/tickets/{one}">' for one, name in rows)
    live = 'Chair <a href="/tickets/000000000a00">Lamp <a href="/tickets/000000000b00">'

    assert pair_values(LINK, recorded, live) == {"000000000a00": "2861355d2bf5", "000000000b00": "bb61355d2b78"}


def test_a_value_that_would_stand_for_two_stands_for_none() -> None:
    """Two live ids in the places of one recorded id are a change of the site."""
    recorded = '<a href="/tickets/2861355d2bf5"><a href="/tickets/2861355d2bf5">'
    live = '<a href="/tickets/000000000a00"><a href="/tickets/000000000b00">'

    assert pair_values(LINK, recorded, live) == {}


@pytest.mark.parametrize("pattern", ['id="([0-9]*)"', '(?:id="([0-9]+)")?'])
def test_no_value_stands_for_an_empty_one(pattern: str) -> None:
    """Nor does an empty one stand for a value: it is everywhere."""
    assert pair_values(pattern, '<p id="4711">', '<p id="">') == {}
    assert pair_values(pattern, '<p id="">', '<p id="4711">') == {}


FOUND = [
    make_exchange(f"http://shop.test/{path}", ordinal=number, method="POST" if number == 1 else "GET")
    for number, path in enumerate(("tickets/17/early", "tickets", "tickets/17/edit", "list/5?page=3", "17", "c?id=17"))
]
USES = partial(RequestedSegments(FOUND).urls_before, exchange=FOUND[1])
ID = '{"id":17,"open":%s,"state":"new"}'
LIVE_ID = (ID % 4).replace("17", "18")


@pytest.mark.parametrize(
    ("recorded", "live", "pattern"),
    [
        (ID % 4, LIVE_ID, r'"id":([0-9]{1,9})(?=,)'),
        ('<a href="/tickets/17">', '<a href="/tickets/18">', r'href="/tickets/([0-9]{1,9})(?=")'),
        ("http://shop.test/tickets/17", "http://shop.test/tickets/18", r"http://shop\\.test/tickets/([0-9]{1,9})(?=$)"),
    ],
)
def test_a_number_that_a_response_and_a_later_path_have_is_an_id(recorded: str, live: str, pattern: str) -> None:
    """The rule names the path; the evidence has the recorded number and its request."""
    (rule,) = propose_response_rules((URL, URL), recorded, live, uses=USES)

    assert (rule.pattern, rule.path) == (pattern.replace("\\\\", "\\"), "/tickets/*")
    assert rule.reason == "id: recorded 17 in a response, requested as /tickets/17 later; another one in another run"


def test_a_number_before_a_drawn_value_is_an_id() -> None:
    """A drawn segment that follows it in the path is no part of it."""
    recorded, live = f'<a href="/tickets/17/{HEX}">', f'<a href="/tickets/18/{OTHER_HEX}">'

    (rule,) = propose_response_rules((URL, URL), recorded, live, uses=USES)

    assert (rule.path, re.findall(rule.pattern, live)) == ("/tickets/*", ["18"])


@pytest.mark.parametrize(
    ("recorded", "live"),
    [
        (ID % 17, ID % 18),
        ('{"id":3,"state":"new"}', '{"id":4,"state":"new"}'),
        ("<p>17 tickets are open now</p>", "<p>18 tickets are open now</p>"),
        ('<a href="/people/17">', '<a href="/people/18">'),
    ],
)
def test_a_short_number_that_occurs_by_chance_is_no_id(recorded: str, live: str) -> None:
    """A count, a number that is requested nowhere, and one in a text or another path."""
    assert propose_response_rules((URL, URL), recorded, live, uses=USES) == ()


def test_a_record_is_used_in_paths_of_later_requests() -> None:
    """And in those that its own request was redirected to; below a name, and not in parameters."""
    hop = Hop(url="http://shop.test/new", status=303)
    response = RecordedResponse(url="http://shop.test/tickets/21", status=200)
    sent = make_exchange(hop.url, ordinal=7, method="POST")
    redirected = sent.model_copy(update={"hops": (hop,), "response": response})
    requested = RequestedSegments([*FOUND, redirected])

    assert USES("17") == ("http://shop.test/tickets/",)
    assert USES("5") == ("http://shop.test/list/",)
    assert requested.urls_before("17", FOUND[2]) == ()
    assert requested.urls_before("21", redirected) == ("http://shop.test/tickets/",)


def test_a_mission_that_only_reads_creates_no_record() -> None:
    """A link to another record, in the place of the recorded link, is a difference."""
    requested = RequestedSegments(FOUND)
    reading = DrawnValues((), RuleLearner(), RuleUsage(()), lambda _values, _urls: None, FOUND)
    reading.learn((URL, URL), ID % 4, LIVE_ID, FOUND[0])

    assert not requested.may_be_created_by(FOUND[0])
    assert requested.may_be_created_by(FOUND[1])
    assert requested.may_be_created_by(FOUND[2])
    assert reading.rules == []


def learned(pattern: str, recorded: str, live: str) -> RecordedStandIns:
    """Return the stand-ins after a live response to the second request, with a rule for `/tickets/*`."""
    stand_ins = RecordedStandIns(())
    rule = ResponseValueRule(pattern=pattern, path="/tickets/*", reason="an id")
    DrawnValues((rule,), None, RuleUsage((rule,)), stand_ins.substitute, FOUND).learn(
        (URL, URL), recorded, live, FOUND[1]
    )
    return stand_ins


def test_a_short_id_stands_for_the_recorded_one_in_its_path_only() -> None:
    """Also with the origin, and encoded; not in longer numbers, other paths and texts, nor on other sites."""
    stand_ins = learned(r'"id":([0-9]{1,9})(?=,)', ID % 4, LIVE_ID)

    for text, expected in (
        ("/tickets/18", "/tickets/17"),
        ("http://shop.test/tickets/18/edit?x=18", "http://shop.test/tickets/17/edit?x=18"),
        ("<a href=//shop.test/tickets/18>", "<a href=//shop.test/tickets/17>"),
        ('{"next":"\\/tickets\\/18"}', '{"next":"\\/tickets\\/17"}'),
        ("?next=%2Ftickets%2F18%2Fedit", "?next=%2Ftickets%2F17%2Fedit"),
        ("?next=http%3A%2F%2Fshop.test%2Ftickets%2F18", "?next=http%3A%2F%2Fshop.test%2Ftickets%2F17"),
        ("shop.test/tickets/18", "shop.test/tickets/17"),
        (".shop.test/tickets/18", ".shop.test/tickets/17"),
        ("www.shop.test/tickets/18", "www.shop.test/tickets/18"),
        ("/tickets/180", "/tickets/180"),
        ("/tickets/18-old", "/tickets/18-old"),
        ("/old/tickets/18", "/old/tickets/18"),
        ("/people/18", "/people/18"),
        ("http://other.test/tickets/18", "http://other.test/tickets/18"),
        ("http://shop.test:8080/tickets/18", "http://shop.test:8080/tickets/18"),
        ("18 tickets", "18 tickets"),
    ):
        assert stand_ins.replace_text(text) == expected
        assert stand_ins.replace_bytes(text.encode()) == expected.encode()
        assert stand_ins.restore_segments(expected) == text
    assert stand_ins.restore_bytes(b'a[href="/tickets/17"] of 17\xff') == b'a[href="/tickets/18"] of 17\xff'


def test_only_the_records_that_the_mission_uses_stand_for_others() -> None:
    """A list has the numbers of other records in the same places."""
    links = '<a href="/tickets/%s"><a href="/tickets/%s">'

    stand_ins = learned(r'href="/tickets/([0-9]{1,9})(?=")', links % (17, 16), links % (18, 17))

    assert stand_ins.replace_text(links % (18, 17)) == links % (17, "17-other")


def test_an_odd_value_of_a_written_rule_is_literal() -> None:
    """It may have signs that mean something in patterns."""
    stand_ins = RecordedStandIns(())
    stand_ins.substitute({"18(a": "17.b", "18": "17"}, ["http://shop.test/tickets/"])

    assert stand_ins.replace_text("/tickets/18(a /tickets/18") == "/tickets/17.b /tickets/17"
    assert stand_ins.restore_segments("/tickets/17.b /tickets/17") == "/tickets/18(a /tickets/18"


def test_the_id_of_a_part_is_found_below_that_of_its_record() -> None:
    """The path of the part has the recorded id of the record, whatever is learned first."""
    for order in (1, -1):
        stand_ins = RecordedStandIns(())
        for url, pair in [("http://shop.test/t/", {"18": "17"}), ("http://shop.test/t/17/c/", {"9": "3"})][::order]:
            stand_ins.substitute(pair, [url])

        assert stand_ins.replace_text("/t/18/c/9") == "/t/17/c/3"
        assert stand_ins.restore_bytes(b"/t/17/c/3") == b"/t/18/c/9"


@pytest.mark.parametrize(
    ("pairs", "shown"),
    [
        ([{"18": "17"}], {"18": "17", "17": "17-other", "3": "3", "170": "170"}),
        ([{"18": "17"}, {"19": "17"}], {"18": "18", "19": "19", "17": "17-other"}),
        ([{"18": "17"}, {"18": "16"}], {"18": "17", "17": "17-other", "16": "16"}),
        ([{"18": "17"}, {"19": "18"}], {"18": "17", "19": "18", "17": "17-other"}),
        (
            [{"19": "18"}, {"20": "19"}, {"30": "21"}],
            {"18": "18-other", "19": "18", "20": "19", "21": "21-other", "30": "21"},
        ),
    ],
)
def test_different_live_records_never_look_like_one(pairs: list[dict[str, str]], shown: dict[str, str]) -> None:
    """A link to another record must not look like the recorded link, whatever its number."""
    stand_ins = RecordedStandIns(())
    for each in pairs:
        stand_ins.substitute(each, ["http://shop.test/tickets/"])

    assert {live: stand_ins.replace_text(f"/tickets/{live}").removeprefix("/tickets/") for live in shown} == shown


def test_responses_of_another_recording_keep_their_ids() -> None:
    """They are served as they are: their link to a record with the recorded number is another link."""
    stand_ins = learned(r'"id":([0-9]{1,9})(?=,)', ID % 4, LIVE_ID)

    assert stand_ins.restore_bytes(b"/tickets/17") == b"/tickets/18"
    assert stand_ins.restore_bytes(b"/tickets/17", is_own=False) == b"/tickets/17"
