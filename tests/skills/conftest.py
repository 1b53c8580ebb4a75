"""Stored pages on which the skills run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.skills import SkillInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.files.json_text import JsonValue

_PAGES = Path(__file__).parents[1] / "data" / "pages"


@pytest.fixture
def stored_page() -> Callable[..., SkillInput]:
    """Return a function that makes skill inputs from the pages under `tests/data/pages`."""

    def make(name: str, **parameters: JsonValue) -> SkillInput:
        html = (_PAGES / f"{name}.html").read_text(encoding="utf-8")
        return SkillInput(html=html, url=f"https://site.example/{name}?page=1", parameters=parameters)

    return make
