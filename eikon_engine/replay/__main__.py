"""Run `python -m eikon_engine.replay`."""

import sys

from eikon_engine.cli.replay import replay_command
from eikon_engine.cli.shell import end_process, run_command

if __name__ == "__main__":
    end_process(run_command(replay_command, sys.argv[1:], "python -m eikon_engine.replay"))
