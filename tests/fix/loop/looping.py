"""Run a debug loop on a project, against a model with scripted answers."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eikon_engine.fix import LoopOptions, TaskResult, debug_loop
from eikon_engine.llm.openai_client import OpenAIClient
from tests.fix.loop.projects import PYTEST
from tests.sites.model_server import ModelServer, answer_text, serve_model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.fix.models import Applier


@dataclass
class LoopRunner:
    """Run loops against a model server."""

    sessions: Path
    model: ModelServer
    lines: list[str] = field(default_factory=list)
    """Reported progress."""

    def loop(self, project: Path, *, applier: Applier | None = None, **chosen: Any) -> TaskResult:  # noqa: ANN401 - options
        """Run a loop in a project; a fix may change any Python module if the command writes no report."""
        if not chosen.get("test_cmd", PYTEST).startswith(PYTEST) and not chosen.get("target_files"):
            chosen = {"allow": ("*.py",), **chosen}
        options = LoopOptions(
            **{
                "test_cmd": PYTEST,
                "cwd": project,
                "sessions_dir": self.sessions,
                "on_progress": self.lines.append,
                **chosen,
            }
        )
        with OpenAIClient(api_key="sk-test", base_url=self.model.url, model="gpt-test") as client:
            return debug_loop(options, client=client, applier=applier)

    @property
    def session(self) -> Path:
        """Return the folder of the one session."""
        (folder,) = self.sessions.iterdir()
        return folder


@contextmanager
def loop_runner(folder: Path, *answers: str) -> Iterator[LoopRunner]:
    """Serve a model that gives these answers in order."""
    with serve_model(*map(answer_text, answers)) as model:
        yield LoopRunner(sessions=folder / "sessions", model=model)
