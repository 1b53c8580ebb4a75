"""`eikon demo`: a small shop on loopback to record and replay."""

from __future__ import annotations

from pathlib import Path

import click

from eikon_engine.cli.command import OutputOption, command
from eikon_engine.demo.pages import DRIFTS


@command("demo")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    metavar="N",
    help="Port of 127.0.0.1 to listen on; 0 is a free one.",
)
@click.option("--drift", type=click.Choice(DRIFTS), help="Change the shop in one respect, so that replays diverge.")
@click.option(
    "--agent",
    cls=OutputOption,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a script that orders something in the shop, instead of starting it.",
)
def demo_command(*, port: int, drift: str | None, agent: Path | None) -> int:
    """Run a small shop with a search, a cart, a login and a poll, to record and replay.

    The tutorial uses it. The shop is stopped with Ctrl-C.

    Exit status: 2 usage, or the port cannot be used; 130 stopped.
    """
    from eikon_engine.demo.agent import render_agent
    from eikon_engine.demo.shop import HOST, DemoShop
    from eikon_engine.errors import UsageError
    from eikon_engine.files.writing import write_public

    if agent is not None:
        write_public(agent, render_agent(f"http://{HOST}:{port}/").encode())
        click.echo(f"{agent}; record it with: eikon record --script {agent} -o bundles/order")
        return 0
    chosen = next((each for each in DRIFTS if each == drift), None)
    try:
        shop = DemoShop(port, chosen)
    except OSError as error:
        message = f"cannot listen on {HOST}, port {port}: {error.strerror or error}; choose another one with --port"
        raise UsageError(message) from error
    with shop:
        click.echo(shop.url)
        shop.serve_forever()
    return 0
