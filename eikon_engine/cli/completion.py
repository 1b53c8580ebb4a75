"""`eikon completion`: print or install the completion of commands for a shell."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import click

from eikon_engine.cli.command import command

if TYPE_CHECKING:
    from collections.abc import Mapping

Shell: TypeAlias = Literal["bash", "zsh", "fish"]
_SHELLS: Final[tuple[Shell, ...]] = get_args(Shell)


@command("completion")
@click.argument("shell", required=False, type=click.Choice(_SHELLS))
@click.option("--install", is_flag=True, help="Write the script to the user's folder of completions of the shell.")
@click.option("--force", is_flag=True, help="With --install: replace a file that is not such a script.")
def completion_command(*, shell: Shell | None, install: bool, force: bool) -> int:
    """Print the script that completes commands and options in a shell, by default that of $SHELL.

    With --install, it is written to where the shell finds it. Exit status: 0 done; 2 usage, or the file cannot be
    written.
    """
    from eikon_engine.errors import UsageError

    chosen = shell or _current_shell(os.environ)
    if force and not install:
        raise UsageError("--force applies to --install; add it, or remove --force")
    script = _script(chosen)
    if not install:
        click.echo(script, nl=False)
        return 0
    path = completion_file(chosen, Path.home(), os.environ)
    click.echo(_install(script, path, is_forced=force))
    if chosen == "zsh" and str(path.parent) not in _read(Path(os.environ.get("ZDOTDIR") or Path.home()) / ".zshrc"):
        click.echo(f"next: add `fpath=({path.parent} $fpath)` to ~/.zshrc, before compinit", err=True)
    return 0


def completion_file(shell: Shell, home: Path, environ: Mapping[str, str]) -> Path:
    """Return where a shell finds completions of the user."""
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    match shell:
        case "bash":  # https://github.com/scop/bash-completion#faq
            return data / "bash-completion" / "completions" / "eikon"
        case "zsh":
            return data / "zsh" / "site-functions" / "_eikon"
        case "fish":  # https://fishshell.com/docs/current/completions.html#where-to-put-completions
            return Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "fish" / "completions" / "eikon.fish"


def _current_shell(environ: Mapping[str, str]) -> Shell:
    from eikon_engine.errors import UsageError

    name = Path(environ.get("SHELL", "")).name
    for shell in _SHELLS:
        if shell == name:
            return shell
    raise UsageError(f"expected one of {', '.join(_SHELLS)}, got none, and SHELL is {name or 'not set'!r}; name one")


def _script(shell: Shell) -> str:
    from click.shell_completion import get_completion_class

    from eikon_engine.cli.main import COMPLETE, eikon

    made = get_completion_class(shell)
    assert made is not None  # noqa: S101 - click has these shells
    return made(eikon, {}, "eikon", COMPLETE).source().rstrip("\n") + "\n"


def _install(script: str, path: Path, *, is_forced: bool) -> str:
    """Write a script; return what was done.

    Raises:
        OutputError: there is another file, or the file cannot be written.
    """
    from eikon_engine.cli.main import COMPLETE
    from eikon_engine.errors import OutputError
    from eikon_engine.files.writing import write_public

    before = _read(path)
    if before == script:
        return f"{path}: already installed"
    if before and COMPLETE not in before and not is_forced:
        raise OutputError(f"{path}: expected a completion of eikon, got another file; add --force to replace it")
    write_public(path, script.encode())
    return f"{path}: written; it holds for new shells"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
