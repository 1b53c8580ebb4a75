"""Keep secrets out of what is observed, and give it the addresses of the recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.trace.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.trace.stand_ins import StandIns
    from eikon_engine.trace.url_map import UrlMap


class RelocatingRedactor(Redactor):
    """Redact, and then map base URLs of today to recorded ones, wherever a text is looked at."""

    def __init__(self, secrets: Mapping[str, str], urls: UrlMap, stand_ins: StandIns | None = None) -> None:
        """Prepare both."""
        super().__init__(secrets, stand_ins)
        self._urls = urls

    @property
    def is_idle(self) -> bool:
        """Never: any text may hold an address."""
        return False

    def text(self, text: str) -> str:
        """Return the text without secret values, with recorded addresses."""
        return self._urls.to_old.text(super().text(text))

    def data(self, data: bytes) -> bytes:
        """Return the bytes without secret values, with recorded addresses."""
        return self._urls.to_old.data(super().data(data))


def redactor_for(secrets: Mapping[str, str], urls: UrlMap, stand_ins: StandIns | None = None) -> Redactor:
    """Return what every observed text goes through."""
    return RelocatingRedactor(secrets, urls, stand_ins) if urls else Redactor(secrets, stand_ins)
