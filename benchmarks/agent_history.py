"""Proves that a browser-use history is imported and replayed; browser-use writes it with a scripted model.

Run: `python -m benchmarks.agent_history [--keep FILE]`. browser-use is installed into a separate environment next to
that of the project; its agent orders a banana in the shop. The history is imported, recorded, certified, and replayed
sealed with the shop stopped. Exits with 1 unless the replay is faithful.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from benchmarks.agent_history_script import PASSWORD
from eikon_engine.browser.executable import find_browser
from tests.sites.shop import serve_shop

PACKAGE = "browser-use>=0.13.14,<0.14"
ENVIRONMENT = Path(__file__).parents[1] / ".venv-browser-use"
AGENT = Path(__file__).with_name("agent_history_script.py")
PATIENCE_S = 300


def main() -> None:
    """Create the history, then import and replay it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="where to leave the history")
    keep: Path | None = parser.parse_args().keep
    python = _python()
    with tempfile.TemporaryDirectory() as folder:
        history, imported, recorded = (Path(folder) / name for name in ("history.json", "imported", "recorded"))
        with serve_shop() as shop:
            browser = str(find_browser(None, environ=os.environ).path)
            asked = [str(python), str(AGENT), shop.url, str(history), browser]
            subprocess.run(asked, check=True, timeout=PATIENCE_S, env={**os.environ, "HOME": folder})
            if keep is not None:
                shutil.copy(history, keep)
            shop.restart()
            _eikon("import", history, "-o", imported)
            _eikon("record", "--trace", imported, "-o", recorded, "--secret", f"PASSWORD={PASSWORD}")
        _eikon("certify", recorded, "--runs", "3", "--accept")
        _eikon("replay", "--trace", recorded, "--artifacts-dir", Path(folder) / "run")


def _python() -> Path:
    """Return the interpreter of the environment that has browser-use."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", PACKAGE], check=True)
    return python


def _eikon(*arguments: str | Path) -> None:
    """Run the command; any exit status but 0 aborts."""
    done = subprocess.run([sys.executable, "-m", "eikon_engine", *map(str, arguments)], check=False)
    if done.returncode:
        sys.exit(1)


if __name__ == "__main__":
    main()
