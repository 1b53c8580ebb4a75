"""Words and arrows for "next", "previous" and "load more"."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

Direction: TypeAlias = Literal["next", "previous"]

_NEXT: Final = (
    r"next(?: page| results)?|older(?: posts| entries)?|nächste(?: seite)?|weiter|(?:page )?suivante?|siguiente"
    r"|(?:página )?siguiente|próxim[ao]|seguinte|(?:pagina )?successiva|avanti|volgende|nästa|neste|næste|seuraava"
    r"|następna|dalej|další|следующая|вперёд|вперед|далее|sonraki|التالي|הבא|次へ|次のページ|下一页|下一頁|다음"
)
_PREVIOUS: Final = (
    r"prev(?:ious)?(?: page| results)?|newer(?: posts| entries)?|vorherige(?: seite)?|zurück|précédente?|anterior"
    r"|(?:pagina )?precedente|indietro|vorige|föregående|forrige|edellinen|poprzednia|wstecz|předchozí|предыдущая"
    r"|назад|önceki|السابق|הקודם|前へ|前のページ|上一页|上一頁|이전"
)
_MORE: Final = (
    r"(?:load|show|view|see) more(?: \w+){0,2}|more results|mehr (?:laden|anzeigen)|weitere(?: \w+)? (?:laden|anzeigen)"
    r"|(?:voir|afficher|charger) plus(?: \w+){0,3}|(?:ver|cargar|mostrar) más(?: \w+){0,2}"
    r"|(?:ver|carregar|mostrar) mais(?: \w+){0,2}|(?:mostra|carica) (?:altri|di più)"
    r"|meer (?:laden|tonen)|visa fler|ladda fler|pokaż więcej"
    r"|показать ещё|показать еще|загрузить ещё|もっと見る|加载更多|查看更多|더 보기|عرض المزيد"
)
_ARROWS: Final = " \t‹›«»<>←→⟨⟩❮❯▸◂▶◀|"  # noqa: RUF001 - arrows of pagers
_NEXT_TEXT: Final = re.compile(_NEXT, re.IGNORECASE)
_PREVIOUS_TEXT: Final = re.compile(_PREVIOUS, re.IGNORECASE)
_MORE_TEXT: Final = re.compile(rf"(?:{_MORE})(?: ?\(\d+\))?", re.IGNORECASE)
_FORWARD: Final = frozenset({"›", "»", ">", "→", "❯", ">>", "▸", "▶"})  # noqa: RUF001 - arrows of pagers
_BACKWARD: Final = frozenset({"‹", "«", "<", "←", "❮", "<<", "◂", "◀"})  # noqa: RUF001 - arrows of pagers


def pager_direction(text: str, *, right_to_left: bool) -> Direction | None:
    """Return the direction of a label by its words, else by its arrow, which is mirrored in right-to-left text."""
    words = text.strip(_ARROWS).lower()
    if _NEXT_TEXT.fullmatch(words):
        return "next"
    if _PREVIOUS_TEXT.fullmatch(words):
        return "previous"
    arrow = text.strip()
    if arrow in _FORWARD:
        return "previous" if right_to_left else "next"
    if arrow in _BACKWARD:
        return "next" if right_to_left else "previous"
    return None


def is_load_more(text: str) -> bool:
    """Whether a label means "load more"."""
    return bool(_MORE_TEXT.fullmatch(text.strip(_ARROWS + "+….").lower()))
