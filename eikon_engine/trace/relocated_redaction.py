"""Redact observed texts and map their URLs to the recorded deployment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.trace.stand_ins import StandIns
    from eikon_engine.trace.url_map import UrlMap


class RelocatingRedactor(Redactor):
    """Redacts texts, then maps current base URLs to recorded ones."""

    def __init__(self, secrets: Mapping[str, str], urls: UrlMap, stand_ins: StandIns | None = None) -> None:
        """Prepare both steps."""
        super().__init__(secrets, stand_ins)
        self._urls = urls

    @property
    def is_idle(self) -> bool:
        """Always false: any text may contain a URL."""
        return False

    def text(self, text: str) -> str:
        """Return a text without secret values, with recorded URLs."""
        return self._urls.to_old.text(super().text(text))

    def data(self, data: bytes) -> bytes:
        """Return bytes without secret values, with recorded URLs."""
        return self._urls.to_old.data(super().data(data))


def redactor_for(secrets: Mapping[str, str], urls: UrlMap, stand_ins: StandIns | None = None) -> Redactor:
    """Return the redactor for observed texts."""
    return RelocatingRedactor(secrets, urls, stand_ins) if urls else Redactor(secrets, stand_ins)
