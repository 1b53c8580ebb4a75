"""Apply mutants to a living site: its responses are changed as the recorded ones would be."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

from benchmarks.mutations.json_edits import leaves
from benchmarks.mutations.results import Result, result
from benchmarks.mutations.source import Answer, Source
from benchmarks.mutations.truth import FAITHFUL, Mutant, Truth, diverges
from eikon_engine.browser.executable import find_browser
from eikon_engine.certify.certify import accept, certify
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.network.exchange import SAFE_METHODS
from eikon_engine.network.websocket import SocketMessage
from eikon_engine.record import AttachOptions, record_mission
from eikon_engine.replay.engine import run_replay
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.trace.actions import READING_ACTIONS
from eikon_engine.trace.bundle import open_bundle
from tests.missions.ordinary import HELPDESK_PASSWORD, ORDINARY
from tests.sites.ordinary import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from playwright.sync_api import Page

    from benchmarks.mutations.source import Place
    from eikon_engine.divergence.effects import PolicyName
    from eikon_engine.network.exchange import Exchange
    from tests.sites.ordinary import OrdinarySite

SECRETS: Final = {"PASSWORD": HELPDESK_PASSWORD}
LEARNING_RUNS: Final = 3
UNCHANGED: Final = "unchanged"
"""Operator of the runs without a change."""
NOT_COMPARED: Final = frozenset({"script stores something", "script sets a cookie", "requests in another order"})
"""Operators whose effect a live replay does not compare (docs/probe.md)."""
_ID: Final = re.compile(r"(?<=/)[0-9a-f]{12}(?=/|$)")


class LearningError(Exception):
    """A mission that no live replay repeats."""


def record(name: str, site: OrdinarySite, folder: Path, mission: Callable[[Page, str], None] | None = None) -> Source:
    """Record a mission by attaching to a plain script, that of the site by default, and learn what the site varies."""
    bundle = folder / name
    perform = mission or ORDINARY[name][1]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
        page = browser.new_context().new_page()
        with record_mission(page, mission_text=name, directory=bundle, options=AttachOptions(secrets=SECRETS)):
            perform(page, site.url)
        browser.close()
    learn(bundle, site)
    return Source(name=name, root=bundle, secrets=SECRETS)


def learn(bundle: Path, site: OrdinarySite) -> None:
    """Accept what `eikon certify --network live` proposes.

    Raises:
        LearningError: it proposes nothing with which the replays are faithful.
    """
    reset = f"{sys.executable} -c \"import urllib.request as r; r.urlopen('{site.url}/restart', b'')\""
    options = CertifyOptions(network="live", runs=LEARNING_RUNS, secrets=SECRETS, reset_command=reset)
    opened = open_bundle(bundle)
    certification = asyncio.run(certify(opened, options))
    if certification.report.certificate is None:
        raise LearningError("\n".join(each.message for each in certification.report.findings))
    accept(opened, certification)


@dataclass(frozen=True, slots=True)
class _Request:
    """One request to the site in the recording."""

    key: str
    """Method and path, with `*` for drawn ids."""
    exchange: Exchange
    is_last: bool
    """Whether its response is not a redirect."""


def live_mutants(source: Source, mutants: Iterator[Mutant]) -> Iterator[tuple[Mutant, Change | None]]:
    """Yield the mutants that can be applied to a living site, with the change of its responses.

    There is none for changed messages, which `edit_messages` applies.
    """
    for each in mutants:
        if each.trace is not None or each.operator in NOT_COMPARED or _is_replaced_by_a_poll(source, each):
            continue
        mutant = replace(each, truth=_live_truth(source, each))
        if mutant.messages is not None:
            yield mutant, None
            continue
        change = _change(source, mutant)
        if change is not None:
            yield mutant, change


def _live_truth(source: Source, mutant: Mutant) -> Truth:
    """Return what a live replay finds.

    Its pages settle after each action that changes them, before the agent reads or acts again: a response comes during
    the action that requested it.
    """
    truth = mutant.truth
    place = truth.place
    if mutant.messages is not None and None in mutant.messages.values():
        return replace(truth, causes=truth.causes | {"site-changed"})  # what never comes is missed by the next read
    exchanges = {each.ordinal: each for each in source.recording.exchanges}
    for ordinal in mutant.answers or {}:
        if place == source.place(exchanges[ordinal]):
            place = _requested_at(source, exchanges[ordinal])
    while place is not None and isinstance(source.action(place).action, READING_ACTIONS):
        place = source.places[source.places.index(place) - 1]
    return replace(truth, place=place)


def _is_replaced_by_a_poll(source: Source, mutant: Mutant) -> bool:
    """Return whether a mutant changes a value that a later poll brings as well.

    The living site answers the poll with the true value, perhaps before anything is observed.
    """
    exchanges = {each.ordinal: each for each in source.recording.exchanges}
    count = Counter(each.key for each in exchanges.values())
    bodies = list(source.answered("application/json"))
    for ordinal, answer in (mutant.answers or {}).items():
        body = next((body for exchange, body in bodies if exchange.ordinal == ordinal), None)
        if answer.edit is None or body is None:
            continue
        kept = {leaf for _, leaf in leaves(json.loads(answer.edit(body)))}
        lost = {leaf for _, leaf in leaves(json.loads(body))} - kept
        polled = [
            {leaf for _, leaf in leaves(json.loads(later))}
            for exchange, later in bodies
            if exchange.ordinal > ordinal and count[exchange.key] > 1 and exchange.key != exchanges[ordinal].key
        ]
        if any(lost & values for values in polled):
            return True
    return False


def _requested_at(source: Source, exchange: Exchange) -> Place:
    """Return the action during which a request was sent, by what certified replays observed."""
    before = 0
    for place, (_, action) in zip(source.places, source.actions, strict=True):
        requests = action.baseline.requests if action.baseline is not None else ()
        before += requests.count(exchange.key)
        if before > exchange.occurrence:
            return place
    return source.place(exchange)


def forbidden(source: Source) -> Iterator[Mutant]:
    """Yield mutants whose form posts are refused."""
    for exchange in source.recording.exchanges:
        if exchange.request.method in SAFE_METHODS or not exchange.request.is_navigation or exchange.response is None:
            continue
        place = source.place(exchange)
        page = b"<!doctype html><title>Forbidden</title><h1>Forbidden</h1>"
        truth = diverges(place, "lifecycle network", "session-expired site-error")
        yield Mutant(
            operator="403 of a form",
            what=exchange.key,
            truth=truth,
            answers={exchange.ordinal: Answer(status=403, body=page)},
        )


def _requests(source: Source) -> Iterator[_Request]:
    """Yield the recorded requests as the site receives them: redirects are requests of their own."""
    for exchange in sorted(source.recording.exchanges, key=lambda each: each.ordinal):
        urls = [hop.url for hop in exchange.hops]
        last = exchange.response.url if exchange.response is not None else exchange.request.url
        for place, url in enumerate([*urls, last]):
            method = exchange.request.method if place == 0 else "GET"
            path = _ID.sub("*", urlsplit(url).path or "/")
            yield _Request(f"{method} {path}", exchange, is_last=place == len(urls))


def _change(source: Source, mutant: Mutant) -> Change | None:
    assert mutant.answers is not None
    ((ordinal, answer),) = mutant.answers.items()
    counts: Counter[str] = Counter()
    for each in _requests(source):
        counts[each.key] += 1
        if each.exchange.ordinal != ordinal or not each.is_last:
            continue
        if each.exchange.pieces and not each.exchange.request.is_navigation:
            return None  # the site sends it as a stream
        same = [other for other in source.recording.exchanges if other.key == each.exchange.key]
        is_polled = each.exchange.request.resource_type in {"fetch", "xhr"} and len(same) > 1
        return Change(
            request=each.key,
            number=0 if is_polled else counts[each.key],
            edit=answer.edit,
            body=answer.body,
            status=answer.status,
            content_type=answer.content_type if answer.body is not None else None,
            headers=answer.headers,
            location=urlsplit(answer.led_from).path if answer.led_from is not None else None,
            delay_s=answer.delay_ms / 1000,
            is_reset=answer.failure is not None,
        )
    return None


def edit_messages(source: Source, mutant: Mutant) -> Callable[[int, str], str | None]:
    """Return a function that changes the messages of the site as a mutant does, by their number."""
    changed = mutant.messages or {}
    sent = [
        event for event in source.recording.sockets if isinstance(event, SocketMessage) and event.sender == "server"
    ]
    by_number = {number: changed[each.moment.order] for number, each in enumerate(sent) if each.moment.order in changed}
    return by_number.get


async def replay_all(
    source: Source, site: OrdinarySite, chosen: Sequence[tuple[Mutant, Change | None]], folder: Path, policy: PolicyName
) -> list[Result]:
    """Replay mutants live, one after the other: the site has one state."""
    results: list[Result] = []
    bundle = open_bundle(source.root)
    for number, (mutant, change) in enumerate(chosen):
        site.restart(change, edit_messages(source, mutant))
        options = ReplayOptions(
            artifacts_dir=folder / str(number), network="live", policy=policy, secrets=dict(SECRETS), reports=()
        )
        done = await run_replay(bundle, options, ())
        found = result(source.name, mutant, done)
        if change is not None and not site.applied:
            found = replace(found, verdict="error: the change was not applied")
        results.append(found)
        if sys.stderr.isatty():
            sys.stderr.write(f"{source.name}: {len(results)} of {len(chosen)}\n")
    return results


def unchanged(runs: int) -> list[tuple[Mutant, Change | None]]:
    """Return runs without a change."""
    return [(Mutant(operator=UNCHANGED, what=str(number), truth=FAITHFUL), None) for number in range(runs)]
