"""`eikon scan`: scan a bundle for missed secrets."""

from __future__ import annotations

from pathlib import Path

import click

from eikon_engine.cli.command import command
from eikon_engine.cli.shared_options import bundle_argument


@command("scan")
@bundle_argument()
@click.option(
    "--allow",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File of findings to ignore: KIND NAME per line.",
)
def scan_command(*, bundle: Path, allow: Path | None) -> int:
    """Scan all files of BUNDLE, a bundle or run folder, for secrets; values are not shown.

    Exit status: 0 no findings, 1 findings, 2 usage error, 65 unreadable file.
    """
    from eikon_engine.errors import UsageError
    from eikon_engine.files.limits import MAX_SETTINGS_BYTES, read_file
    from eikon_engine.outcome.terminal import safe_line
    from eikon_engine.redact.scan import parse_allow_rules, scan_folder

    try:
        text = "" if allow is None else read_file(allow, limit=MAX_SETTINGS_BYTES).decode()
    except (OSError, ValueError) as error:
        message = f"cannot read --allow {allow}: {error}"
        raise UsageError(message) from error
    root = bundle if bundle.is_dir() or not bundle.exists() else bundle.parent
    found = scan_folder(root, parse_allow_rules(text, str(allow)))
    for each in found:
        click.echo(safe_line(str(each)))
    pictures = sum(path.suffix in {".png", ".jpg", ".jpeg"} for path in root.rglob("*"))
    shown = f"; {pictures} images were not scanned, check them manually" if pictures else ""
    click.echo(safe_line(f"{root}: {len(found)} findings{shown}"), err=True)
    return 1 if found else 0
