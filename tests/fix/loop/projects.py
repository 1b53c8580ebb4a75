"""Small projects under git, and the model answers that fix them."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PRICE = '''def total(prices: list[float], rebate: float = 0.0) -> float:
    """Sum up prices, less a rebate."""
    return sum(prices) + rebate
'''
PRICE_TEST = """from price import total


def test_total():
    assert total([1.0, 2.0], rebate=0.5) == 2.5
"""
PRICE_PROJECT: Mapping[str, str] = {"price.py": PRICE, "test_price.py": PRICE_TEST}
GOOD_FIX = """The rebate is added where it has to be taken off.

price.py
<<<<<<< SEARCH
    return sum(prices) + rebate
=======
    return sum(prices) - rebate
>>>>>>> REPLACE
"""
BAD_FIX = """price.py
<<<<<<< SEARCH
    return sum(prices) + rebate
=======
    return sum(prices) * rebate
>>>>>>> REPLACE
"""
ASSERTS = "python -c 'from price import total; assert total([1.0, 2.0], rebate=0.5) == 2.5'"
"""The same test without pytest, which is faster."""
PYTEST = "python -m pytest -q -p no:cacheprovider"


def make_project(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files, and commit them."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, files)
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder)
    return folder


def commit(folder: Path, *, allow_empty: bool = False) -> None:
    """Commit everything."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Begin", *(("--allow-empty",) if allow_empty else ()))


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write files, and create their folders."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def git(folder: Path, *arguments: str) -> str:
    """Run git as a fixed user, without the configuration of this machine."""
    environ = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "PATH": "/usr/local/bin:/usr/bin:/bin"}
    somebody = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    done = subprocess.run(
        ["git", *somebody, *arguments], cwd=folder, env=environ, capture_output=True, text=True, check=True
    )
    return done.stdout


def everything(folder: Path) -> dict[str, bytes]:
    """Read all files of a folder, including those of git."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
