"""What a trace may do in a replay: navigate, reach the network and type secrets; all of it is checked before a start.

See docs/security.md.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pydantic_core import from_json

from eikon_engine.errors import RequirementError
from eikon_engine.files.origins import host_and_port, is_public_host, url_origin, url_scheme
from eikon_engine.files.paths import resolve_inside
from eikon_engine.secrets.redaction import secret_names_in
from eikon_engine.trace.actions import Navigate
from eikon_engine.trace.execution import ActionTrace, Blocked
from eikon_engine.trace.scripts import trace_scripts
from eikon_engine.trace.steps import iter_steps
from eikon_engine.trace.variables import action_secret_names, placeholder_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.trace.base_urls import BaseUrlMap
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace

_WEB_SCHEMES: Final = frozenset({"http", "https"})
_BLANK_PAGE: Final = "about:blank"


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """What a replay may reach, and where it may type secrets."""

    origins: tuple[str, ...] | None = None
    """The only origins that a live replay may reach; None for no limit."""
    secret_origins: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Current origins into which a secret may be typed, by its name; one that is absent is not bound."""
    announcements: tuple[str, ...] = ()
    """What a live replay announces before its first step."""


def require_allowed_schemes(trace: ExecutionTrace, allowed: Collection[str], *, advice: str = "") -> None:
    """Check that no action navigates to a local file, a page of the browser or a script.

    `advice` says what to do where there is no `--allow-scheme`. A text without a scheme is no URL; the browser refuses
    it as it did in the recording.

    Raises:
        RequirementError: a scheme is neither http nor https, nor allowed.
    """
    for scheme, step in _other_schemes(trace):
        if scheme not in {each.lower() for each in allowed}:
            message = (
                f"{step.id}: expected a navigation to an http or https URL, got the scheme {scheme}:, which may read "
                f"local files or run scripts. {advice or f'If you trust it, add --allow-scheme {scheme}'}."
            )
            raise RequirementError(message, code="scheme-not-allowed")


def navigated_schemes(trace: ExecutionTrace) -> tuple[str, ...]:
    """Return the schemes for which `require_allowed_schemes` needs a permission."""
    return tuple(dict.fromkeys(scheme for scheme, _ in _other_schemes(trace)))


def _other_schemes(trace: ExecutionTrace) -> Iterator[tuple[str, ActionTrace]]:
    for step in _performed_actions(trace):
        if isinstance(step.action, Navigate):
            scheme = url_scheme(step.action.url)
            is_blank = scheme == "about" and step.action.url.strip().lower() == _BLANK_PAGE
            if scheme and scheme not in _WEB_SCHEMES and not is_blank:
                yield scheme, step


def find_permissions(bundle: Bundle, options: ReplayOptions, urls: BaseUrlMap, *, is_implied: bool) -> Permissions:
    """Return what a live replay may do; `is_implied` if it is live only because the bundle has no recorded network.

    Raises:
        RequirementError: an implied live replay would reach this machine or a private network, or might send a secret
            to another origin than its own.
    """
    origins = _navigated_origins(bundle.trace, urls)
    if is_implied:
        _require_public(bundle.trace)
    used = [name for name in _used_secrets(bundle) if name in options.secrets]
    bound = {name: _bound_origins(name, options, urls) or frozenset(origins[:1]) for name in used}
    unbound = [name for name in used if name not in options.secret_origins and len(origins) != 1]
    if is_implied and used:
        _require_contained_secrets(bundle, unbound, origins)
    bound = {name: each for name, each in bound.items() if name not in unbound}
    return Permissions(
        origins=tuple(origins) if is_implied else None,
        secret_origins=bound,
        announcements=(
            *_announcements(origins, bound, unbound, is_implied=is_implied),
            *(_ungranted(bundle.trace) if is_implied else ()),
        ),
    )


def _performed_actions(trace: ExecutionTrace) -> Iterator[ActionTrace]:
    for _, step in iter_steps(trace):
        if isinstance(step, ActionTrace) and not isinstance(step.result, Blocked):
            yield step


def _navigated_origins(trace: ExecutionTrace, urls: BaseUrlMap) -> list[str]:
    navigated = (step.action.url for step in _performed_actions(trace) if isinstance(step.action, Navigate))
    return list(dict.fromkeys(filter(None, (url_origin(urls.to_new.replace_text(url)) for url in navigated))))


def _require_public(trace: ExecutionTrace) -> None:
    for step in _performed_actions(trace):
        if not isinstance(step.action, Navigate) or url_scheme(step.action.url) not in _WEB_SCHEMES:
            continue
        origin = url_origin(step.action.url)
        if not origin or not is_public_host(host_and_port(origin)[0]):
            message = (
                f"{step.id}: the trace has no recorded network, so that its replay is live, and it navigates to "
                f"{origin or step.action.url}, which is not public. If you trust the trace, use --network live."
            )
            raise RequirementError(message, code="origin-not-public")


