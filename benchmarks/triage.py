"""Groups failed replays of known causes with `eikon triage`, and compares the groups with the causes.

Run: `python -m benchmarks.triage [--repeat 2] [--keep FOLDER] [--synthetic 10000]` in the environment of scripts/test.
Seven missions are recorded on the three ordinary sites (`tests/sites/ordinary`), which draw tokens, ids and numbers for
each run. Then each of 26 changes is made to its site, one after the other, and each mission that meets it is replayed
live. Prints for the groups, and for plain groups by the message of the first divergence: *homogeneity* (1 if each group
has one cause only), *completeness* (1 if each cause is in one group only), *purity* (runs whose cause is the most
frequent one of their group), how many groups there are, and how many runs are in the group of unknown causes. Lists
each group with two causes, and each cause in two groups. With `--synthetic`, measures seconds and memory for so many
copies of these outcomes. Ends with 1 if homogeneity or completeness is below 0.9.

Homogeneity and completeness: Rosenberg and Hirschberg, V-Measure, EMNLP 2007, sections 2.1 and 2.2.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import resource
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from playwright.sync_api import expect

from benchmarks.mutations.live import SECRETS, record
from eikon_engine.gates.event_sources import read_outcome
from eikon_engine.replay.engine import run_replay
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.triage.groups import triage
from tests.missions.ordinary import HELPDESK_PASSWORD, ORDINARY
from tests.sites.ordinary import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from playwright.sync_api import Page

    from eikon_engine.outcome.outcomes import ReplayOutcome
    from tests.sites.ordinary import OrdinarySite

MARK: Final = 0.9


def read_a_ticket(page: Page, url: str) -> None:
    """Sign in, and comment on the first ticket."""
    page.goto(f"{url}/login")
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill(HELPDESK_PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Printer is on fire").click()
    page.get_by_label("Comment").fill("On my way.")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#comments li")).to_have_count(1)


def read_the_board(page: Page, url: str) -> None:
    """Sign in, and write a message."""
    page.goto(url)
    page.get_by_label("User").fill("barbara")
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#presence")).to_have_text("Grace is online")
    page.get_by_label("Message").fill("hello")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#messages li")).to_have_text("Grace: hello? Yes!")


def order_a_pen(page: Page, url: str) -> None:
    """Put a pen into the cart and order it."""
    page.goto(url)
    page.get_by_role("link", name="Fountain pen").click()
    expect(page.locator("#stock")).to_have_text("31 in stock")
    page.get_by_role("button", name="Add to cart").click()
    expect(page.locator("#badge")).to_have_text("1")
    page.locator("#cart-link").click()
    expect(page.locator("#total")).to_have_text("24.90 EUR")
    page.get_by_label("Address").fill("1 Ockham Park")
    page.get_by_role("button", name="Order").click()
    expect(page.locator("#heading")).to_have_text("Thank you!")


def look_at_lamps(page: Page, url: str) -> None:
    """Search, and put two lamps into the cart."""
    page.goto(url)
    page.get_by_label("Search").fill("lamp")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("link", name="Desk lamp").click()
    expect(page.locator("#stock")).to_have_text("4 in stock")
    page.get_by_label("Amount").fill("2")
    page.get_by_role("button", name="Add to cart").click()
    expect(page.locator("#badge")).to_have_text("2")


MISSIONS: Final[dict[str, dict[str, Callable[[Page, str], None]]]] = {
    "helpdesk": {"report": ORDINARY["helpdesk"][1], "read": read_a_ticket},
    "board": {"deploy": ORDINARY["board"][1], "look": read_the_board},
    "store": {"mugs": ORDINARY["store"][1], "pen": order_a_pen, "lamps": look_at_lamps},
}


def text(request: str, old: str, new: str) -> Change:
    """Change a text of a response, each time."""
    return Change(request=request, number=0, edit=lambda body: body.replace(old, new))


def status(request: str, code: int, body: str = '{"error": "failed"}') -> Change:
    """Answer with an error, each time."""
    kind = "application/json" if body.startswith("{") else "text/html"
    return Change(request=request, number=0, status=code, body=body.encode(), content_type=kind)


ERROR_PAGE: Final = "<!doctype html><h1>Something went wrong</h1>"
CAUSES: Final[dict[str, dict[str, Change]]] = {
    "helpdesk": {
        "sign-in renamed": text("GET /login", '<button id="submit">Sign in', '<button id="submit">Log in'),
        "label renamed": text("GET /login", "User name</label>", "Account</label>"),
        "sign-in fails": status("POST /login", 500, ERROR_PAGE),
        "tickets fail": status("GET /tickets", 503, ERROR_PAGE),
        "ticket fails": status("GET /tickets/*", 500, ERROR_PAGE),
        "script missing": status("GET /static/helpdesk.js", 404, ERROR_PAGE),
        "send renamed": text("GET /tickets/*", '<button id="send">Send', '<button id="send">Post'),
        "heading changed": text("GET /tickets", '<h1 id="heading">Tickets', '<h1 id="heading">Cases'),
        "banner": text("GET /login", '<main id="content">', '<p id="banner">Down on Sunday</p><main id="content">'),
    },
    "board": {
        "sign-in fails": status("POST /api/session", 500),
        "services fail": status("GET /api/services", 503),
        "owner changed": text("GET /api/services", '"owner": "', '"owner": "Dr '),
        "instances changed": Change(
            request="GET /api/services", number=0, edit=lambda body: body.replace('"instances": ', '"instances": 1')
        ),
        "script broken": text("GET /static/board.js", '"use strict";', "null.broken;"),
        "sign-in renamed": text("GET /", ">Sign in<", ">Enter<"),
        "deployments refused": status("POST /api/deployments", 403),
        "reviewer changed": text("GET /api/deployments/*", "Barbara", "Ada"),
        "send renamed": text("GET /", ">Send<", ">Post<"),
    },
    "store": {
        "price changed": text("GET /", "24.90 EUR", "29.90 EUR"),
        "offer changed": text("GET /", "Free delivery until midnight.", "Free delivery from 20 EUR."),
        "add fails": status("POST /api/cart", 500),
        "add renamed": Change(
            request="GET /product/pen", number=0, edit=lambda body: body.replace(">Add to cart<", ">Buy<")
        ),
        "cart fails": status("GET /api/cart", 502),
        "checkout fails": status("POST /checkout", 500, ERROR_PAGE),
        "script missing": status("GET /static/store.js", 404, ERROR_PAGE),
        "find renamed": text("GET /", '<button id="find">Find', '<button id="find">Go'),
    },
}


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed replay with its true cause."""

    cause: str
    path: str
    outcome: ReplayOutcome


