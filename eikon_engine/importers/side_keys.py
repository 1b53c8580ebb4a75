"""Parse keys in Selenium IDE texts: `banana${KEY_ENTER}`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEY: Final = re.compile(r"\$\{KEY_(\w+)\}")
_KEY_NAMES: Final = {
    "ENTER": "Enter",
    "RETURN": "Enter",
    "TAB": "Tab",
    "ESC": "Escape",
    "ESCAPE": "Escape",
    "BACKSPACE": "Backspace",
    "BKSP": "Backspace",
    "DELETE": "Delete",
    "DEL": "Delete",
    "SPACE": "Space",
    "UP": "ArrowUp",
    "DOWN": "ArrowDown",
    "LEFT": "ArrowLeft",
    "RIGHT": "ArrowRight",
    "PAGE_UP": "PageUp",
    "PGUP": "PageUp",
    "PAGE_DOWN": "PageDown",
    "PGDN": "PageDown",
    "HOME": "Home",
    "END": "End",
    "INSERT": "Insert",
    **{f"F{number}": f"F{number}" for number in range(1, 13)},
}
_MODIFIER_KEYS: Final = {
    "SHIFT": "Shift",
    "CONTROL": "Control",
    "CTRL": "Control",
    "ALT": "Alt",
    "META": "Meta",
    "COMMAND": "Meta",
}


def parse_keys(text: str) -> Iterator[tuple[str, str]]:
    """Yield `("type", text)`, `("press", chord)` or `("unknown", key)` for a text with keys.

    A modifier stays held for the rest of the text.
    """
    held: list[str] = []
    place = 0
    for found in (*_KEY.finditer(text), None):
        plain = text[place : found.start() if found else len(text)]
        if held:
            yield from (("press", "+".join((*held, each))) for each in plain)
        elif plain:
            yield "type", plain
        if found is None:
            return
        place = found.end()
        if found[1] in _MODIFIER_KEYS:
            held.append(_MODIFIER_KEYS[found[1]])
        elif found[1] in _KEY_NAMES:
            yield "press", "+".join((*held, _KEY_NAMES[found[1]]))
        else:
            yield "unknown", found[1]
