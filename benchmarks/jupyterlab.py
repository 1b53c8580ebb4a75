"""Proves that a large third-party application is replayed: JupyterLab, recorded in natural time, certified, repeated.

Run: `scripts/proofs jupyterlab [--runs 50] [--parallel 2] [--certify-runs 5] [--doublings 1] [--busy 0]
[--recordings 4] [--keep FOLDER]`, which installs JupyterLab first, or `python -m benchmarks.jupyterlab` if it is
installed. A notebook is opened, a product computed, a menu opened, the notebook saved, while the page's clock runs in
real time; then the server is stopped. The bundle is certified: replayed until all runs agree, with the rules and masks
that this requires, and these are accepted. Then it is replayed sealed. Prints every rule and mask with its reason,
verdicts, the number of different digests (`benchmarks/digest.py`), and seconds.

In natural time the scripts of a page take time that a replay does not give them (docs/limits.md), so a recording may
turn out not to be certifiable; then the mission is recorded again, at most `--recordings` times, and each refusal is
printed with its findings. Exits with 1 if none can be certified, or the replays are not faithful and equal.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.busy import busy
from benchmarks.often import replay_often
from benchmarks.subjects import Subject
from benchmarks.table import counted, table
from eikon_engine.certify.certify import accept, certify
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.trace.actions import Action, Click, Navigate, Press, SelectorCondition, WaitFor
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.masks import describe_mask
from eikon_engine.trace.patch import AddMask, AddRule
from eikon_engine.trace.rules import describe_rule
from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.outcome.certification import CertificationReport

SETTLE_MS = 1_500.0
START_S = 60.0
"""Wall-time limit for the server's first response."""
ASK_EVERY_S = 0.2
SETTINGS = (
    "--no-browser",
    "--ip=127.0.0.1",
    "--allow-root",
    "--ServerApp.port_retries=0",
    "--IdentityProvider.token=",
    "--ServerApp.password=",
    "--LabApp.news_url=",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
)
HEADS = ("runs", "verdicts", "observed", "network", "misses", "notes", "seconds", "holds")


