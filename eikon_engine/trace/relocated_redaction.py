"""Redact observed texts and map their URLs to the recorded deployment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.trace.stand_ins import StandInMap
    from eikon_engine.trace.url_map import BaseUrlMap


class UrlMappingRedactor(Redactor):
    """Redacts texts, then maps current base URLs to recorded ones."""

    def __init__(self, secrets: Mapping[str, str], urls: BaseUrlMap, stand_ins: StandInMap | None = None) -> None:
        """Prepare both steps."""
        super().__init__(secrets, stand_ins)
        self._urls = urls

    @property
    def is_noop(self) -> bool:
        """Always false: any text may contain a URL."""
        return False

    def redact_text(self, text: str) -> str:
        """Return a text without secret values, with recorded URLs."""
        return self._urls.to_old.replace_text(super().redact_text(text))

    def redact_bytes(self, data: bytes) -> bytes:
        """Return bytes without secret values, with recorded URLs."""
        return self._urls.to_old.replace_bytes(super().redact_bytes(data))


def build_redactor(secrets: Mapping[str, str], urls: BaseUrlMap, stand_ins: StandInMap | None = None) -> Redactor:
    """Return the redactor for observed texts."""
    return UrlMappingRedactor(secrets, urls, stand_ins) if urls else Redactor(secrets, stand_ins)
