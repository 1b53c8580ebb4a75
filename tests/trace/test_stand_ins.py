"""Which properties of a value its stand-in keeps."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.secrets.detection import looks_random
from eikon_engine.secrets.redaction import Redactor
from eikon_engine.secrets.stand_ins import (
    MARK,
    RecordedStandIns,
    StandInMap,
    character_classes,
    looks_like_stand_in,
    make_password_stand_in,
    make_stand_in,
)

VALUES = st.text(string.ascii_letters + string.digits + "-_.~+/=%", min_size=1, max_size=80)
UUID = "3f2b8c1e-9d4a-4e6f-8a7b-0c1d2e3f4a5b"
TOKEN = "kJ83hdPq0zLmWv7TnXy2"
LIVE = "Zx81LqPd93kWvTnXy2Mc"


def test_a_short_drawn_value_is_replaced_where_it_stands_alone() -> None:
    """Also in a short text; neither in words, longer numbers and times, nor in escapes."""
    known = RecordedStandIns(())
    known.substitute({"18": "17", "abcd1234": "dcba4321"})

    text = "18 ticket-18/18?id=18&n=%2F18 'No 18.' 118 1.18 18:30 18,500 a18 %18 &#18; n_abcd1234x"
    replaced = "17 ticket-17/17?id=17&n=%2F17 'No 17.' 118 1.18 18:30 18,500 a18 %18 &#18; n_dcba4321x"
    assert known.replace_text(text) == replaced
    assert known.replace_bytes(text.encode()) == replaced.encode()
    assert known.restore_bytes(replaced.encode()) == text.encode()
    assert (known.replace_text("18"), known.replace_bytes(b"18"), known.replace_text("1")) == ("17", b"17", "1")


@given(VALUES, st.binary(min_size=1, max_size=32))
def test_length_and_punctuation_are_preserved(value: str, key: bytes) -> None:
    """A stand-in has the length and punctuation of its value, and is the same each time."""
    drawn = make_stand_in(value, key)

    assert len(drawn) == len(value)
    assert [char if not char.isalnum() else "" for char in drawn] == [
        char if not char.isalnum() else "" for char in value
    ]
    assert make_stand_in(value, key) == drawn
    assert drawn != value or not re.sub(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9]", "", value)


@given(st.text("0123456789abcdef", min_size=8, max_size=64))
def test_hexadecimal_stays_hexadecimal(value: str) -> None:
    """A page that parses hexadecimal digits can parse the stand-in."""
    assert re.fullmatch(r"[0-9a-f]+", make_stand_in(value))


def test_a_uuid_stays_one_of_its_version() -> None:
    """Version and variant of the UUID are kept."""
    assert re.fullmatch(r"e1c0ded[0-9a-f]-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}", make_stand_in(UUID))


@pytest.mark.parametrize("value", [TOKEN, TOKEN * 3, TOKEN.upper(), UUID, "9f86d081884c7d659a2feaa0c55ad015"])
def test_a_long_stand_in_is_recognized_by_its_format(value: str) -> None:
    """A stand-in is never taken for a secret, nor a secret for a stand-in."""
    assert looks_like_stand_in(make_stand_in(value))
    assert not looks_like_stand_in(value)


def test_another_key_gives_another_stand_in() -> None:
    """Stand-ins of one recording reveal nothing about another."""
    assert make_stand_in("a1b2c3d4", b"one") != make_stand_in("a1b2c3d4", b"two")
    assert make_stand_in(TOKEN * 2).startswith(MARK)


@given(st.text(string.printable, min_size=1, max_size=40), st.integers(0, 50))
def test_what_is_typed_for_a_password_is_as_long_and_as_mixed(value: str, number: int) -> None:
    """It has the password's length and kinds of characters, as far as they fit into that length."""
    drawn = make_password_stand_in(len(value), character_classes(value), number)

    assert len(drawn) == len(value)
    assert character_classes(drawn) == character_classes(value) or len(value) < sum(character_classes(value))


