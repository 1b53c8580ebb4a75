"""The appliers by the names that people choose them by."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.appliers.aider import AiderApplier
from eikon_engine.fix.appliers.blocks import BlocksApplier
from eikon_engine.fix.appliers.trace_patch import TracePatchApplier

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eikon_engine.fix.application import Applier

APPLIERS: Final[Mapping[str, Callable[[], Applier]]] = MappingProxyType(
    {each.name: each for each in (BlocksApplier, AiderApplier, TracePatchApplier)}
)
