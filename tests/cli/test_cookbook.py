"""docs/cookbook.md and docs/faq.md: each command line that they show is one that `eikon` accepts."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final

import click
import pytest

from eikon_engine.cli.main import eikon

DOCS: Final = Path(__file__).parents[2] / "docs"
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE: Final = re.compile(r"`(eikon [^`]+)`")
RECIPES: Final = (DOCS / "cookbook.md").read_text(encoding="utf-8")
QUESTIONS: Final = (DOCS / "faq.md").read_text(encoding="utf-8")
LINES: Final = sorted(
    {
        match[1]
        for block in BLOCK.findall(RECIPES)
        for line in block.splitlines()
        if (match := re.match(r"(?:[A-Z_]+=\S+ )?(eikon .*)", line))
    }
    | {" ".join(text.split()) for text in INLINE.findall(QUESTIONS)}
)


@pytest.mark.parametrize("line", LINES)
def test_each_command_line_is_accepted(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commands, options and values exist."""
    monkeypatch.chdir(tmp_path)
    Path("secrets.env").write_text("NAME=VALUE\n", encoding="utf-8")
    command: click.Command = eikon
    words = shlex.split(line, comments=True)[1:]
    context = click.Context(command, info_name="eikon")
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, words[0]
        command, words = found, words[1:]
        if not words:
            return

    with command.make_context(line, words):
        pass
