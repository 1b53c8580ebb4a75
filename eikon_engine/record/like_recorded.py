"""Record in the environment of an existing recording, so that differences come from the site."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from eikon_engine.trace.bundle_path import resolve_inside
from eikon_engine.trace.redaction import Redactor

if TYPE_CHECKING:
    from eikon_engine.record.options import RecordOptions
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.environment import Environment


def with_recorded_environment(bundle: Bundle, options: RecordOptions) -> RecordOptions:
    """Return options with the environment, clock, seed and storage of a bundle.

    An explicit storage state takes precedence. Headers get the values of their secrets.

    Raises:
        BundlePathError: the start state lies outside the bundle.
    """
    start = bundle.trace.start
    stored = options.storage_state
    if stored is None and start.storage_state is not None:
        stored = resolve_inside(bundle.root, start.storage_state, "start.storage_state")
    session = options.session_storage
    if session is None and start.session_storage is not None:
        session = resolve_inside(bundle.root, start.session_storage, "start.session_storage")
    options = replace(options, storage_state=stored, session_storage=session)
    environment = bundle.trace.environment
    return options if environment is None else _with_environment(options, environment)


def _with_environment(options: RecordOptions, environment: Environment) -> RecordOptions:
    return replace(
        options,
        viewport=environment.viewport,
        device_scale_factor=environment.device_scale_factor,
        locale=environment.locale,
        timezone=environment.timezone,
        color_scheme=environment.color_scheme,
        user_agent=environment.user_agent or None,
        reduced_motion=environment.reduced_motion,
        forced_colors=environment.forced_colors,
        has_touch=environment.has_touch,
        is_mobile=environment.is_mobile,
        permissions=environment.permissions,
        geolocation=environment.geolocation,
        extra_http_headers=_headers(environment, options),
        clock_start=datetime.fromtimestamp(environment.clock_start_ms / 1000, UTC),
        clock=environment.clock,
        random_seed=environment.random_seed,
        settle_ms=environment.settle_ms,
    )


def _headers(environment: Environment, options: RecordOptions) -> dict[str, str]:
    redactor = Redactor(options.secrets)
    return {
        name: redactor.restore_bytes(value.encode()).decode() for name, value in environment.extra_http_headers.items()
    }
