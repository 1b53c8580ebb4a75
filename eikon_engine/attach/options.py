"""Options of `record_mission`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.redact.rules import RedactionRules
from eikon_engine.trace.wall_clock import random_id, random_key, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from eikon_engine.completions import CompletionClient
    from eikon_engine.skills.registry import SkillRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachOptions:
    """Options for recording an agent."""

    mission_id: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values by name that are never written. A typed password becomes a secret as soon as it is typed."""
    redact: bool = True
    """Whether undeclared secrets are searched for and replaced by stand-ins; see `docs/redaction.md`."""
    redaction: RedactionRules = field(default_factory=RedactionRules)
    """Additional rules and exceptions for secrets."""
    certify: CertifyOptions | None = field(default_factory=CertifyOptions)
    """How to certify the recording at its end; None to skip certifying."""
    skills: SkillRegistry | None = None
    """Defaults to the built-in and installed skills."""
    completion_client: CompletionClient | None = None
    """Model client for skills; its responses are stored in the bundle for replays."""
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = random_id
    new_key: Callable[[], bytes] = random_key
    """Generates the key for stand-ins, which is never stored."""
