"""Rules about parts of requests that change from run to run, so that a replay may look past them."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, assert_never

from pydantic import Field

from eikon_engine.trace.record import Record


class _Rule(Record):
    """What every rule says."""

    kind: str
    url: str = Field(default="*", pattern=r"^[^?#]+$")
    """URLs it holds for, without query and fragment; `*` stands for any characters, also for `/`."""
    method: str | None = Field(default=None, min_length=1)
    """Method it holds for; `WEBSOCKET` is that of sockets and their messages; null for every method."""
    reason: str = Field(min_length=1)
    """Why the part may change without meaning anything; shown in reports."""


class QueryKeyRule(_Rule):
    """The values of one name in the query are not compared."""

    kind: Literal["query_key"] = "query_key"
    name: str = Field(min_length=1)
    """As the page means it, not percent-encoded."""


class QueryStampRule(_Rule):
    """A part of the query that is nothing but a number, as the time in `?1700000000000`, is not compared."""

    kind: Literal["query_stamp"] = "query_stamp"


class JsonPathRule(_Rule):
    """The values at one place of a JSON body, or of a message of a socket, are not compared."""

    kind: Literal["json_path"] = "json_path"
    path: str = Field(pattern=r'^\$(\.[^.\[\]"]+|\[[0-9]+\]|\[\*\]|\["[^"\\]+"\])+$')
    """Such as `$.meta.sent_at`, `$.events[*].id`, `$.byUser.*.seen`, `$["two words"]`."""


class TimestampRule(_Rule):
    """Times in a body, or in a message of a socket, text or binary, are not compared: ISO 8601 with date and time."""

    kind: Literal["timestamp"] = "timestamp"


class HeaderRule(_Rule):
    """One header does not decide between recorded answers."""

    kind: Literal["header"] = "header"
    name: str = Field(min_length=1)
    """In upper or lower case."""


class FormFieldRule(_Rule):
    """The values of one field of a form are not compared, urlencoded or multipart."""

    kind: Literal["form_field"] = "form_field"
    name: str = Field(min_length=1)


VolatileRule: TypeAlias = Annotated[
    QueryKeyRule | QueryStampRule | JsonPathRule | TimestampRule | HeaderRule | FormFieldRule,
    Field(discriminator="kind"),
]


def describe(rule: VolatileRule) -> str:
    """Say in a few words what a rule leaves out, and where."""
    where = rule.url if rule.method is None else f"{rule.method} {rule.url}"
    return part(rule) if where == "*" else f"{part(rule)} of {where}"


def part(rule: VolatileRule) -> str:
    """Name the part of a request that a rule leaves out."""
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
