"""The actions of a recording get the values that the site draws now, and nothing else in them changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.network.exchange import Exchange
from eikon_engine.network.store import IndexReader, NetworkWriter
from eikon_engine.record.moved_actions import with_current_values
from eikon_engine.trace.actions import Click, Fill, Navigate
from eikon_engine.trace.target import Target
from tests.network.factories import make_exchange

if TYPE_CHECKING:
    from pathlib import Path

VALUES = {"17": "18", "0123456789ab": "ba9876543210", "a&b": "c&d"}


@pytest.mark.parametrize(
    ("recorded", "current"),
    [
        ("http://10.0.0.17:1717/tickets/17?id=17#17", "http://10.0.0.17:1717/tickets/18?id=18#18"),
        ("http://host17/17", "http://host17/18"),
        ("https://17:17@17/x17/17x/117/1.17/17.5/17,500", "https://17:17@17/x17/17x/117/1.17/17.5/17,500"),
        ("http://a/?to=http%3A%2F%2Fb%3A17%2Ftickets%2F17%20", "http://a/?to=http%3A%2F%2Fb%3A17%2Ftickets%2F18%20"),
        ("http://a/%17/0123456789ab/n0123456789abn", "http://a/%17/ba9876543210/nba9876543210n"),
        ("http://a/?name=a%26b&a%2526b", "http://a/?name=c%26d&a%2526b"),
    ],
)
def test_values_of_a_url_are_replaced_where_they_stand_alone(recorded: str, current: str) -> None:
    """The site is never changed, nor are longer numbers and percent-encoded characters."""
    assert with_current_values(Navigate(url=recorded), VALUES) == Navigate(url=current)


@pytest.mark.parametrize(
    ("recorded", "current"),
    [
        ("li:nth-child(17)", "li:nth-child(17)"),
        ("li:nth-of-type(17) > a[href='/tickets/17']", "li:nth-of-type(17) > a[href='/tickets/18']"),
        ("#list >> nth=17", "#list >> nth=17"),
        ("xpath=//li[17]/a[@id='17']", "xpath=//li[17]/a[@id='18']"),
        ("#ticket-17", "#ticket-18"),
        ("text=No 17", "text=No 18"),
        ("a[href='http://h:17/17']", "a[href='http://h:17/18']"),
        ("a[href='//h:17/17']", "a[href='//h:17/18']"),
    ],
)
def test_values_of_a_selector_are_replaced_but_not_its_positions(recorded: str, current: str) -> None:
    """A position that equals a value is still a position; so it is in frames and alternatives."""
    target, moved = (Target(selector=each, frames=(each,), alternatives=(each,)) for each in (recorded, current))
    assert with_current_values(Click(target=target), VALUES) == Click(target=moved)


def test_a_short_text_that_is_a_value_is_replaced() -> None:
    """Also what is filled in; brackets in it are no position."""
    recorded, current = (Fill(target=Target(selector="#a"), text=text) for text in ("17", "18"))
    assert with_current_values(recorded, VALUES) == current
    assert with_current_values(recorded.model_copy(update={"text": "[17]"}), VALUES).model_dump()["text"] == "[18]"
    assert with_current_values(recorded, {}) is recorded
    assert with_current_values(recorded, {"fill": "click", "other": "17"}) == recorded


def test_exchanges_of_a_recording_in_progress_are_read_once(tmp_path: Path) -> None:
    """A line that is not complete yet is read later."""
    exchanges = [make_exchange(f"http://shop.test/{number}", ordinal=number) for number in range(4)]
    with NetworkWriter(tmp_path) as writer:
        reader = IndexReader(tmp_path)
        found: list[tuple[Exchange, ...]] = [reader.read_new()]
        writer.append(exchanges[1])
        writer.append(exchanges[0])
        found.append(reader.read_new())
        writer.append(exchanges[2])
    index = tmp_path / "index.jsonl"
    whole = exchanges[3].model_dump_json().encode() + b"\n"
    with index.open("ab") as file:
        file.write(whole[:50])
        file.flush()
        found.append(reader.read_new())
        file.write(whole[50:])
    found += [reader.read_new(), reader.read_new()]

    ordinals = [[each.ordinal for each in part] for part in found]
    assert ordinals == [[], [0, 1], [2], [3], []]
