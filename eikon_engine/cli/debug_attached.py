"""Run a session with a prompt in the same terminal; the prompt is a client in a process of its own."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from eikon_engine.debug.commands import CommandLine, Quit
from eikon_engine.debug.host import run_session
from eikon_engine.debug.mailbox import append_command

if TYPE_CHECKING:
    from eikon_engine.debug.serving import SessionEnd
    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.session_options import SessionOptions


async def run_attached(options: SessionOptions) -> SessionEnd:
    """Run a session with a prompt in the same terminal; leaving the prompt ends the session.

    Raises:
        EikonError: see `run_session`.
    """
    prompts: list[asyncio.Task[None]] = []

    def begun(folder: SessionFolder) -> None:
        prompts.append(asyncio.ensure_future(_run_prompt_process(folder, options)))

    try:
        return await run_session(replace(options, ignore_sigint=True), begun)
    finally:
        await asyncio.gather(*prompts)


async def _run_prompt_process(folder: SessionFolder, options: SessionOptions) -> None:
    """Run the prompt until it ends, then end the session."""
    where = ("--session", folder.name, "--sessions-dir", str(folder.root.parent))
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "eikon_engine", "debug", "attach", *where)
    await process.wait()
    if folder.is_running():
        append_command(folder.commands_path, CommandLine(id=options.new_id(), at=options.now(), command=Quit()))