async def replay_causes(site_name: str, site: OrdinarySite, bundles: Sequence[Path], repeat: int) -> list[Failure]:
    """Replay each mission with each change; return those that met it and failed."""
    found = []
    for name, change in CAUSES[site_name].items():
        for bundle in bundles:
            for number in range(repeat):
                site.restart(change)
                folder = bundle.parent / "runs" / f"{bundle.name} {name} {number}".replace(" ", "-")
                options = ReplayOptions(artifacts_dir=folder, network="live", secrets=dict(SECRETS), reports=())
                outcome = (await run_replay(open_bundle(bundle), options, ())).outcome
                if site.applied and outcome.exit_status:
                    found.append(Failure(f"{site_name}: {name}", str(folder / "outcome.json"), outcome))
    return found


def entropy(counts: Sequence[int]) -> float:
    """Return the entropy of a distribution, in nats."""
    total = sum(counts)
    return -sum(each / total * math.log(each / total) for each in counts if each)


def homogeneity(classes: Sequence[Hashable], groups: Sequence[Hashable]) -> float:
    """Return 1 if each group has members of one class only, and 0 if the groups tell nothing of the classes."""
    whole = entropy(list(Counter(classes).values()))
    members: defaultdict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    for one, group in zip(classes, groups, strict=True):
        members[group][one] += 1
    left = sum(each.total() / len(classes) * entropy(list(each.values())) for each in members.values())
    return 1.0 if whole == 0 else 1 - left / whole


