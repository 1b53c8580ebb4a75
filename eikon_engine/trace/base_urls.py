"""Replay against another deployment: map recorded URLs to current ones and back.

A rule is a pair of base URLs. Actions are mapped from old to new before they are performed, observations from new to
old before they are compared. A base URL is matched in any text, in all its encodings, and only as a whole:
`http://h:80` does not match in `http://h:8080`, nor `http://h/app` in `http://h/application`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from eikon_engine.dom import DomNode, PageSnapshot
from eikon_engine.errors import UsageError
from eikon_engine.files.origins import split_url
from eikon_engine.files.text import require_utf8
from eikon_engine.secrets.redaction import Redactor
from eikon_engine.trace.masks import RequestPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.dom import FrameSnapshot
    from eikon_engine.secrets.stand_ins import StandInMap
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.masks import Mask

URL_ATTRIBUTES: Final = frozenset(
    {"action", "background", "cite", "data", "formaction", "href", "longdesc", "poster", "src", "xlink:href"}
)
"""Attributes whose value is a single URL."""
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_SOCKET_SCHEMES: Final = {"http": "ws", "https": "wss"}
_URL_ENCODINGS: Final[tuple[Callable[[str], str], ...]] = (
    lambda url: url,
    lambda url: url.replace("/", "\\/"),
    lambda url: quote(url, safe=""),
    lambda url: quote(url, safe="").replace("%3A", "%3a").replace("%2F", "%2f"),
    quote,
)
"""Plain; as PHP's JSON; as encodeURIComponent and forms, also in lower case; as Python's quote."""

_BEFORE: Final = r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2})|(?<=\\[bfnrt]))"
_BEFORE_RELATIVE: Final = r"(?<![:\w/\\])"
_AFTER_HOST: Final = r"(?![\w\-%@]|:\S|\.\w)(?![^\s/?#\"'<>\\&]*@)"
_AFTER_PATH: Final = r"(?![\w\-~%@+=$]|[.,;:!'](?=\w))"
_AFTER_CODED_HOST: Final = r"(?![\w\-@]|\.\w|%3[Aa]\S|%40|%25)"
_AFTER_CODED_PATH: Final = r"(?![\w\-~@+=$]|[.,;:!'](?=\w)|%(?!2[02367CFcf]|3[CEFcef]|5[Cc]|7[Dd]|0[ADad]))"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseUrl:
    """A base URL, normalized as browsers write it."""

    scheme: str
    authority: str
    path: str
    """Without a trailing slash; empty for a whole site."""

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://{self.authority}"

    @property
    def host(self) -> str:
        """The host without its port."""
        return urlsplit(self.origin).hostname or ""

    @property
    def url(self) -> str:
        """The whole URL."""
        return self.origin + self.path

    def spellings(self) -> Iterator[tuple[str, str]]:
        """Yield a name and the text of each way to write it; a default port may be given or not."""
        ports = ("",) if self.authority != self._bare_host else ("", f":{_DEFAULT_PORTS[self.scheme]}")
        for scheme in (self.scheme, _SOCKET_SCHEMES[self.scheme], ""):
            for port in ports:
                url = f"{scheme}:" * bool(scheme) + f"//{self.authority}{port}{self.path}"
                kind = "page" if scheme == self.scheme else "socket" if scheme else "relative"
                for number, form in enumerate(_URL_ENCODINGS):
                    yield f"{kind}{port and ' with port'} {number}", form(url)

    @property
    def _bare_host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseUrlRule:
    """A pair of deployments."""

    old: BaseUrl
    """Base URL of the recording."""
    new: BaseUrl
    """Base URL of the replay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitution:
    """Replaces base URLs in texts, all in one pass."""

    pattern: re.Pattern[str]
    targets: Mapping[str, str]

    def replace_text(self, text: str) -> str:
        """Return the text with every base URL replaced."""
        return self.pattern.sub(lambda found: self.targets[found[0]], text) if self.targets else text

    def replace_bytes(self, data: bytes) -> bytes:
        """Return bytes with every base URL replaced; invalid UTF-8 is kept."""
        if not self.targets:
            return data
        return self.replace_text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _build_substitution(pairs: list[tuple[BaseUrl, BaseUrl]]) -> Substitution:
    targets: dict[str, str] = {}
    parts: dict[str, str] = {}
    for source, target in pairs:
        written = dict(target.spellings())
        for name, spelling in source.spellings():
            plain = name.replace(" with port", "")
            targets.setdefault(spelling, written.get(name, written[plain]))
            parts.setdefault(spelling, _bounded_pattern(spelling, source, coded="%" in spelling))
    longest_first = sorted(parts, key=lambda spelling: (-len(spelling), spelling))
    return Substitution(pattern=re.compile("|".join(parts[each] for each in longest_first)), targets=targets)


