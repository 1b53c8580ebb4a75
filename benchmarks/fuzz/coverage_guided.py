"""Feed a target with inputs that atheris chooses by the code that they reach."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.fuzz.run import Finding, Fuzzer, Result

if TYPE_CHECKING:
    from benchmarks.fuzz.run import Choice

_UNLIMITED = 10**9


def fuzz_by_coverage(name: str, choice: Choice) -> Result:
    """Fuzz a target in a process of its own; libFuzzer, on which atheris is built, ends that of its caller."""
    with tempfile.TemporaryDirectory(prefix="eikon-atheris-") as folder:
        report = Path(folder) / "report.json"
        seconds = max(1, int(min(choice.seconds, _UNLIMITED)))
        options = ("--inputs", str(choice.inputs), "--seconds", str(seconds), "--seed", str(choice.seed))
        command = (sys.executable, "-m", __name__, name, str(report), str(choice.corpus), *options)
        started = time.monotonic()
        ended = subprocess.run(command, check=False, capture_output=True, text=True)
        if not report.exists():
            lines = (ended.stderr.strip() or "no output").splitlines()
            raise RuntimeError(f"{name}: atheris ended with {ended.returncode}: {lines[-1]}")
        plain = json.loads(report.read_text())
    findings = {site: Finding(site, bytes.fromhex(data)) for site, data in plain.pop("findings").items()}
    return Result(name, findings=findings, seconds=time.monotonic() - started, **plain)


class _Feed:
    """What libFuzzer calls; writes the result at the end, since the process ends with it."""

    def __init__(self, fuzzer: Fuzzer, report: Path, inputs: int) -> None:
        self._fuzzer, self._report, self._inputs = fuzzer, report, inputs

    def __call__(self, data: bytes) -> None:
        result = self._fuzzer.result
        self._fuzzer.feed(data)
        if result.inputs % 1000 == 0 or result.foreign or result.inputs >= self._inputs:
            self.write()

    def write(self) -> None:
        result = self._fuzzer.result
        plain = {name: getattr(result, name) for name in ("inputs", "accepted", "refused", "foreign", "slowest_ms")}
        findings = {site: each.data.hex() for site, each in result.findings.items()}
        self._report.write_text(json.dumps({**plain, "findings": findings}))


def _main() -> None:
    """Run libFuzzer on one target."""
    import atheris

    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("report", type=Path)
    parser.add_argument("corpus", type=Path)
    for option in ("--inputs", "--seconds", "--seed"):
        parser.add_argument(option, type=int)
    given = parser.parse_args()
    with atheris.instrument_imports(include=["eikon_engine"]):
        from benchmarks.fuzz.targets import TARGETS
    with Fuzzer(given.name, TARGETS[given.name], given.corpus) as fuzzer, tempfile.TemporaryDirectory() as folder:
        for number, sample in enumerate(fuzzer.samples):
            (Path(folder) / str(number)).write_bytes(sample)
        feed = _Feed(fuzzer, given.report, given.inputs)
        feed.write()
        limits = (f"-runs={given.inputs}", f"-max_total_time={given.seconds}", f"-seed={given.seed}", "-max_len=100000")
        atheris.Setup([sys.argv[0], folder, *limits, "-handle_alrm=0", "-timeout=0"], feed)
        atheris.Fuzz()


if __name__ == "__main__":
    _main()