def purity(classes: Sequence[Hashable], groups: Sequence[Hashable]) -> float:
    """Return the part of the members whose class is the most frequent one of their group."""
    members: defaultdict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    for one, group in zip(classes, groups, strict=True):
        members[group][one] += 1
    return sum(max(each.values()) for each in members.values()) / len(classes)


def describe(name: str, causes: Sequence[str], groups: Sequence[str]) -> str:
    """Return a line of the table."""
    unknown = sum(each == "unknown" for each in groups)
    return (
        f"{name:<12} {homogeneity(causes, groups):<12.3f} {homogeneity(groups, causes):<13.3f} "
        f"{purity(causes, groups):<8.3f} {len(set(groups)):<7} {unknown / len(groups):.1%}\n"
    )


def differences(causes: Sequence[str], groups: Sequence[str], names: dict[str, str]) -> Iterator[str]:
    """Yield the groups with several causes, and the causes in several groups."""
    by_group: defaultdict[str, Counter[str]] = defaultdict(Counter)
    by_cause: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for cause, group in zip(causes, groups, strict=True):
        by_group[group][cause] += 1
        by_cause[cause][group] += 1
    for group, found in by_group.items():
        if len(found) > 1:
            yield f"group {group} ({names[group]}): {', '.join(f'{each} ({runs})' for each, runs in found.items())}\n"
    for cause, held in by_cause.items():
        if len(held) > 1:
            yield f"cause {cause}: {'; '.join(f'{names[each]} ({runs})' for each, runs in held.items())}\n"


def measure(failures: Sequence[Failure], number: int) -> str:
    """Read and group so many copies; return the seconds and the largest memory of the process."""
    begin = time.perf_counter()
    copies = ((f"{place}", read_outcome(Path(failures[place % len(failures)].path))) for place in range(number))
    groups = len(triage(copies).groups)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"{number} outcomes in {groups} groups: {time.perf_counter() - begin:.1f} s, {used:.0f} MiB\n"


def main(repeat: int, synthetic: int, keep: Path | None) -> int:
    """Record, replay, group, compare, print."""
    begin = time.perf_counter()
    failures: list[Failure] = []
    with tempfile.TemporaryDirectory(prefix="eikon-triage-") as made, ExitStack() as stack:
        folder = keep or Path(made)
        for site_name, missions in MISSIONS.items():
            site = stack.enter_context(ORDINARY[site_name][0]())
            home = folder / site_name
            home.mkdir(parents=True)
            bundles = []
            for name, mission in missions.items():
                site.restart()
                bundles.append(record(name, site, home, mission).root)
            failures += asyncio.run(replay_causes(site_name, site, bundles, repeat))
        found = triage((each.path, each.outcome) for each in failures)
        group_of = {run.path: group.id for group in found.groups for run in group.runs}
        causes, groups = [each.cause for each in failures], [group_of[each.path] for each in failures]
        messages = [each.outcome.divergences[0].message if each.outcome.divergences else "" for each in failures]
        missions_hit = len({each.outcome.trace_path for each in failures})
        sys.stdout.write(f"{len(failures)} failed replays of {len(set(causes))} causes, {missions_hit} missions\n")
        sys.stdout.write("grouped by   homogeneity  completeness  purity   groups  unknown\n")
        sys.stdout.write(describe("triage", causes, groups) + describe("message", causes, messages))
        sys.stdout.writelines(differences(causes, groups, {each.id: str(each.signature) for each in found.groups}))
        sys.stdout.write(measure(failures, synthetic) if synthetic else "")
        if keep is not None:
            truth = {each.path: each.cause for each in failures}
            (folder / "truth.json").write_text(json.dumps(truth, indent=1))
    sys.stdout.write(f"{time.perf_counter() - begin:.0f} s\n")
    return 0 if min(homogeneity(causes, groups), homogeneity(groups, causes)) >= MARK else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=2, help="replays of each mission with each change")
    parser.add_argument("--synthetic", type=int, default=0, help="copies to read and group")
    parser.add_argument("--keep", type=Path, help="new folder for bundles, outcomes and their causes")
    given = parser.parse_args()
    sys.exit(main(given.repeat, given.synthetic, given.keep))
