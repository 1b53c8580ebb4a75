"""Rules for parts of requests that vary between runs and are ignored when a replay matches requests."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, assert_never

from pydantic import Field

from eikon_engine.files.models import FileModel


class _RequestRule(FileModel):
    """Fields that all rules share."""

    kind: str
    url: str = Field(default="*", pattern=r"^[^?#]+$")
    """URLs it applies to, without query and fragment; `*` matches any characters, including `/`."""
    method: str | None = Field(default=None, min_length=1)
    """Method it applies to, `WEBSOCKET` for sockets and their messages; null for every method."""
    reason: str = Field(min_length=1)
    """Why the part may vary; shown in reports."""


class QueryKeyRule(_RequestRule):
    """Ignore the values of one query parameter."""

    kind: Literal["query_key"] = "query_key"
    name: str = Field(min_length=1)
    """Decoded, not percent-encoded."""


class QueryStampRule(_RequestRule):
    """Ignore a part of the query that is only a number, such as the time in `?1700000000000`."""

    kind: Literal["query_stamp"] = "query_stamp"


class JsonPathRule(_RequestRule):
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


class FormFieldRule(_RequestRule):
    """Ignore the values of one form field, urlencoded or multipart."""

    kind: Literal["form_field"] = "form_field"
    name: str = Field(min_length=1)


VolatileRule: TypeAlias = Annotated[
    QueryKeyRule | QueryStampRule | JsonPathRule | TimestampRule | HeaderRule | FormFieldRule,
    Field(discriminator="kind"),
]


def describe_rule(rule: VolatileRule) -> str:
    """Describe in a few words what a rule ignores, and where."""
    where = rule.url if rule.method is None else f"{rule.method} {rule.url}"
    return describe_rule_part(rule) if where == "*" else f"{describe_rule_part(rule)} of {where}"


def describe_rule_part(rule: VolatileRule) -> str:
    """Describe the part of a request that a rule ignores."""
    match rule:
        case QueryKeyRule():
            return f"query {rule.name}"
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
        case _:
            assert_never(rule)
