"""Run the command line: `eikon`, or `python -m eikon_engine`."""

from __future__ import annotations

import signal


def main() -> None:
    """Run the command line and exit with its status.

    While its modules are imported, Ctrl-C ends the process without a traceback, as SIGTERM does.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from eikon_engine.cli.main import main as run_command_line  # noqa: PLC0415 - while Ctrl-C ends the process

    run_command_line()


if __name__ == "__main__":
    main()
