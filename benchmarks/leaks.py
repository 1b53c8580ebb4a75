"""What leaves the machine while pages try every leak: nothing in a sealed replay.

Run: `python -m benchmarks.leaks [CLASS ...]` in the environment of scripts/test, on Linux, as root or where
`unshare -rn` is allowed. It moves into a network namespace whose only route is an interface that captures every packet.
Each class of request is tried in a sealed session, on a name, an IPv4, an IPv6 and a loopback address; some are then
tried in an unsealed session, where packets must leave, or else the interface proves nothing. Exits with 1 if a sealed
session lets a packet out or a class ends differently than in the table, with 2 if no namespace can be created.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from eikon_engine.browser.launch import LaunchOptions, launch_browser
from tests.browser.leak_classes import CLASSES
from tests.browser.leak_run import attempt_all, attempt_live, fate_of, record_leaks
from tests.browser.leak_wire import open_wire

if TYPE_CHECKING:
    from tests.browser.leak_classes import LeakClass
    from tests.browser.leak_run import LeakSite
    from tests.browser.leak_wire import Packet, Wire

INSIDE = "--inside"
LIVE = {"WebSocket of a worker", "WebRTC over UDP"}
"""Classes that are also tried unsealed, where they end at once without an answer."""
LINGER_S = 1.0
"""Wall time for late or repeated packets."""


def main() -> int:
    """Move into a namespace, and run the measurement there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="LEAK", help="leaks to measure, instead of all")
    parser.add_argument(INSIDE, action="store_true", dest="is_inside", help=argparse.SUPPRESS)
    chosen_arguments = parser.parse_args()
    names: list[str] = chosen_arguments.names
    if chosen_arguments.is_inside:
        with tempfile.TemporaryDirectory() as scratch, open_wire() as wire:
            chosen = tuple(leak for leak in CLASSES if not names or leak.name in names)
            return asyncio.run(measure(Path(scratch), wire, chosen))
    namespace = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
    if subprocess.run([*namespace, "true"], check=False).returncode:
        sys.stdout.write(f"{' '.join(namespace)} is not allowed here: nothing was measured; run as root\n")
        return 2
    return subprocess.run(
        [*namespace, sys.executable, "-m", "benchmarks.leaks", INSIDE, *names], check=False
    ).returncode


async def measure(folder: Path, wire: Wire, chosen: tuple[LeakClass, ...]) -> int:
    """Try classes, sealed and unsealed, and print the results."""
    async with record_leaks(folder, chosen) as leaks:
        wire.drain()
        right = await _sealed(leaks, chosen)
        asked = len(leaks.site.asked) + len(leaks.neighbour.asked)
        sealed = wire.drain()
        await _live(leaks, chosen)
        live = wire.drain()
    sys.stdout.write(f"sealed: {len(sealed)} packets left, {asked} requests reached a server on loopback\n")
    _list(sealed)
    sys.stdout.write(f"not sealed: {len(live)} packets left, which shows that they are seen\n")
    _list(live)
    return int(bool(sealed) or bool(asked) or not right or not live)


async def _sealed(leaks: LeakSite, chosen: tuple[LeakClass, ...]) -> bool:
    outcomes = await attempt_all(leaks, chosen)
    await asyncio.sleep(LINGER_S)
    right = True
    for leak in chosen:
        network = outcomes[leak.name]
        fate = fate_of(network)
        right &= fate == leak.fate
        wrong = "" if fate == leak.fate else f"WRONG, wanted {leak.fate}"
        seen = ", ".join(f"{each.method} {each.target}" for each in network.violations)
        sys.stdout.write(f"{leak.name:32} {fate:9} {seen} {wrong}".rstrip() + "\n")
    return right


async def _live(leaks: LeakSite, chosen: tuple[LeakClass, ...]) -> None:
    async with launch_browser(LaunchOptions()) as launched:
        for leak in chosen:
            if leak.name in LIVE:
                await attempt_live(launched.browser, leaks, leak)
        await asyncio.sleep(LINGER_S)


def _list(packets: tuple[Packet, ...]) -> None:
    for packet, times in sorted(Counter(packets).items()):
        sys.stdout.write(f"  {packet.protocol} to {packet.destination}: {times}\n")


if __name__ == "__main__":
    sys.exit(main())
