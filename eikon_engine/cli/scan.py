"""`eikon scan`: what may have been missed when secrets were kept out of a bundle."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("scan", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--allow",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File of findings that are known to be no secrets: KIND NAME a line.",
)
def scan_command(*, bundle: Path, allow: Path | None) -> int:
    """Search all files of BUNDLE, a bundle or the folder of a run, for secrets; values are not shown.

    Exit status: 0 nothing was found, 1 something was, 2 usage, 65 a file cannot be read.
    """
    from eikon_engine.errors import UsageError
    from eikon_engine.outcome.printable import printable
    from eikon_engine.redact.scan import read_allowed, scan_folder

    try:
        text = "" if allow is None else allow.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        message = f"wanted a list of findings that are no secrets at {allow}, found {error}"
        raise UsageError(message) from error
    root = bundle if bundle.is_dir() or not bundle.exists() else bundle.parent
    found = scan_folder(root, read_allowed(text, str(allow)))
    for each in found:
        click.echo(printable(str(each)))
    pictures = sum(path.suffix in {".png", ".jpg", ".jpeg"} for path in root.rglob("*"))
    shown = f"; {pictures} pictures were not searched, look at them" if pictures else ""
    click.echo(printable(f"{root}: {len(found)} findings{shown}"), err=True)
    return 1 if found else 0
