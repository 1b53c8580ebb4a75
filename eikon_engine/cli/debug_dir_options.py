"""Options of commands that ask models: `--debug`, `--debug-dir`, `--refresh`, `--append`."""

from __future__ import annotations

import logging
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from eikon_engine.cli.standard_streams import audible_stderr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eikon_engine.llm.completion import CompletionClient, RedactText
    from eikon_engine.llm.debug_dir import DebugDir

Returned = TypeVar("Returned")

_PACKAGE: Final = "eikon_engine"


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugDirChoice:
    """Values of the options."""

    debug: bool = False
    debug_dir: Path | None = None
    refresh: bool = False
    append: bool = False


def debug_dir_options(command: Callable[..., Returned]) -> Callable[..., Returned]:
    """Add the options to a command; it receives them as the keyword argument `debug`, a `DebugDirChoice`."""

    @wraps(command)
    def chosen(*, debug: bool, debug_dir: Path | None, refresh: bool, append: bool, **others: object) -> Returned:
        choice = DebugDirChoice(debug=debug, debug_dir=debug_dir, refresh=refresh, append=append)
        return command(debug=choice, **others)

    options = (
        click.option("--debug", is_flag=True, help="Log to standard error, including each model response."),
        click.option(
            "--debug-dir",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Record model responses in DIR, or replay them if DIR has any; implies --debug.",
        ),
        click.option("--refresh", is_flag=True, help="With --debug-dir: record every response again."),
        click.option("--append", is_flag=True, help="With --debug-dir: record only missing responses."),
    )
    for option in reversed(options):
        chosen = option(chosen)
    return chosen


@contextmanager
def debug_dir_session(
    chosen: DebugDirChoice, *, live: Callable[[], CompletionClient] | None = None, redact: RedactText | None = None
) -> Iterator[DebugDir | None]:
    """Apply the options until the block ends; yield the folder of responses, None without one.

    `live` creates the model client for captures, by default the client configured in the environment; `redact` redacts
    what is written. Report lines go to standard error.

    Raises:
        UsageError: `--refresh` or `--append` without `--debug-dir`, or both.
        ResponseFolderError: the folder cannot be used, see `open_debug_dir`.
    """
    _require_folder(chosen)
    folder = chosen.debug_dir
    with ExitStack() as held:
        if chosen.debug or folder is not None:
            held.enter_context(_log_to_stderr())
        if folder is None:
            yield None
            return
        from eikon_engine.llm.completion import no_redaction
        from eikon_engine.llm.debug_dir import DebugDirOptions, open_debug_dir
        from eikon_engine.llm.openai_client import OpenAIClient

        make = live or (lambda: held.enter_context(OpenAIClient.from_environment()))
        options = DebugDirOptions(redact=redact or no_redaction, report=_print_line)
        yield held.enter_context(
            open_debug_dir(folder, make, refresh=chosen.refresh, append=chosen.append, options=options)
        )


def _require_folder(chosen: DebugDirChoice) -> None:
    from eikon_engine.errors import UsageError

    for name, value in (("--refresh", chosen.refresh), ("--append", chosen.append)):
        if value and chosen.debug_dir is None:
            message = f"{name} requires --debug-dir DIR"
            raise UsageError(message)


def _print_line(line: str) -> None:
    click.echo(line, err=True)


@contextmanager
def _log_to_stderr() -> Iterator[None]:
    """Log the package to standard error."""
    logger = logging.getLogger(_PACKAGE)
    handler, level = logging.StreamHandler(audible_stderr()), logger.level
    handler.setFormatter(logging.Formatter("debug: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
