"""Appending to a recording: new exchanges get unused positions, even after a truncated last line."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.errors import TraceFieldError
from eikon_engine.network.exchange import Exchange
from eikon_engine.network.store import INDEX_NAME, NetworkAppender, NetworkWriter, NumberAllocator, read_network
from tests.network.factories import make_exchange

URLS = st.sampled_from(["http://a/", "http://b/"])


def ended(places: NumberAllocator, url: str) -> Exchange:
    """Build a completed exchange at the next positions."""
    plain = make_exchange(ordinal=places.next_ordinal(), url=url)
    moment = places.next_moment(3.4, 5)
    return plain.model_copy(
        update={
            "occurrence": places.next_occurrence(plain.key),
            "failure": "net::ERR_FAILED",
            "response": None,
            "completed_ms": float(moment.at_ms),
            "completion": moment.order,
            "started_ms": 0.0,
        }
    )


@given(before=st.lists(URLS, max_size=4), added=st.lists(URLS, max_size=4), cut=st.integers(0, 40))
def test_additions_read_back_behind_what_was_there(before: list[str], added: list[str], cut: int) -> None:
    """However much of the last line is lost, additions are complete and no position is assigned twice."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        with NetworkWriter(folder) as writer:
            places = NumberAllocator(read_network(folder))
            for url in before:
                writer.append(ended(places, url))
        whole = (folder / INDEX_NAME).read_bytes()
        (folder / INDEX_NAME).write_bytes(whole[: max(0, len(whole) - cut)])
        kept = read_network(folder).exchanges

        with NetworkAppender(folder) as appender:
            places = NumberAllocator(read_network(folder))
            new = [ended(places, url) for url in added]
            for each in new:
                appender.append(each)

        found = read_network(folder)
        assert found.truncation is None
        assert found.exchanges == (*kept, *new)


def test_a_used_position_is_rejected(tmp_path: Path) -> None:
    """A second exchange cannot claim the position."""
    with NetworkWriter(tmp_path) as writer:
        writer.append(ended(NumberAllocator(read_network(tmp_path)), "http://a/"))

    with NetworkAppender(tmp_path) as appender, pytest.raises(TraceFieldError, match="is already used by"):
        appender.append(read_network(tmp_path).exchanges[0])
