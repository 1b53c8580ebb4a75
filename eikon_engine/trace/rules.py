"""Rules for parts of requests that vary between runs and are ignored when a replay matches requests."""

import re
from collections.abc import Iterator
from typing import Annotated, Final, Literal, TypeAlias, assert_never

from pydantic import Field, field_validator

from eikon_engine.files.models import FileModel
from eikon_engine.files.patterns import matches_whole


class _RequestRule(FileModel):
    """Fields that all rules share."""

    kind: str
    url: str = Field(default="*", pattern=r"^[^?#]+$")
    """URLs it applies to, without query and fragment; `*` matches any characters, including `/`."""
    method: str | None = Field(default=None, min_length=1)
    """Method it applies to, `WEBSOCKET` for sockets and their messages; null for every method."""
    reason: str = Field(min_length=1)
    """Why the part may vary; shown in reports."""


class _ValueRule(_RequestRule):
    """A rule for the value of one named part."""

    pattern: str | None = Field(default=None, min_length=1)
    """Regular expression of the values to ignore, matched in full; null for any value."""

    @field_validator("pattern")
    @classmethod
    def _check_pattern(cls, pattern: str | None) -> str | None:
        return pattern if pattern is None else checked_pattern(pattern)


def checked_pattern(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> str:
    """Return a regular expression that is valid.

    Raises:
        ValueError: it is not.
    """
    try:
        re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError) as error:
        message = f"expected a regular expression, got {pattern!r} ({error})"
        raise ValueError(message) from error
    return pattern


def matches_pattern(pattern: str | None, value: str) -> bool:
    """Return whether a whole value matches the pattern of a rule or mask; everything matches no pattern."""
    return pattern is None or matches_whole(pattern, value)


class QueryKeyRule(_ValueRule):
    """Ignore the values of one query parameter."""

    kind: Literal["query_key"] = "query_key"
    name: str = Field(min_length=1)
    """Decoded, not percent-encoded."""


class QueryStampRule(_RequestRule):
    """Ignore a part of the query that is only a number, such as the time in `?1700000000000`."""

    kind: Literal["query_stamp"] = "query_stamp"


class PathSegmentRule(_RequestRule):
    """Ignore one segment of the path of a URL, such as a session id."""

    kind: Literal["path_segment"] = "path_segment"
    position: int = Field(ge=0)
    """Position of the segment in the path, from 0."""
    pattern: str = Field(min_length=1)
    """Regular expression of the segments to ignore, matched in full after percent-decoding."""

    @field_validator("pattern")
    @classmethod
    def _check_pattern(cls, pattern: str) -> str:
        return checked_pattern(pattern)


class JsonPathRule(_ValueRule):
    """Ignore the values at one path of a JSON body or a WebSocket message."""

    kind: Literal["json_path"] = "json_path"
    path: str = Field(pattern=r'^\$(\.[^.\[\]"]+|\[[0-9]+\]|\[\*\]|\["[^"\\]+"\])+$')
    """Such as `$.meta.sent_at`, `$.events[*].id`, `$.byUser.*.seen`, `$["two words"]`."""


class TimestampRule(_RequestRule):
    """Ignore ISO 8601 times (date and time) in a body or a WebSocket message, text or binary."""

    kind: Literal["timestamp"] = "timestamp"


class HeaderRule(_RequestRule):
    """Ignore one header when recorded responses are matched."""

    kind: Literal["header"] = "header"
    name: str = Field(min_length=1)
    """In upper or lower case."""


class FormFieldRule(_ValueRule):
    """Ignore the values of one form field, urlencoded or multipart."""

    kind: Literal["form_field"] = "form_field"
    name: str = Field(min_length=1)


class ResponseValueRule(_RequestRule):
    """A value that the server draws, such as the id of a new record.

    In a replay with other responses than the recorded ones, the value that the group of the pattern has in a response
    stands for the one that it has in the recorded response, wherever pages show or send it; with a `path`, only there,
    and only if a recorded request after the response has it there. In an exported test, it may be any that the group
    matches.
    """

    kind: Literal["response_value"] = "response_value"
    pattern: str = Field(min_length=1)
    """Regular expression with one group, searched in the body of a response."""
    path: str | None = Field(default=None, pattern=r"^(/[^/?#*]+)+/\*$")
    """Path of URLs in which the value is the segment `*`, such as `/items/*`: for short numbers, which occur by chance
    elsewhere. Null for any place."""

    @field_validator("pattern")
    @classmethod
    def _check_pattern(cls, pattern: str) -> str:
        if re.compile(checked_pattern(pattern)).groups != 1:
            message = f"expected a regular expression with one group, got {pattern!r}"
            raise ValueError(message)
        return pattern

    @property
    def value_pattern(self) -> str:
        """Regular expression of the value alone, with its flags."""
        return next(_captured(self.pattern))