@given(st.text(string.ascii_letters + string.digits + "_-", min_size=8, max_size=60).filter(looks_random), st.text())
def test_no_encoding_changes_a_length(value: str, around: str) -> None:
    """Redacted bytes have the same length and no longer contain the value."""
    known = StandInMap()
    known.add(value, make_stand_in(value))
    data = f"{around} {value} {around}".encode("utf-8", "surrogatepass")

    clean = Redactor({}, known).redact_bytes(data)

    assert len(clean) == len(data)
    assert value.encode() not in clean or value in around


def test_a_replay_recognizes_a_token_its_page_creates_again() -> None:
    """A token that a page creates again gets its response, although the recording has only the stand-in."""
    known = RecordedStandIns([make_stand_in(TOKEN)])
    redactor = Redactor({}, known)

    sent = redactor.redact_text(f"/ask?token={TOKEN}&other=Zx81Zx81Zx81Zx81Zx81")
    answered = redactor.restore_bytes(f'{{"echo": "{make_stand_in(TOKEN)}"}}'.encode())

    assert sent == f"/ask?token={make_stand_in(TOKEN)}&other=Zx81Zx81Zx81Zx81Zx81"
    assert answered == f'{{"echo": "{TOKEN}"}}'.encode()


def test_a_replay_restores_only_what_its_page_created() -> None:
    """A value from a server stays a stand-in, which is what the page gets."""
    redactor = Redactor({}, RecordedStandIns([make_stand_in(TOKEN)]))

    assert redactor.restore_bytes(make_stand_in(TOKEN).encode()) == make_stand_in(TOKEN).encode()
    assert redactor.redact_text(make_stand_in(TOKEN)) == make_stand_in(TOKEN)


STAND_IN, OTHER = make_stand_in(TOKEN), make_stand_in(TOKEN[::-1])


@pytest.mark.parametrize(
    ("recorded", "live", "text", "redacted"),
    [
        (f'csrf="{STAND_IN}"', 'csrf="Zx81LqPd93kWvTnXy2Mc"', "send Zx81LqPd93kWvTnXy2Mc", f"send {STAND_IN}"),
        (
            f'csrf="{STAND_IN}.a1b2"',
            'csrf="Zx81LqPd93kWvTnXy2Mc.c3d4"',
            "Zx81LqPd93kWvTnXy2Mc.c3d4",
            f"{STAND_IN}.a1b2",
        ),
        (f'csrf="{STAND_IN}"', 'csrf="currently-unavailable"', "it is currently-unavailable", None),
        (f'csrf="{STAND_IN}"', 'csrf=""', "none", None),
        (f'csrf="{STAND_IN}"', 'id="Zx81LqPd93kWvTnXy2Mc"', "send Zx81LqPd93kWvTnXy2Mc", None),
        (f'csrf="{STAND_IN}" k="Zx81LqPd93kWvTnXy2Mc"', 'csrf="Zx81LqPd93kWvTnXy2Mc"', "Zx81LqPd93kWvTnXy2Mc", None),
    ],
)
def test_a_live_token_is_known_by_its_place(recorded: str, live: str, text: str, redacted: str | None) -> None:
    """What looks random in the place of a stand-in stands for it; words, empty values and other places do not."""
    known = RecordedStandIns([STAND_IN])

    known.learn(recorded, live)

    assert known.replace_text(text) == (text if redacted is None else redacted)


@pytest.mark.parametrize("around", ["u/{}", "v2/{}", "p/{}/ok", "v1:{}"])
def test_a_part_of_a_quoted_value_is_known_alone(around: str) -> None:
    """A page may send it without what surrounds it in the document."""
    known = RecordedStandIns([STAND_IN])

    known.learn(f'<a href="{around.format(STAND_IN)}">', f'<a href="{around.format("Zx81LqPd93kWvTnXy2Mc")}">')

    assert known.replace_text("/api/Zx81LqPd93kWvTnXy2Mc") == f"/api/{STAND_IN}"
    assert known.replace_text(around.format("Zx81LqPd93kWvTnXy2Mc")) == around.format(STAND_IN)


