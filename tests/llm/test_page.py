"""The documentation page matches the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import eikon_engine.llm as package
from eikon_engine.llm.completion import prompt_digest
from eikon_engine.llm.model_response import COMPLETION_CODES, ModelResponse
from eikon_engine.llm.response_folder import RecordingState
from tests.llm.asking import request

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "model-responses.md").read_text(encoding="utf-8")


def test_the_page_has_exactly_the_fields_of_the_files() -> None:
    """Both tables have the fields of their models, in their order."""
    for heading, model in (("### `recording.json`", RecordingState), ("### A response", ModelResponse)):
        section = re.split(r"\n##+ ", PAGE.partition(f"\n{heading}\n")[2], maxsplit=1)[0]
        assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(model.model_fields)


def test_the_page_lists_every_failure_and_public_name() -> None:
    """The page documents every exception and every public name."""
    assert [code for code in sorted(COMPLETION_CODES) if f"](errors.md#{code})" not in PAGE] == []
    assert [name for name in package.__all__ if name not in PAGE] == []
    assert [name for name in package.__all__ if getattr(package, name).__name__ != name] == []


def test_the_digest_on_the_page_is_right() -> None:
    """The digest in the documentation's example is correct."""
    assert f"has the digest `{prompt_digest(request('one'))}`" in PAGE


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    """It captures, then replays."""
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines() == [f"{mode} Name this page: Shop, Banana 1.20" for mode in ("capture", "replay")]
