"""Replay without the real secrets: which stand-ins are used, and when a real value is required."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import SecretMissingError, UsageError
from eikon_engine.trace.bundle_path import resolve_inside
from eikon_engine.trace.secret_names import MIN_SECRET_LENGTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eikon_engine.outcome.outcomes import NetworkMode
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace


def secrets_for(trace: ExecutionTrace, options: ReplayOptions, network: NetworkMode) -> Mapping[str, str]:
    """Return the values of secrets: the supplied ones, and stand-ins where no live site sees them.

    A HAR from another program holds the real values, so it gets no stand-ins.
    """
    if network == "live" or options.har is not None:
        return options.secrets
    return {**{each.name: each.stand_in for each in trace.redaction.typed}, **options.secrets}


def require_live_start_state(bundle: Bundle, options: ReplayOptions, network: NetworkMode) -> None:
    """Check that the start state of the session works on a live site.

    Raises:
        SecretMissingError: the start state is redacted, and no replacement was supplied.
        UsageError: a storage state was supplied to a replay that is not live.
    """
    if network != "live":
        if options.storage_state is not None:
            message = f"--storage-state requires --network live, got --network {network}. Drop one of them."
            raise UsageError(message)
        return
    missing = tuple(_redacted_start_parts(bundle, is_given=options.storage_state is not None))
    if missing:
        message = f"{bundle.root}: the recorded start state is redacted: {'; '.join(missing)}"
        raise SecretMissingError(message)


def stand_in_warnings(trace: ExecutionTrace, *, visits_site: bool) -> Iterator[str]:
    """Yield a warning for each action that sends a stand-in to a live site."""
    if not visits_site:
        return
    known = [each for each in trace.redaction.found if len(each.stand_in) >= MIN_SECRET_LENGTH]
    for subgoal in trace.subgoal_traces:
        for action in subgoal.actions_taken:
            text = action.action.model_dump_json()
            names = sorted({each.name for each in known if each.stand_in in text})
            if names:
                listed = ", ".join(names)
                yield f"{action.id} sends stand-ins for {listed} to the site. Name the values in RecordOptions.secrets."


def stand_ins_as_cause(stood_in: tuple[str, ...]) -> str | None:
    """Describe the stand-ins that may explain the first divergence; None if every value was supplied."""
    if not stood_in:
        return None
    names = ", ".join(stood_in)
    return f"stand-ins were typed for secrets ({names}); pages that compute with the values differ. Use --secret."


def _redacted_start_parts(bundle: Bundle, *, is_given: bool) -> Iterator[str]:
    trace = bundle.trace
    stand_ins = tuple(each.stand_in for each in trace.redaction.found if len(each.stand_in) >= MIN_SECRET_LENGTH)
    for name, relative in (
        ("storage state", trace.start.storage_state),
        ("session storage", trace.start.session_storage),
    ):
        if relative is None or (is_given and name == "storage state"):
            continue
        text = resolve_inside(bundle.root, relative, f"start.{name.replace(' ', '_')}").read_text(encoding="utf-8")
        if any(each in text for each in stand_ins):
            advice = (
                "supply one with --storage-state FILE" if name == "storage state" else "replay sealed, or record again"
            )
            yield f"{name} ({advice})"
    headers = trace.environment.extra_http_headers if trace.environment else {}
    for header, value in headers.items():
        if any(each in value for each in stand_ins):
            yield f"header {header} (name the value in RecordOptions.secrets and record again)"
