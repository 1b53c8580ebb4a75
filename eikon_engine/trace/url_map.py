"""Replay against another deployment: addresses of the recording on one side, addresses of today on the other.

A rule is a pair of base URLs. What the mission does is mapped from old to new before it is done, what is observed from
new to old before it is compared. A base URL is found in any text, in the forms in which texts hold it, and only as a
whole: `http://h:80` is not found in `http://h:8080`, nor `http://h/app` in `http://h/application`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from eikon_engine.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

URL_ATTRIBUTES: Final = frozenset(
    {"action", "background", "cite", "data", "formaction", "href", "longdesc", "poster", "src", "xlink:href"}
)
"""Attributes whose value is one URL."""
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_SOCKETS: Final = {"http": "ws", "https": "wss"}
_FORMS: Final[tuple[Callable[[str], str], ...]] = (
    lambda url: url,
    lambda url: url.replace("/", "\\/"),
    lambda url: quote(url, safe=""),
    lambda url: quote(url, safe="").replace("%3A", "%3a").replace("%2F", "%2f"),
    quote,
)
"""As it is; in JSON of PHP; as encodeURIComponent and forms write it, also in lower case; as Python's quote does."""

_BEFORE: Final = r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2})|(?<=\\[bfnrt]))"
_BEFORE_RELATIVE: Final = r"(?<![:\w/\\])"
_AFTER_HOST: Final = r"(?![\w\-%@]|:\S|\.\w)(?![^\s/?#\"'<>\\&]*@)"
_AFTER_PATH: Final = r"(?![\w\-~%@+=$]|[.,;:!'](?=\w))"
_AFTER_CODED_HOST: Final = r"(?![\w\-@]|\.\w|%3[Aa]\S|%40|%25)"
_AFTER_CODED_PATH: Final = r"(?![\w\-~@+=$]|[.,;:!'](?=\w)|%(?!2[02367CFcf]|3[CEFcef]|5[Cc]|7[Dd]|0[ADad]))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """One base URL, in the form in which browsers write it."""

    scheme: str
    authority: str
    path: str
    """Without a slash at its end; empty for a whole site."""

    @property
    def origin(self) -> str:
        """Return scheme, host and port."""
        return f"{self.scheme}://{self.authority}"

    @property
    def host(self) -> str:
        """Return the host without its port."""
        return urlsplit(self.origin).hostname or ""

    @property
    def url(self) -> str:
        """Return the whole of it."""
        return self.origin + self.path

    def spellings(self) -> Iterator[tuple[str, str]]:
        """Yield how it can be written, each way with its name; a default port may be given or not."""
        ports = ("",) if self.authority != self._bare else ("", f":{_DEFAULT_PORTS[self.scheme]}")
        for scheme in (self.scheme, _SOCKETS[self.scheme], ""):
            for port in ports:
                url = f"{scheme}:" * bool(scheme) + f"//{self.authority}{port}{self.path}"
                kind = "page" if scheme == self.scheme else "socket" if scheme else "relative"
                for number, form in enumerate(_FORMS):
                    yield f"{kind}{port and ' with port'} {number}", form(url)

    @property
    def _bare(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlRule:
    """One pair of deployments."""

    old: Base
    """Where the mission was recorded."""
    new: Base
    """Where it is replayed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitution:
    """Replace base URLs in texts, all in one pass."""

    pattern: re.Pattern[str]
    targets: Mapping[str, str]

    def text(self, text: str) -> str:
        """Return the text with every base URL replaced."""
        return self.pattern.sub(lambda found: self.targets[found[0]], text) if self.targets else text

    def data(self, data: bytes) -> bytes:
        """Return bytes with every base URL replaced; what is no UTF-8 stays as it is."""
        if not self.targets:
            return data
        return self.text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _substitution(pairs: list[tuple[Base, Base]]) -> Substitution:
    targets: dict[str, str] = {}
    parts: dict[str, str] = {}
    for source, target in pairs:
        written = dict(target.spellings())
        for name, spelling in source.spellings():
            plain = name.replace(" with port", "")
            targets.setdefault(spelling, written.get(name, written[plain]))
            parts.setdefault(spelling, _bounded(spelling, source, coded="%" in spelling))
    longest_first = sorted(parts, key=lambda spelling: (-len(spelling), spelling))
    return Substitution(pattern=re.compile("|".join(parts[each] for each in longest_first)), targets=targets)


