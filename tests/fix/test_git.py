from __future__ import annotations

from pathlib import Path

import pytest

from eikon_engine.errors import ApplierFailedError, FixError
from eikon_engine.fix.git import run_git, run_isolated_git


def test_an_error_of_git_names_its_command(tmp_path: Path) -> None:
    """The message names the subcommand without the settings before it."""
    with pytest.raises(FixError, match=r"^git write-tree in .*: failed with exit status"):
        run_git(tmp_path, "-c", "core.quotePath=false", "write-tree", env={"GIT_DIR": str(tmp_path)})
    with pytest.raises(ApplierFailedError, match=r"^git write-tree: failed with exit status"):
        run_isolated_git(("-c", "core.compression=0", "write-tree"), tmp_path, env={"GIT_DIR": str(tmp_path)})