@pytest.mark.parametrize("live", ["u2/Zx81LqPd93kWvTnXy2Mc", "u/Zx81LqPd93kWvTnXy2Mc/", "u:Zx81LqPd93kWvTnXy2Mc"])
def test_parts_of_values_that_differ_in_more_are_not_known(live: str) -> None:
    """The slashes of Base64 separate nothing."""
    known = RecordedStandIns([STAND_IN])

    known.learn(f'<a href="u/{STAND_IN}">', f'<a href="{live}">')

    assert known.replace_text("/api/Zx81LqPd93kWvTnXy2Mc") == "/api/Zx81LqPd93kWvTnXy2Mc"


@pytest.mark.parametrize(
    "live",
    ["/tmaIwni3GVVbfL94dhl/tIELzTBG9i", "/tmaIwni3GVVbfL94+dhl/tIELzTBG9", "e/7Q+maIwni3GVVbfL94dhlTBG9iaW5jbA=="],
)
@pytest.mark.parametrize("recorded", ["uM1Wd/{}/ab", "/{}+x/M1mi/uM1Wd"])
def test_slashes_in_base64_may_stand_anywhere(recorded: str, live: str) -> None:
    """One of 64 such values begins with a slash."""
    known = RecordedStandIns([STAND_IN])
    page = "<input type=hidden name=__VIEWSTATE value='{}'>"

    known.learn(page.format(recorded.format(STAND_IN)), page.format(live))

    assert known.replace_text(live) == recorded.format(STAND_IN)


@pytest.mark.parametrize(
    ("recorded", "live"),
    [
        ("/u/12/{}", "/u/13/{}"),
        ("/Orders/1/{}", "/Orders/2/{}"),
        ("/Orders/Details/{}", "/Invoices/Details/{}"),
        ("/admin/src/+/{}", "/other/src/+/{}"),
        ("/delete/a+b/{}", "/keep/a+b/{}"),
        ("/API/v2/{}/EN", "/API/v3/{}/EN"),
    ],
)
def test_another_link_with_a_token_is_another_link(recorded: str, live: str) -> None:
    """Only the token of a path is learned."""
    known = RecordedStandIns([STAND_IN])
    page = '<a class=link href="{}">'
    before, after = page.format(recorded.format(STAND_IN)), page.format(live.format(LIVE))

    known.learn(before, after)

    assert known.replace_text(after) != before


def test_a_live_token_with_two_places_stands_for_the_first() -> None:
    """One token of the session may fill two fields that had tokens of their own."""
    known = RecordedStandIns([STAND_IN, OTHER])

    known.learn(f'a="{STAND_IN}" b="{OTHER}"', 'a="Zx81LqPd93kWvTnXy2Mc" b="Zx81LqPd93kWvTnXy2Mc"')

    assert known.replace_text("Zx81LqPd93kWvTnXy2Mc") == STAND_IN
    assert known.restore_bytes(STAND_IN.encode()) == b"Zx81LqPd93kWvTnXy2Mc"


def test_a_known_token_gets_no_other_value_from_a_request() -> None:
    """A page that sends a value of its own in place of the server's token sends another request."""
    known = RecordedStandIns([STAND_IN])
    known.learn(f'csrf="{STAND_IN}"', f'csrf="{LIVE}"')
    known.learn_unknown(f"csrf={STAND_IN}&save=1", "csrf=Hb6GtR2vQm9YxW4sLp0K&save=1")

    assert known.replace_text(LIVE) == STAND_IN
    assert known.replace_text("Hb6GtR2vQm9YxW4sLp0K") == "Hb6GtR2vQm9YxW4sLp0K"

    fresh = RecordedStandIns([STAND_IN])
    fresh.learn_unknown(f"csrf={STAND_IN}&save=1", f"csrf={LIVE}&save=1")
    assert fresh.replace_text(LIVE) == STAND_IN


@pytest.mark.parametrize(("name", "is_known"), [("Apple", True), ("Pear", False)])
def test_a_message_teaches_tokens_if_all_else_is_equal(name: str, *, is_known: bool) -> None:
    """Messages in another order have other tokens in the same places."""
    known = RecordedStandIns([STAND_IN])

    known.learn_from_equal(f'{{"id":"{STAND_IN}","name":"Apple"}}', f'{{"id":"{LIVE}","name":"{name}"}}')

    assert known.replace_text(LIVE) == (STAND_IN if is_known else LIVE)