def _bounded(spelling: str, source: Base, *, coded: bool) -> str:
    before = _BEFORE_RELATIVE if spelling.startswith(("/", "\\")) else _BEFORE
    if source.path:
        after = _AFTER_CODED_PATH if coded else _AFTER_PATH
    else:
        after = _AFTER_CODED_HOST if coded else _AFTER_HOST
    return f"{before}{re.escape(spelling)}{after}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlMap:
    """All rules of a replay; one without rules changes nothing."""

    rules: tuple[UrlRule, ...] = ()
    to_new: Substitution = field(init=False)
    to_old: Substitution = field(init=False)

    def __post_init__(self) -> None:
        """Compile both directions."""
        object.__setattr__(self, "to_new", _substitution([(rule.old, rule.new) for rule in self.rules]))
        object.__setattr__(self, "to_old", _substitution([(rule.new, rule.old) for rule in self.rules]))

    def __bool__(self) -> bool:
        """Say whether there is any rule."""
        return bool(self.rules)

    @property
    def moves_paths(self) -> bool:
        """Say whether a rule changes the path, so that links without a host change too."""
        return any(rule.old.path != rule.new.path for rule in self.rules)

    def is_stray(self, url: str) -> bool:
        """Say whether a URL of today lies in a recorded deployment that another one stands for."""
        return bool(self.rules) and self.to_new.pattern.match(url) is not None and not self.to_old.pattern.match(url)

    def old_path(self, path: str, document: str) -> str:
        """Return the recorded form of a link without a host (`/app/x`) in the document of a URL of today."""
        if not path.startswith("/") or path.startswith("//"):
            return path
        origin = document.split("/", 3)[:3]
        mapped = self.to_old.text("/".join(origin) + path)
        bases = [rule for rule in self.rules if rule.new.origin == "/".join(origin)]
        found = next((rule.old for rule in bases if mapped.startswith(rule.old.url)), None)
        return mapped.removeprefix(found.origin) if found is not None else path

    def new_path(self, path: str) -> str:
        """Return the form of today of a recorded link without a host; the longest rule that fits counts."""
        if not path.startswith("/") or path.startswith("//"):
            return path
        for rule in sorted(self.rules, key=lambda rule: -len(rule.old.path)):
            mapped = _substitution([(rule.old, rule.new)]).text(rule.old.origin + path)
            if mapped.startswith(rule.new.url):
                return mapped.removeprefix(rule.new.origin)
        return path


def url_map(base_urls: Mapping[str, str]) -> UrlMap:
    """Build a map from pairs of old and new base URLs.

    Raises:
        UsageError: one is no absolute HTTP URL, or two rules share a side, so that nothing could be mapped back.
    """
    rules = tuple(UrlRule(old=parse_base(old), new=parse_base(new)) for old, new in base_urls.items())
    for side in ("old", "new"):
        bases = [getattr(rule, side).url for rule in rules]
        twice = next((base for base in bases if bases.count(base) > 1), None)
        if twice is not None:
            message = f"--base-url: {twice} is the {side} address of two rules; keep one of them"
            raise UsageError(message)
    return UrlMap(rules=rules)


def parse_base(text: str) -> Base:
    """Read a base URL.

    Raises:
        UsageError: it is no absolute HTTP URL, or has user, query or fragment.
    """
    try:
        parts = urlsplit(text)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode() if not text.isascii() else parts.hostname or ""
    except ValueError as error:
        message = f"--base-url: wanted an absolute http or https URL, found {text!r} ({error})"
        raise UsageError(message) from error
    sound = parts.scheme in _DEFAULT_PORTS and host and not re.search(r"[\s*?#@]", text)
    if not sound:
        message = (
            f"--base-url: wanted an absolute http or https URL without user, query and fragment, found {text!r}; "
            "write OLD=NEW like http://127.0.0.1:8000=https://staging.example"
        )
        raise UsageError(message)
    name = f"[{host}]" if ":" in host else host
    given = port is not None and str(port) != _DEFAULT_PORTS[parts.scheme]
    return Base(
        scheme=parts.scheme,
        authority=f"{name}:{port}" if given else name,
        path=quote(parts.path.rstrip("/"), safe="/%!$&'()*+,;=:@~"),
    )


def parse_rules(texts: Iterable[str]) -> dict[str, str]:
    """Read rules written `OLD=NEW`, for `url_map`.

    Raises:
        UsageError: a text is no pair of URLs, or an old one is named twice.
    """
    rules: dict[str, str] = {}
    for text in texts:
        old, equals, new = re.sub(r"=(?=https?://)", "\n", text, count=1).partition("\n")
        if not equals:
            message = f"--base-url: wanted OLD=NEW, two absolute http or https URLs, found {text!r}"
            raise UsageError(message)
        if old in rules:
            message = f"--base-url: {old} is given two new addresses; keep one of them"
            raise UsageError(message)
        rules[old] = new
    return rules
