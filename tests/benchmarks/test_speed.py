"""How many messages a sealed replay sends, and that the benchmark of speed measures what it says."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import pytest

from benchmarks.speed.perform import messages_counted
from benchmarks.speed.processes import CommandError, run_measured
from benchmarks.speed.subjects import SHOP_BUNDLE, SUBJECTS, Subject
from eikon_engine.browser.page_timeline import PageTimeline
from eikon_engine.replay import ReplayEngine, ReplayOptions

MESSAGES_OF_A_STEP: Final = 7
MESSAGES: Final = 275
"""Of the bundled mission: 6 and 243 on an idle machine; a busy one looks at pages some more times."""
BUSY = """
import subprocess, sys, time
subprocess.run([sys.executable, '-c', 'while __import__("time").process_time() < 0.5: pass'], check=True)
while time.process_time() < 0.5: pass
print('done')
time.sleep(0.1)
"""


@pytest.mark.browser
def test_a_step_takes_few_messages_to_the_driver(tmp_path: Path) -> None:
    """Bind, act, look at the page, a step of the clock, an observation; responses, dialogs, cookies add to it."""
    with messages_counted(PageTimeline) as messages:
        ReplayEngine(ReplayOptions(artifacts_dir=tmp_path / "run")).replay(SHOP_BUNDLE)

    assert messages.of_a_step() <= MESSAGES_OF_A_STEP
    assert messages.total <= MESSAGES


def test_the_processor_time_of_a_command_includes_its_processes(tmp_path: Path) -> None:
    """Two processes of half a second each, one of which started the other."""
    used = run_measured([sys.executable, "-c", BUSY], tmp_path)

    assert used.output == "done\n"
    assert list(used.cpu_s) == ["python"]
    assert 0.8 < used.cpu_s["python"] < 2


def test_a_command_that_fails_is_an_error(tmp_path: Path) -> None:
    """The message has its last line."""
    with pytest.raises(CommandError, match="exited with 3: this is why"):
        run_measured([sys.executable, "-c", "import sys; print('this is why', file=sys.stderr); sys.exit(3)"], tmp_path)


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_each_subject_has_a_flow_of_the_recorder(subject: Subject) -> None:
    """It begins with a navigation to the site."""
    flow = json.loads(subject.flow.read_text())

    assert {"title", "steps"} <= flow.keys()
    assert next(each["type"] for each in flow["steps"] if each["type"] != "setViewport") == "navigate"