def _used_secrets(bundle: Bundle) -> list[str]:
    """Return the names of the secrets that a mission types, sends in headers or starts with."""
    typed = [name for step in _performed_actions(bundle.trace) for name in action_secret_names(step.action)]
    return list(dict.fromkeys((*typed, *_header_secrets(bundle.trace), *_start_secrets(bundle))))


def _start_secrets(bundle: Bundle) -> frozenset[str]:
    """Return the names of the secrets in the recorded cookies and storage; an unreadable file is refused later."""
    found: set[str] = set()
    for name in ("storage_state", "session_storage"):
        relative = getattr(bundle.trace.start, name)
        if relative is not None:
            with suppress(OSError, ValueError):
                content = from_json(resolve_inside(bundle.root, relative, f"start.{name}").read_bytes())
                found.update(secret_names_in(json.dumps(content)))
    return frozenset(found)


def _header_secrets(trace: ExecutionTrace) -> frozenset[str]:
    headers = trace.environment.extra_http_headers if trace.environment else {}
    return frozenset(secret_names_in(" ".join(headers.values())))


def _bound_origins(name: str, options: ReplayOptions, urls: BaseUrlMap) -> frozenset[str]:
    """Return the current origins to which the user bound a secret."""
    moved = {rule.old.origin: rule.new.origin for rule in reversed(urls.rules)}
    return frozenset(moved.get(origin, origin) for origin in options.secret_origins.get(name, ()))


def _require_contained_secrets(bundle: Bundle, unbound: list[str], origins: list[str]) -> None:
    """Check that no secret can reach another origin than its own, whatever the trace does."""
    trace = bundle.trace
    trust = "If you trust the trace, use --network live"
    if unbound:
        message = (
            f"the trace types secret {unbound[0]} and navigates to {_listed(origins)}; bind the secret with "
            f"--secret {unbound[0]}@ORIGIN=…. {trust}."
        )
        raise RequirementError(message, code="secret-not-bound")
    beside = next(_secrets_beside_typing(bundle), None)
    if beside is not None:
        message = f"{beside}, which a replay without recorded network does not do. {trust}."
        raise RequirementError(message, code="secret-not-bound")
    script = next(trace_scripts(trace), None)
    if script is not None and len(origins) > 1:
        message = (
            f"{script.step}: the trace types secrets, runs scripts and navigates to {_listed(origins)}, so that a "
            f"script could send a secret from one to another. {trust}; `eikon trace show` lists the scripts."
        )
        raise RequirementError(message, code="secret-not-bound")


def _secrets_beside_typing(bundle: Bundle) -> Iterator[str]:
    """Yield the places other than typed texts in which a trace uses a secret."""
    trace = bundle.trace
    for step in _performed_actions(trace):
        for name in placeholder_names(step.action):
            yield f"{step.id}: the action has secret {name} within a text"
    for name in sorted(_header_secrets(trace)):
        yield f"the trace sends secret {name} in a header to every site"
    for name in sorted(_start_secrets(bundle)):
        yield f"the trace starts with secret {name} in its cookies or storage"


def _announcements(
    origins: list[str], bound: Mapping[str, frozenset[str]], unbound: list[str], *, is_implied: bool
) -> Iterator[str]:
    if is_implied:
        reached = f"only {_listed(origins)}" if origins else "no site, since it navigates to none"
        yield f"the trace has no recorded network: this replay is live, and reaches {reached}"
    for name, allowed in bound.items():
        yield f"secret {name} is typed only into {_listed(sorted(allowed))}"
    for name in unbound:
        visited = _listed(origins) if origins else "no site of its own"
        yield f"secret {name} is bound to no origin, and the trace navigates to {visited}; use --secret {name}@ORIGIN=…"


def without_granted_permissions(trace: ExecutionTrace) -> ExecutionTrace:
    """Return a trace whose pages get no permission of the browser, such as the camera."""
    if trace.environment is None:
        return trace
    return trace.model_copy(update={"environment": trace.environment.model_copy(update={"permissions": ()})})


def _ungranted(trace: ExecutionTrace) -> Iterator[str]:
    """Announce the permissions of the browser that pages had in the recording, and do not get."""
    if trace.environment is not None and trace.environment.permissions:
        yield f"pages do not get the recorded permissions: {', '.join(trace.environment.permissions)}"


def _listed(origins: list[str]) -> str:
    return ", ".join(origins)
