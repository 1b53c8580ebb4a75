"""The command that installs an extra."""

from __future__ import annotations

import json
from importlib import metadata
from typing import Any

import pytest

from eikon_engine.files.extras import install_command


class _Distribution:
    """What is installed, with the given `direct_url.json`."""

    def __init__(self, direct: dict[str, Any] | None) -> None:
        self._direct = direct

    def read_text(self, _name: str) -> str | None:
        return None if self._direct is None else json.dumps(self._direct)


@pytest.mark.parametrize(
    ("direct", "command"),
    [
        (None, "pip install 'eikon-engine[ui]'"),
        ({"url": "file:///home/me/eikon", "dir_info": {}}, "pip install '/home/me/eikon[ui]'"),
        ({"url": "file:///home/my%20own", "dir_info": {"editable": True}}, "pip install -e '/home/my own[ui]'"),
        ({"url": "https://example.org/e.git", "vcs_info": {"vcs": "git"}}, "pip install 'eikon-engine[ui]'"),
    ],
)
def test_an_extra_comes_from_where_the_package_came_from(
    monkeypatch: pytest.MonkeyPatch, direct: dict[str, Any] | None, command: str
) -> None:
    """The package of a clone may be on no index."""
    monkeypatch.setattr(metadata, "distribution", lambda _name: _Distribution(direct))

    assert install_command("ui") == command
