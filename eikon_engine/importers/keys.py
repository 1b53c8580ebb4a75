"""Keys that go down and up, as presses of chords."""

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
_NAMES: Final = {"\r": "Enter", "\n": "Enter", " ": "Space"}


class Keyboard:
    """The keys that are held at a moment of a recording; mutable, because they go down and up."""

    def __init__(self) -> None:
        """Hold none."""
        self._held: dict[str, bool] = {}
        """Modifiers, with whether something was done while they were held."""
        self._down: list[str] = []

    @property
    def modifiers(self) -> tuple[str, ...]:
        """Name the modifiers that are held, and take down that they were of use."""
        self._held = dict.fromkeys(self._held, True)
        return tuple(dict.fromkeys(MODIFIERS[key] for key in self._held))

    def down(self, key: str) -> str | None:
        """Press a key; return the chord that it completes, None for a modifier."""
        if key in MODIFIERS:
            self._held[key] = False
            return None
        self._down.append(key)
        return "+".join((*self.modifiers, _NAMES.get(key, key)))

    def up(self, key: str) -> str | None:
        """Release a key; return it where it is a modifier that was held for nothing, and so was pressed alone.

        Raises:
            KeyError: it is not down.
        """
        if key in MODIFIERS:
            return None if self._held.pop(key) else MODIFIERS[key]
        if key not in self._down:
            raise KeyError(key)
        self._down.remove(key)
        return None

    @property
    def left(self) -> tuple[str, ...]:
        """Name what is still held."""
        return (*self._held, *self._down)
