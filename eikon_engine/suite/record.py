"""Record and certify many scripts, several at once, each with `eikon record --script` in processes of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import OutputError, UsageError
from eikon_engine.files.paths import safe_file_name
from eikon_engine.files.writing import make_folders, write_atomically, write_error_message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LOG_SUFFIX: Final = ".log"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedScript:
    """What became of a script."""

    script: str
    bundle: Path
    exit_status: int
    """That of `eikon record`."""
    summary: str
    """The last line that it printed."""
    log: Path
    """Everything that it printed."""
    seconds: float


def record_scripts(
    scripts: Sequence[str], folder: Path, workers: int, arguments: Sequence[str] = (), *, replaces: bool = False
) -> Iterator[RecordedScript]:
    """Record each script into a bundle in a folder, named as the script; yield each as it ends.

    Ctrl-C reaches the recorders, too, which complete what they have; so they do if this process is stopped or killed in
    another way. `arguments` are further ones of `eikon record`;
    with `replaces`, one of them is --force, and existing bundles are accepted.

    Raises:
        UsageError: a script is missing, or two have one name.
        OutputError: a bundle exists already, or the folder cannot be written.
    """
    bundles = _bundles(scripts, folder)
    existing = next((bundle for bundle in bundles.values() if bundle.exists()), None)
    if existing is not None and not replaces:
        raise OutputError(f"{existing}: expected a new bundle, got an existing one; add --force to replace it")
    missing = next((script for script in scripts if not Path(script.partition("::")[0]).is_file()), None)
    if missing is not None:
        raise UsageError(f"{missing}: no such Python script or pytest test; check the path")
    try:
        make_folders(folder)
    except OSError as error:
        raise OutputError(write_error_message(folder, error)) from error
    alive_in, alive_out = os.pipe()  # tells the recorders that this process has ended
    try:
        with ThreadPoolExecutor(workers) as pool, os.fdopen(alive_out, "wb"):
            running = [pool.submit(_record, script, bundle, arguments, alive_in) for script, bundle in bundles.items()]
            try:
                for each in as_completed(running):
                    yield each.result()
            except BaseException:
                for each in running:
                    each.cancel()
                raise
    finally:
        os.close(alive_in)


def _bundles(scripts: Sequence[str], folder: Path) -> dict[str, Path]:
    """Return the bundle of each script; `shop.py::test_order` has `shop.test_order`."""
    names = {script: safe_file_name(_name(script), "mission") for script in scripts}
    name, count = Counter(names.values()).most_common(1)[0]
    if count > 1:
        same = [script for script, each in names.items() if each == name]
        message = f"{same[0]} and {same[1]} would both be recorded into {folder / name}; rename one"
        raise UsageError(message)
    return {script: folder / name for script, name in names.items()}


def _name(script: str) -> str:
    path, _, test = script.partition("::")
    return ".".join(filter(None, (Path(path).stem, *test.split("::"))))


def _record(script: str, bundle: Path, arguments: Sequence[str], alive_fd: int) -> RecordedScript:
    recorder = [sys.executable, "-m", "eikon_engine.suite.recorder", str(alive_fd)]
    command = [*recorder, "record", "--script", script, "--output", str(bundle), *arguments]
    begin = time.monotonic()
    done = subprocess.run(  # noqa: S603 - our own command, with a script of the user
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(alive_fd,),
    )
    log = bundle.with_name(bundle.name + LOG_SUFFIX)
    write_atomically(log, done.stdout)
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    return RecordedScript(
        script=script,
        bundle=bundle,
        exit_status=done.returncode,
        summary=lines[-1] if lines else "",
        log=log,
        seconds=time.monotonic() - begin,
    )