@contextmanager
def serve_jupyterlab(home: Path) -> Iterator[str]:
    """Serve until the block ends; all child processes are ended with it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    work = home / "work"
    work.mkdir(parents=True)
    folders = {f"JUPYTER_{name}_DIR": str(home / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    settings = (*SETTINGS, f"--port={port}", f"--ServerApp.root_dir={work}")
    with (home / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *settings],
            env={**os.environ, "HOME": str(home), **folders},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait_for(port, server, home / "server.log")
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            try:
                server.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()


def _wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    """Poll until the server responds."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        with suppress(subprocess.TimeoutExpired):
            server.wait(timeout=ASK_EVERY_S)
            break
        with suppress(OSError), closing(HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            connection.request("GET", "/api")
            connection.getresponse()
            return
    raise RuntimeError(
        f"wanted JupyterLab on port {port}, it did not start:\n{log.read_text(errors='replace')[-2000:]}"
    )


async def record(bundle: Path, home: Path) -> int:
    """Record the mission, stop the server, and count the actions."""
    steps = (
        ("Open a notebook", _open_a_notebook),
        ("Compute", _compute),
        ("Look at the menu", _look_at_the_menu),
        ("Save the notebook", _save),
    )
    options = RecordOptions(clock="natural", settle_ms=SETTLE_MS)
    done = 0
    with serve_jupyterlab(home) as url:
        async with open_recorder(
            bundle, mission_text="Compute in a notebook", mission_id="jupyterlab", options=options
        ) as mission:
            for title, actions in steps:
                async with mission.subgoal(title):
                    for action in actions(url):
                        await mission.perform(action)
                        done += 1
    return done


def _open_a_notebook(url: str) -> tuple[Action, ...]:
    card = ".jp-LauncherCard[data-category='Notebook']"
    return (
        Navigate(url=f"{url}/lab"),
        _seen(card),
        _click(card),
        _seen(".jp-NotebookPanel .jp-CodeCell .cm-content"),
    )


def _compute(_url: str) -> tuple[Action, ...]:
    keys = (Press(key=key) for key in ("6", "*", "7", "Shift+Enter"))
    return (_click(".jp-NotebookPanel .jp-CodeCell .cm-content"), *keys, _seen(".jp-OutputArea-output pre"))


def _look_at_the_menu(_url: str) -> tuple[Action, ...]:
    return (_click(".lm-MenuBar-item >> text=View"), _seen(".lm-Menu"), Press(key="Escape"))


def _save(_url: str) -> tuple[Action, ...]:
    """Save under the suggested name."""
    return (
        Press(key="Control+s"),
        _seen(".jp-Dialog .jp-mod-accept"),
        _click(".jp-Dialog .jp-mod-accept"),
        _seen(".jp-Dialog", state="detached"),
    )


def _click(selector: str) -> Click:
    return Click(target=Target(selector=selector))


def _seen(selector: str, *, state: str = "visible") -> WaitFor:
    target = Target(selector=selector)
    condition = SelectorCondition(target=target, state="detached" if state == "detached" else "visible")
    return WaitFor(condition=condition, timeout_ms=30_000.0)


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


async def certified(bundle: Path, chosen: argparse.Namespace) -> CertificationReport:
    """Certify the bundle, and accept the proposals."""
    options = CertifyOptions(
        runs=chosen.certify_runs, parallel=chosen.parallel, doublings=chosen.doublings, progress=_tell
    )
    certification = await certify(open_bundle(bundle), options)
    if certification.report.certificate is None:
        return certification.report
    return accept(open_bundle(bundle), certification)


def told(bundle: Path, report: CertificationReport) -> str:
    """Return findings, rules and masks as lines, each with its reason."""
    trace = open_bundle(bundle).trace
    rules = trace.network.rules if trace.network is not None else ()
    lines = [f"{report.status} after {report.rounds} round(s) of {report.runs} runs"]
    lines += [f"finding: {each.subgoal} {each.sequence} {each.step}: {each.message}" for each in report.findings]
    lines += [
        f"changed: {each.kind}: {each.reason}"
        for each in report.patch.operations
        if not isinstance(each, AddRule | AddMask)
    ]
    lines += [f"rule: {describe_rule(rule)}: {rule.reason}" for rule in rules]
    lines += [f"mask: {describe_mask(mask)}: {mask.reason}" for mask in trace.masks]
    return "\n".join(lines) + "\n"


async def prove(chosen: argparse.Namespace, folder: Path) -> int:
    """Record, certify, replay, print."""
    for number in range(1, chosen.recordings + 1):
        bundle = folder / f"bundle-{number}"
        if await _record_and_certify(bundle, folder / f"home-{number}", chosen):
            break
    else:
        sys.stdout.write(f"none of {chosen.recordings} recordings could be certified\n")
        return 1
    with busy(chosen.busy):
        tally = await replay_often(
            Subject(name="jupyterlab", bundle=bundle), runs=chosen.runs, parallel=chosen.parallel
        )
    verdicts, equal = counted(tally.verdicts), (len(tally.observed), len(tally.network))
    counts = (tally.misses.total(), tally.notes.total(), tally.seconds, "yes" if tally.holds else "NO")
    sys.stdout.write(table(HEADS, [(tally.runs, verdicts, *equal, *counts)]) + tally.findings())
    return int(not tally.holds)


async def _record_and_certify(bundle: Path, home: Path, chosen: argparse.Namespace) -> bool:
    begin = time.perf_counter()
    actions = await record(bundle, home)
    sys.stdout.write(f"recorded {actions} actions in {time.perf_counter() - begin:.1f} s; the server is stopped\n")
    begin = time.perf_counter()
    report = await certified(bundle, chosen)
    sys.stdout.write(f"{told(bundle, report)}certify took {time.perf_counter() - begin:.1f} s\n")
    sys.stdout.flush()
    return report.status == "certified"


def main() -> int:
    """Run the proof in a folder that is deleted afterwards, or kept on request."""
    parser = argparse.ArgumentParser(description="Record JupyterLab, certify the bundle, and replay it many times.")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--parallel", type=int, default=2, help="replays at a time")
    parser.add_argument("--certify-runs", type=int, default=5, help="replays that have to agree")
    parser.add_argument(
        "--doublings", type=int, default=1, help="how often certify may double the page time of actions"
    )
    parser.add_argument("--recordings", type=int, default=4, help="how often to record until one can be certified")
    parser.add_argument("--busy", type=int, default=0, help="processes that burn processor time during the replays")
    parser.add_argument("--keep", type=Path, help="folder for the bundle and the server's files; replaced")
    chosen = parser.parse_args()
    if chosen.keep is None:
        with tempfile.TemporaryDirectory(prefix="eikon-jupyterlab-") as scratch:
            return asyncio.run(prove(chosen, Path(scratch)))
    shutil.rmtree(chosen.keep, ignore_errors=True)
    chosen.keep.mkdir(parents=True)
    return asyncio.run(prove(chosen, chosen.keep))


if __name__ == "__main__":
    sys.exit(main())
