"""Choose an applier by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, assert_never

from eikon_engine.fix.appliers.aider import AiderApplier
from eikon_engine.fix.appliers.aider_call import AiderModel
from eikon_engine.fix.appliers.blocks import BlocksApplier

if TYPE_CHECKING:
    from eikon_engine.fix.application import Applier


def choose_applier(name: Literal["blocks", "aider"], *, model: str | None, base_url: str | None) -> Applier:
    """Return an applier; aider uses the same model that generates fixes.

    Raises:
        AiderMissingError: aider is not installed.
    """
    match name:
        case "blocks":
            return BlocksApplier()
        case "aider":
            aider = AiderApplier(aider_model=AiderModel(model=model, base_url=base_url))
            aider.require_installed()
            return aider
        case _:
            assert_never(name)