def _bounded_pattern(spelling: str, source: BaseUrl, *, coded: bool) -> str:
    before = _BEFORE_RELATIVE if spelling.startswith(("/", "\\")) else _BEFORE
    if source.path:
        after = _AFTER_CODED_PATH if coded else _AFTER_PATH
    else:
        after = _AFTER_CODED_HOST if coded else _AFTER_HOST
    return f"{before}{re.escape(spelling)}{after}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseUrlMap:
    """All rules of a replay; without rules nothing is mapped."""

    rules: tuple[BaseUrlRule, ...] = ()
    to_new: Substitution = field(init=False)
    to_old: Substitution = field(init=False)

    def __post_init__(self) -> None:
        """Compile both directions."""
        object.__setattr__(self, "to_new", _build_substitution([(rule.old, rule.new) for rule in self.rules]))
        object.__setattr__(self, "to_old", _build_substitution([(rule.new, rule.old) for rule in self.rules]))

    def __bool__(self) -> bool:
        """Return whether there are any rules."""
        return bool(self.rules)

    @property
    def changes_paths(self) -> bool:
        """Whether a rule changes the path, so that host-relative links change too."""
        return any(rule.old.path != rule.new.path for rule in self.rules)

    def is_recorded_url(self, url: str) -> bool:
        """Return whether a current URL points to a recorded deployment that is replaced by another."""
        return bool(self.rules) and self.to_new.pattern.match(url) is not None and not self.to_old.pattern.match(url)

    def to_old_path(self, path: str, document: str) -> str:
        """Return the recorded form of a host-relative link (`/app/x`) in a document at a current URL."""
        if not path.startswith("/") or path.startswith("//"):
            return path
        origin = document.split("/", 3)[:3]
        mapped = self.to_old.replace_text("/".join(origin) + path)
        bases = [rule for rule in self.rules if rule.new.origin == "/".join(origin)]
        found = next((rule.old for rule in bases if mapped.startswith(rule.old.url)), None)
        return mapped.removeprefix(found.origin) if found is not None else path

    def to_new_path(self, path: str) -> str:
        """Return the current form of a recorded host-relative link; the longest matching rule applies."""
        if not path.startswith("/") or path.startswith("//"):
            return path
        for rule in sorted(self.rules, key=lambda rule: -len(rule.old.path)):
            mapped = _build_substitution([(rule.old, rule.new)]).replace_text(rule.old.origin + path)
            if mapped.startswith(rule.new.url):
                return mapped.removeprefix(rule.new.origin)
        return path


def build_url_map(base_urls: Mapping[str, str], option: str = "--base-url") -> BaseUrlMap:
    """Build a map from pairs of recorded and current base URLs, given to `option`.

    Raises:
        UsageError: a URL is not an absolute HTTP URL, or two rules share a side and could not be mapped back.
    """
    rules = tuple(
        BaseUrlRule(old=parse_base_url(old, option), new=parse_base_url(new, option)) for old, new in base_urls.items()
    )
    for side in ("old", "new"):
        bases = [getattr(rule, side).url for rule in rules]
        twice = next((base for base in bases if bases.count(base) > 1), None)
        if twice is not None:
            message = f"{option}: {twice} is the {side} URL of two rules; remove one of them"
            raise UsageError(message)
    return BaseUrlMap(rules=rules)


