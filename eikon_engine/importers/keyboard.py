"""Convert key-down and key-up events to chords."""

from __future__ import annotations

from typing import Final

MODIFIERS: Final = {
    "Alt": "Alt",
    "AltLeft": "Alt",
    "AltRight": "Alt",
    "Control": "Control",
    "ControlLeft": "Control",
    "ControlRight": "Control",
    "Meta": "Meta",
    "MetaLeft": "Meta",
    "MetaRight": "Meta",
    "Shift": "Shift",
    "ShiftLeft": "Shift",
    "ShiftRight": "Shift",
}
_KEY_NAMES: Final = {"\r": "Enter", "\n": "Enter", " ": "Space"}


class Keyboard:
    """The keys that are currently held (mutable)."""

    def __init__(self) -> None:
        """Start with no key held."""
        self._modifiers: dict[str, bool] = {}
        """Held modifiers, and whether an action used them."""
        self._down: list[str] = []

    @property
    def modifiers(self) -> tuple[str, ...]:
        """Return the held modifiers and mark them as used."""
        self._modifiers = dict.fromkeys(self._modifiers, True)
        return tuple(dict.fromkeys(MODIFIERS[key] for key in self._modifiers))

    def down(self, key: str) -> str | None:
        """Press a key; return the completed chord, or None for a modifier."""
        if key in MODIFIERS:
            self._modifiers[key] = False
            return None
        self._down.append(key)
        return "+".join((*self.modifiers, _KEY_NAMES.get(key, key)))

    def up(self, key: str) -> str | None:
        """Release a key; return it if it is a modifier that no action used, which means it was pressed alone.

        Raises:
            KeyError: the key is not down.
        """
        if key in MODIFIERS:
            return None if self._modifiers.pop(key) else MODIFIERS[key]
        if key not in self._down:
            raise KeyError(key)
        self._down.remove(key)
        return None

    @property
    def held(self) -> tuple[str, ...]:
        """The keys that are still held."""
        return (*self._modifiers, *self._down)
