"""Run the command line: `python -m eikon_engine`."""

from __future__ import annotations

from eikon_engine.cli.main import main

if __name__ == "__main__":
    main()
