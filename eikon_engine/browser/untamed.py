"""Hear of workers that could not be brought under the clock of their page; see init_workers.js."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

if TYPE_CHECKING:
    from playwright.async_api import ConsoleMessage

    from eikon_engine.browser.session import Session

MARK: Final = "\0eikon-worker:"
"""Begins what a document or a worker writes to the console for us; no page can see it there."""


class _Word(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    kind: Literal["wild", "gone", "stuck"]
    """Started by the browser as the page asked for it; failed to start even so; did not answer in time."""
    address: str


@dataclass(slots=True)
class UntamedWorkers:
    """Workers with real time and chance of their own, and workers that were no longer waited for."""

    _wild: dict[str, int] = field(default_factory=dict)
    _stuck: dict[str, int] = field(default_factory=dict)

    def listen(self, session: Session) -> None:
        """Listen to everything that is written to the consoles of a session from now on."""
        session.context.on("console", lambda message: self._take(session, message))

    def notes(self) -> tuple[str, ...]:
        """Say what such workers mean for a replay, one line for each address."""
        wild = (
            f"worker: {address} ({times} times) could not be started under the clock of its page, and ran by real time "
            "and chance; what it does may differ from run to run"
            for address, times in self._wild.items()
            if times
        )
        stuck = (
            f"worker: {address} ({times} times) did not answer in time and was not waited for; what it does has no "
            "certain moment"
            for address, times in self._stuck.items()
        )
        return (*wild, *stuck)

    def _take(self, session: Session, message: ConsoleMessage) -> None:
        if not message.text.startswith(MARK):
            return
        try:
            word = _Word.model_validate_json(message.text.removeprefix(MARK))
        except ValidationError:
            return  # a page that plays with our mark
        counts = self._stuck if word.kind == "stuck" else self._wild
        address = session.redactor.text(word.address)
        counts[address] = counts.get(address, 0) + (-1 if word.kind == "gone" else 1)