_GROUP_TOKEN: Final = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?#[^)]*\)|\(\?[aiLmsux]+\)|(?P<comment>#[^\n]*)"
    r"|(?P<group>\((?!\?)|\(\?P<\w+>)|(?P<other>\(\?(?:(?P<on>[aimsux]*)(?:-(?P<off>[imsx]+))?:|\(\w+\))?)|(?P<end>\))",
    re.DOTALL,
)
"""An escape, a class of characters, a comment, flags, or the begin or end of a group, capturing or not."""
_FLAGS: Final = {"a": re.ASCII, "i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}


def _captured(pattern: str) -> Iterator[str]:
    """Yield the sources of the capturing groups of a regular expression, with flags, in the order of their ends."""
    given = re.compile(pattern).flags
    flags = {letter for letter, flag in _FLAGS.items() if given & flag}
    begins: list[tuple[int | None, set[str]]] = []
    place = 0
    while (found := _GROUP_TOKEN.search(pattern, place)) is not None:
        place = found.end()
        if found["comment"] is not None and "x" not in flags:
            place = found.start() + 1
        elif found["group"] is not None:
            begins.append((found.end(), flags))
        elif found["other"] is not None:
            begins.append((None, flags))
            flags = (flags | set(found["on"] or "")) - set(found["off"] or "") - {"u"}
        elif found["end"] is not None:
            begin, flags = begins.pop()
            if begin is not None:
                source = pattern[begin : found.start()]
                yield f"(?{''.join(sorted(flags))}:{source})" if flags else source


class TelemetryRule(_RequestRule):
    """Do not compare requests with which a page only reports, such as those of analytics and error trackers.

    They get a recorded response to their URL, whatever else they contain, and however often and when they are sent.
    """

    kind: Literal["telemetry"] = "telemetry"


VolatileRule: TypeAlias = Annotated[
    QueryKeyRule
    | QueryStampRule
    | JsonPathRule
    | TimestampRule
    | HeaderRule
    | FormFieldRule
    | PathSegmentRule
    | ResponseValueRule
    | TelemetryRule,
    Field(discriminator="kind"),
]


def describe_rule(rule: VolatileRule) -> str:
    """Describe in a few words what a rule ignores, and where."""
    where = rule.url if rule.method is None else f"{rule.method} {rule.url}"
    return describe_rule_part(rule) if where == "*" else f"{describe_rule_part(rule)} of {where}"


def describe_rule_part(rule: VolatileRule) -> str:  # noqa: PLR0911 - one return per rule type
    """Describe the part of a request that a rule ignores."""
    match rule:
        case QueryKeyRule():
            return f"query {rule.name}"
        case PathSegmentRule():
            return f"segment {rule.position + 1} of the path"
        case QueryStampRule():
            return "query of a bare number"
        case JsonPathRule():
            return f"body {rule.path}"
        case TimestampRule():
            return "times in the body"
        case HeaderRule():
            return f"header {rule.name.lower()}"
        case FormFieldRule():
            return f"form field {rule.name}"
        case ResponseValueRule():
            where = "" if rule.path is None else f", and {rule.path} in paths"
            return f"value {_text_before(rule.pattern) or rule.pattern} in responses{where}"
        case TelemetryRule():
            return "query and body"
        case _:
            assert_never(rule)


def _text_before(pattern: str) -> str:
    """Describe the place of a value by the literal text before it; empty if that is a pattern."""
    before = re.split(r"(?<!\\)\(", pattern, maxsplit=1)[0]
    text = re.sub(r"\\(.)", r"\1", before, flags=re.DOTALL)
    shown = text.rpartition(">")[2].lstrip() or text.lstrip()
    return f"after {shown!r}" if shown and re.escape(text) == before else ""