def parse_base_url(text: str, option: str = "--base-url") -> BaseUrl:
    """Parse a base URL, given to `option`.

    Raises:
        UsageError: the text is not an absolute HTTP URL, or has a user, query or fragment.
    """
    require_utf8(text, option)
    try:
        parts = urlsplit(text)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode() if not text.isascii() else parts.hostname or ""
    except ValueError as error:
        message = f"{option}: expected an absolute http or https URL, got {text!r} ({error})"
        raise UsageError(message) from error
    sound = parts.scheme in _DEFAULT_PORTS and host and not re.search(r"[\s*?#@]", text)
    if not sound:
        message = (
            f"{option}: expected an absolute http or https URL without user, query and fragment, got {text!r}; "
            "use OLD=NEW, such as http://127.0.0.1:8000=https://staging.example"
        )
        raise UsageError(message)
    name = f"[{host}]" if ":" in host else host
    given = port is not None and str(port) != _DEFAULT_PORTS[parts.scheme]
    return BaseUrl(
        scheme=parts.scheme,
        authority=f"{name}:{port}" if given else name,
        path=quote(parts.path.rstrip("/"), safe="/%!$&'()*+,;=:@~"),
    )


def parse_base_url_rules(texts: Iterable[str], option: str = "--base-url") -> dict[str, str]:
    """Parse rules of the form `OLD=NEW` that were given to `option`, for `build_url_map`.

    Raises:
        UsageError: a text is not a pair of URLs, or an old URL is given twice.
    """
    rules: dict[str, str] = {}
    for text in texts:
        old, equals, new = re.sub(r"=(?=https?://)", "\n", text, count=1).partition("\n")
        if not equals:
            message = f"{option}: expected OLD=NEW, two absolute http or https URLs, got {text!r}"
            raise UsageError(message)
        if old in rules:
            message = f"{option}: {old} has two new URLs; remove one of them"
            raise UsageError(message)
        rules[old] = new
    return rules


USER_INPUT_FIELDS = frozenset({"type", "text", "key", "data"})
"""Fields of an action that hold user input: what is typed, pressed and dropped."""


def map_action_urls(action: Action, urls: BaseUrlMap) -> Action:
    """Return an action for the current deployment; user input is not changed."""
    if not urls:
        return action
    data: dict[str, JsonValue] = json.loads(action.model_dump_json())
    moved = {name: value if name in USER_INPUT_FIELDS else _map_value(value, urls) for name, value in data.items()}
    return action if moved == data else type(action).model_validate_json(json.dumps(moved))


def map_mask_urls(mask: Mask, urls: BaseUrlMap) -> Mask:
    """Return a mask for the current deployment."""
    part = mask.part
    if isinstance(part, RequestPart):
        part = part.model_copy(update={"key": urls.to_new.replace_text(part.key)})
    return mask.model_copy(update={"url": urls.to_new.replace_text(mask.url), "part": part})


def _map_value(value: JsonValue, urls: BaseUrlMap) -> JsonValue:
    match value:
        case str():
            return urls.to_new.replace_text(value)
        case [str() as name, str() as text] if name in URL_ATTRIBUTES and urls.changes_paths:
            return [name, urls.to_new.replace_text(urls.to_new_path(text))]
        case list():
            return [_map_value(each, urls) for each in value]
        case dict():
            return {name: _map_value(each, urls) for name, each in value.items()}
        case _:
            return value


def map_storage_state(state: dict[str, Any], urls: BaseUrlMap) -> dict[str, Any]:
    """Return a storage state (Playwright's format) for the current deployment.

    A cookie of a recorded host is set for every host that replaces it.
    """
    if not urls:
        return state
    cookies = [moved for cookie in state.get("cookies", ()) for moved in _map_cookies(cookie, urls)]
    origins = [_map_origin(each, urls) for each in state.get("origins", ())]
    return {**state, "cookies": cookies, "origins": origins}


def map_session_storage(storage: dict[str, dict[str, str]], urls: BaseUrlMap) -> dict[str, dict[str, str]]:
    """Return a session storage, by origin, for the current deployment."""
    bases = {rule.old.origin: rule.new.origin for rule in reversed(urls.rules)}
    return {
        bases.get(origin, origin): {name: str(_map_value(value, urls)) for name, value in items.items()}
        for origin, items in storage.items()
    }


def _map_origin(stored: dict[str, Any], urls: BaseUrlMap) -> dict[str, Any]:
    bases = {rule.old.origin: rule.new.origin for rule in reversed(urls.rules)}
    kept = {name: _map_value(value, urls) for name, value in stored.items() if name != "origin"}
    return {"origin": bases.get(stored["origin"], stored["origin"]), **kept}


