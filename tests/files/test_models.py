"""Models that are built when they are first used."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from eikon_engine.files.models import DeferredAdapter, FileModel


class Shown:
    """A value that Ctrl-C interrupts while it is shown in native code, where signals are handled."""

    def __init__(self) -> None:
        """Interrupt nothing."""
        self.left = -1

    def __repr__(self) -> str:
        """Count, and interrupt the last one."""
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return "shown"


@pytest.mark.parametrize(("kind", "number"), [("model", 1), ("model", 2), ("adapter", 2), ("adapter", 3)])
def test_ctrl_c_while_a_validator_is_built_is_no_invalid_schema(kind: str, number: int) -> None:
    """It leaves as Ctrl-C, and the validator is built when it is used again."""
    shown = Shown()
    choice: Any = Literal[shown]

    class Model(FileModel):
        """A model of the value."""

        value: choice

    adapter: DeferredAdapter[object] = DeferredAdapter(choice)

    def use() -> object:
        if kind == "adapter":
            return adapter.validate_python(shown)
        return Model(value=shown).model_dump()["value"]

    shown.left = number
    with pytest.raises(KeyboardInterrupt):
        use()
    assert use() is shown
