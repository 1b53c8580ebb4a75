"""How the mission of an agent is recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.redact.rules import RedactionRules
from eikon_engine.trace.wall_clock import fresh_id, fresh_key, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from eikon_engine.completions import CompletionClient
    from eikon_engine.skills.registry import SkillRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachOptions:
    """Everything that can be chosen about the recording of an agent."""

    mission_id: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values that are written nowhere, by name. A password that is only typed is one from that moment on."""
    redact: bool = True
    """Whether secrets that nobody named are looked for, and replaced by stand-ins; see `docs/redaction.md`."""
    redaction: RedactionRules = field(default_factory=RedactionRules)
    """What else is a secret, and what is none."""
    certify: CertifyOptions | None = field(default_factory=CertifyOptions)
    """How the recording is certified at its end; None to leave that for later."""
    skills: SkillRegistry | None = None
    """The built-in ones if left out."""
    ask: CompletionClient | None = None
    """What answers skills that ask a model; what it answers is kept in the bundle, for replays."""
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = fresh_id
    new_key: Callable[[], bytes] = fresh_key
    """Where the key comes from that stand-ins are made with."""