def _map_cookies(cookie: dict[str, Any], urls: BaseUrlMap) -> list[dict[str, Any]]:
    moved: dict[str, dict[str, Any]] = {}
    for rule in sorted(urls.rules, key=lambda rule: -len(rule.old.path)):
        if _is_sent_to(cookie, rule.old):
            moved.setdefault(rule.new.host, _map_cookie(cookie, rule, urls))
    return list(moved.values()) or [cookie]


def _is_sent_to(cookie: dict[str, Any], base: BaseUrl) -> bool:
    domain = str(cookie.get("domain", ""))
    return base.host == domain.lstrip(".") or (domain.startswith(".") and base.host.endswith(domain))


def _map_cookie(cookie: dict[str, Any], rule: BaseUrlRule, urls: BaseUrlMap) -> dict[str, Any]:
    path = str(cookie.get("path") or "/")
    inside = bool(rule.old.path) and (path == rule.old.path or path.startswith(f"{rule.old.path}/"))
    given = {
        **cookie,
        "domain": rule.new.host,
        "path": (rule.new.path + path[len(rule.old.path) :] or "/") if inside else path,
        "value": urls.to_new.replace_text(str(cookie.get("value", ""))),
    }
    if rule.new.scheme == "http" and rule.old.scheme == "https":  # browsers reject secure cookies on http sites
        given["secure"] = False
        given["sameSite"] = "Lax" if cookie.get("sameSite") == "None" else cookie.get("sameSite", "Lax")
    return given


def restore_page_links(page: PageSnapshot, urls: BaseUrlMap) -> PageSnapshot:
    """Return an observed page with its host-relative links mapped to the recorded deployment.

    Only needed if a rule changes the path; absolute links are mapped as text.
    """
    if not urls.changes_paths:
        return page
    return PageSnapshot(frames=tuple(_restore_frame_links(frame, urls) for frame in page.frames))


def _restore_frame_links(frame: FrameSnapshot, urls: BaseUrlMap) -> FrameSnapshot:
    if split_url(frame.url).scheme not in {"http", "https"}:
        return frame
    done: dict[int, DomNode] = {}
    for node in reversed(list(frame.root.walk())):
        if id(node) not in done:
            done[id(node)] = _restore_node_links(node, frame.url, urls, done)
    return replace(frame, root=done[id(frame.root)])


def _restore_node_links(node: DomNode, document: str, urls: BaseUrlMap, done: dict[int, DomNode]) -> DomNode:
    if node.text is not None:
        return node
    attributes = tuple(
        (name, urls.to_old_path(value, document) if name in URL_ATTRIBUTES else value)
        for name, value in node.attributes
    )
    return replace(
        node,
        attributes=attributes,
        children=tuple(done[id(each)] for each in node.children),
        shadow=None if node.shadow is None else tuple(done[id(each)] for each in node.shadow),
    )


def unused_base_urls(trace: ExecutionTrace, urls: BaseUrlMap) -> tuple[str, ...]:
    """Return the recorded base URLs of the map that do not occur in a trace."""
    if not urls:
        return ()
    used = {found[0] for found in urls.to_new.pattern.finditer(trace.model_dump_json())}
    return tuple(
        rule.old.url for rule in urls.rules if used.isdisjoint(spelling for _, spelling in rule.old.spellings())
    )


class UrlMappingRedactor(Redactor):
    """Redacts texts, then maps current base URLs to recorded ones."""

    def __init__(self, secrets: Mapping[str, str], urls: BaseUrlMap, stand_ins: StandInMap | None = None) -> None:
        """Prepare both steps."""
        super().__init__(secrets, stand_ins)
        self._urls = urls

    @property
    def is_noop(self) -> bool:
        """Always false: any text may contain a URL."""
        return False

    def redact_text(self, text: str) -> str:
        """Return a text without secret values, with recorded URLs."""
        return self._urls.to_old.replace_text(super().redact_text(text))

    def redact_bytes(self, data: bytes) -> bytes:
        """Return bytes without secret values, with recorded URLs."""
        return self._urls.to_old.replace_bytes(super().redact_bytes(data))


def build_redactor(secrets: Mapping[str, str], urls: BaseUrlMap, stand_ins: StandInMap | None = None) -> Redactor:
    """Return the redactor for observed texts."""
    return UrlMappingRedactor(secrets, urls, stand_ins) if urls else Redactor(secrets, stand_ins)
