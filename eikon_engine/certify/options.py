"""Options of a certification."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from eikon_engine.divergence.effects import PolicyName
from eikon_engine.errors import UsageError
from eikon_engine.files.wall_clock import utc_now
from eikon_engine.outcome.terminal import safe_line
from eikon_engine.replay.option_checks import OptionChecks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path


MIN_RUNS: Final = 2
"""A single run has nothing to agree with."""

CertifyNetwork: TypeAlias = Literal["sealed", "live"]


def show_on_terminal(line: str) -> None:
    """Print a progress line on standard error if that is a terminal."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"[CERTIFY] {safe_line(line)}\n")
        sys.stderr.flush()


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifyOptions:
    """All options of a certification. A path may be given as text.

    Raises:
        UsageError: a value is not one that its option accepts.
    """

    runs: int = 5
    """Number of replays that must agree."""
    parallel: int = 4
    """Number of concurrent replays; live replays always run one after the other."""
    stress: bool = False
    """Run CPU-bound processes during the replays."""
    network: CertifyNetwork = "sealed"
    allow_schemes: tuple[str, ...] = ()
    """Schemes of URLs, other than http and https, that actions may navigate to."""
    reset_command: str | None = None
    """Shell command that resets the site, run before each live replay."""
    storage_state: Path | None = None
    """Storage state file for live replays, because the recorded cookies are redacted."""
    masks_noise: bool = False
    """Live only: mask also what differs among the runs without a known type, such as an advertisement."""
    policy: PolicyName = "strict"
    """What counts as a divergence; with `effects`, other DOM changes are not found."""
    headless: bool = True
    browser_path: Path | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    secret_origins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Live only: origins of the trace into whose documents a secret may be typed; see `ReplayOptions`."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Values of trace variables; values that differ from the recorded ones become part of the proposed changes."""
    doublings: int = 3
    """How often the page time of an action is doubled before a mask or baseline is proposed."""
    rounds: int = 12
    """Maximum number of rounds of `runs` replays; a round that tries more page time may have two."""
    progress: Callable[[str], None] = show_on_terminal
    """Called with each progress line; by default, they are printed on standard error if that is a terminal."""
    now: Callable[[], datetime] = utc_now

    def __post_init__(self) -> None:
        """Check every value."""
        checks = OptionChecks(self)
        checks.check_integer("runs", minimum=MIN_RUNS, advice="A single run has nothing to agree with.")
        checks.check_integer("parallel", minimum=1, advice="Use 1 for one replay after the other.")
        checks.check_integer("doublings", minimum=0, advice="Use 0 to propose masks and baselines at once.")
        checks.check_integer("rounds", minimum=1, advice="The first round finds whether the runs agree.")
        checks.check_flags("stress", "masks_noise", "headless")
        checks.check_choices(network=CertifyNetwork, policy=PolicyName)
        checks.convert_paths("browser_path", "storage_state")
        checks.check_text_mappings("secrets", "variables")
        checks.convert_items("allow_schemes", lambda each: isinstance(each, str), "schemes of URLs, such as 'data'")
        checks.convert_origins("secret_origins")
        self._require_live()
        checks.check_callables("progress", "now")

    def _require_live(self) -> None:
        """Refuse what only live replays use."""
        used = {
            "a reset command": self.reset_command is not None,
            "a storage state": self.storage_state is not None,
            "masks_noise": self.masks_noise,
        }
        name = next((name for name, is_used in used.items() if is_used), None)
        if name is not None and self.network != "live":
            message = f"{name} has no effect on sealed replays, which visit no site. Certify live, or drop it."
            raise UsageError(message)
