"""Track workers that could not be put under their page's clock; see init_workers.js."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

if TYPE_CHECKING:
    from playwright.async_api import ConsoleMessage

    from eikon_engine.browser.session import Session

WORKER_MARK: Final = "\0eikon-worker:"
"""Prefix of the console messages that documents and workers write for us; pages cannot read them."""


class _WorkerReport(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    kind: Literal["native", "failed", "stuck"]
    """Started natively as the page requested; failed to start even so; did not answer in time."""
    address: str


@dataclass(slots=True)
class UninstrumentedWorkers:
    """Workers with real time and randomness, and workers that did not answer in time."""

    _native: dict[str, int] = field(default_factory=dict)
    _stuck: dict[str, int] = field(default_factory=dict)

    def listen(self, session: Session) -> None:
        """Listen to the console messages of a session from now on."""
        session.context.on("console", lambda message: self._on_console(session, message))

    def notes(self) -> tuple[str, ...]:
        """Return what such workers mean for a replay, one line per URL."""
        wild = (
            f"worker: {address} ({times} times) could not be put under the clock of its page, and ran with real time "
            "and randomness; its effects may differ from run to run"
            for address, times in self._native.items()
            if times
        )
        stuck = (
            f"worker: {address} ({times} times) did not respond in time and was not waited for; its effects have no "
            "deterministic moment"
            for address, times in self._stuck.items()
        )
        return (*wild, *stuck)

    def _on_console(self, session: Session, message: ConsoleMessage) -> None:
        if not message.text.startswith(WORKER_MARK):
            return
        try:
            word = _WorkerReport.model_validate_json(message.text.removeprefix(WORKER_MARK))
        except ValidationError:
            return  # written by a page that imitates our prefix
        counts = self._stuck if word.kind == "stuck" else self._native
        address = session.redactor.redact_text(word.address)
        counts[address] = counts.get(address, 0) + (-1 if word.kind == "failed" else 1)
