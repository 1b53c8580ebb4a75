"""Readers of settings and of arguments: YAML, TOML, selectors, URLs, patterns, option values."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from benchmarks.fuzz.of_bundles import FAILING, SNAPSHOT
from benchmarks.fuzz.target import Target, read_each, text_of, words_of, write_input
from eikon_engine.cli.record_interactive import parse_viewport
from eikon_engine.cli.skill_input import parse_parameters
from eikon_engine.divergence.masks import select_nodes
from eikon_engine.divergence.present_times import find_dates, find_elapsed
from eikon_engine.dom.css import CssSelector
from eikon_engine.dom.digest import snapshot_from_json
from eikon_engine.files.models import DeferredAdapter
from eikon_engine.files.origins import host_and_port, is_public_host, parse_origin, url_origin, url_scheme
from eikon_engine.files.yaml import read_yaml
from eikon_engine.fix.analysis.normalize import RunPaths, normalize
from eikon_engine.gates import read_gates_file
from eikon_engine.importers import selectors
from eikon_engine.importers.selenium_ide import parse_keys
from eikon_engine.network.keys import canonical_request
from eikon_engine.network.rules import blank_request, blank_socket_url
from eikon_engine.outcome.event_filter import parse_filters
from eikon_engine.record.compare_deployments import parse_deployment
from eikon_engine.redact.scan import parse_allow_rules
from eikon_engine.repair.options import parse_against
from eikon_engine.repair.selectors import find_matches
from eikon_engine.replay.ignore_file import read_ignore_file
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.scenario.check import check_scenario
from eikon_engine.scenario.model import read_scenario
from eikon_engine.secrets.environment import assignments_in, hide_tokens
from eikon_engine.secrets.redaction import Redactor
from eikon_engine.secrets.sources import collect_bound_secrets
from eikon_engine.skills import default_skills
from eikon_engine.skills.dates import find_dates as find_written_dates
from eikon_engine.skills.money import find_money
from eikon_engine.suite.configuration import read_configuration
from eikon_engine.suite.suite_file import choose_suite
from eikon_engine.trace.base_urls import build_url_map, parse_base_url, parse_base_url_rules
from eikon_engine.trace.edit_arguments import parse_action, parse_declarations, parse_field_edits
from eikon_engine.trace.playwright_calls import CallContext, UnsupportedCallError, convert_call
from eikon_engine.trace.rules import VolatileRule, describe_rule
from eikon_engine.trace.trace_file import read_trace
from eikon_engine.trace.variables import parse_variables
from eikon_engine.triage.signature import normalize_key, normalize_text

if TYPE_CHECKING:
    from pathlib import Path

_SKILLS: Final = default_skills()
_TABLE: Final = _SKILLS.get("extract_table")
_PAGE: Final = snapshot_from_json(SNAPSHOT)


def _yaml(data: bytes, _folder: Path) -> None:
    read_yaml(data.decode("utf-8", "replace"), "a.yaml")


def _gates(data: bytes, folder: Path) -> None:
    read_gates_file(write_input(folder / "gates.yaml", data))


def _scenario(data: bytes, folder: Path) -> None:
    check_scenario(read_scenario(write_input(folder / "a.yaml", data)), None, lambda: _SKILLS)


def _suite_file(data: bytes, folder: Path) -> None:
    choose_suite([write_input(folder / "suite.yaml", data)])


def _configuration(data: bytes, folder: Path) -> None:
    configuration = read_configuration(write_input(folder / "eikon.toml", data))
    configuration.settings_for(folder / "checkout" / "a")


def _masks(data: bytes, folder: Path) -> None:
    masks = read_ignore_file(write_input(folder / "masks.toml", data))
    tuple(select_nodes(_PAGE.frames[0].root, masks))
    for each in masks:
        each.applies_to("http://shop.test/a")


def _allow_rules(data: bytes, _folder: Path) -> None:
    parse_allow_rules(data.decode("utf-8", "replace"), "allow.txt")


def _secrets(data: bytes, _folder: Path) -> None:
    found = collect_bound_secrets(text_of(data).split("\n"), None, {})
    redactor = Redactor(found.values)
    redactor.redact_text("a")
    redactor.restore_bytes(redactor.redact_bytes(b"a"))


def _secret_file(data: bytes, folder: Path) -> None:
    Redactor(collect_bound_secrets((), write_input(folder / "secrets.txt", data), {}).values)


def _variables(data: bytes, _folder: Path) -> None:
    texts = text_of(data).split("\n")
    read_each(lambda: parse_declarations(texts, "r"), lambda: parse_variables(texts))


def _url(data: bytes, _folder: Path) -> None:
    text = text_of(data)
    url_scheme(text)
    origin = url_origin(text)
    if origin:
        is_public_host(host_and_port(origin)[0])
    is_public_host(text)
    canonical_request("GET", text, None, None)
    blank_socket_url(text, ())
    normalize_key(f"GET {text} 0123")
    parse_origin(text, "--secret")


def _base_urls(data: bytes, _folder: Path) -> None:
    texts = text_of(data).split("\n")
    read_each(
        lambda: build_url_map(parse_base_url_rules(texts)).to_new.replace_text(
            "http://127.0.0.1:8642/a?b=http%3A%2F%2F"
        ),
        lambda: ReplayOptions(base_urls=parse_base_url_rules(texts)),
        lambda: parse_base_url(texts[0]),
    )


def _deployment(data: bytes, folder: Path) -> None:
    parse_deployment(read_trace(folder), text_of(data).split("\n"), "--base")


def _selector(data: bytes, _folder: Path) -> None:
    text = text_of(data)
    read_each(
        lambda: find_matches(_PAGE.frames[0], text),
        lambda: _act_on(text),
        lambda: CssSelector(text),
        lambda: selectors.css(text),
        lambda: selectors.xpath(text),
        lambda: tuple(parse_keys(text)),
    )


def _act_on(selector: str) -> None:
    """Read the selector of a call of an agent, or of a trace of Playwright."""
    with suppress(UnsupportedCallError):
        convert_call("Frame.click", {"selector": selector}, CallContext())


def _field_edits(data: bytes, folder: Path) -> None:
    trace = read_trace(folder)
    step = trace.subgoal_traces[0].actions_taken[0].id
    parse_field_edits(trace, step, words_of(data), same_element=False, reason="r")


def _action(data: bytes, _folder: Path) -> None:
    parse_action(text_of(data))


def _filters(data: bytes, _folder: Path) -> None:
    parse_filters(text_of(data).split("\n"))


def _viewport(data: bytes, _folder: Path) -> None:
    parse_viewport(text_of(data))


def _against(data: bytes, _folder: Path) -> None:
    parse_against(text_of(data))


def _parameters(data: bytes, _folder: Path) -> None:
    parse_parameters(text_of(data).split("\n"), _TABLE.parameters)


def _command_line(data: bytes, _folder: Path) -> None:
    text = text_of(data)
    tuple(assignments_in(text))
    hide_tokens(text)


def _recorded_text(data: bytes, folder: Path) -> None:
    """Read a text of a page, an error or a test run, in which values are found."""
    text = data.decode("utf-8", "replace")
    normalize_text(text)
    normalize_key(text)
    find_dates(text)
    find_elapsed(text)
    tuple(find_written_dates(text))
    tuple(find_money(text, "de", None))
    tuple(find_money(text, None, "EUR"))
    normalize(text, RunPaths(tree=folder, cwd=folder))


def _rule(data: bytes, _folder: Path) -> None:
    """Read a rule of a trace, and apply it."""
    try:
        rule = _RULES.validate_json(data)
    except ValidationError:
        return
    describe_rule(rule)
    blank_socket_url("ws://a.test/a/b?a=1", (rule,))
    for body, media_type in (
        (b'{"a":[{"b":1}]}', "application/json"),
        (b"a=1&b=2", "application/x-www-form-urlencoded"),
    ):
        blank_request(canonical_request("POST", "http://a.test/a/b?a=1", body, media_type), (rule,))


_BODIES: Final = ((b'{"a":[{"b":1}]}', "application/json"), (b"a=1&b=2", "application/x-www-form-urlencoded"))
_RULES: Final = DeferredAdapter[VolatileRule](VolatileRule)

TARGETS: Final = {
    "yaml": Target(form="text", read=_yaml, samples=("scenarios/*.yaml",)),
    "gates": Target(form="text", read=_gates),
    "scenario": Target(form="text", read=_scenario, samples=("scenarios/*.yaml",)),
    "suite-file": Target(form="text", read=_suite_file),
    "configuration": Target(form="text", read=_configuration),
    "masks": Target(form="text", read=_masks),
    "allow-rules": Target(form="text", read=_allow_rules),
    "secrets": Target(form="text", read=_secrets),
    "secret-file": Target(form="text", read=_secret_file, samples=("tests/data/fuzz/secrets/*",)),
    "variables": Target(form="text", read=_variables),
    "url": Target(form="text", read=_url),
    "base-urls": Target(form="text", read=_base_urls),
    "deployment": Target(form="text", read=_deployment, beside=FAILING),
    "selector": Target(form="text", read=_selector),
    "field-edits": Target(form="text", read=_field_edits, beside=FAILING),
    "action": Target(form="json", read=_action),
    "event-filters": Target(form="text", read=_filters),
    "viewport": Target(form="text", read=_viewport),
    "repair-against": Target(form="text", read=_against),
    "skill-parameters": Target(form="text", read=_parameters),
    "command-line": Target(form="text", read=_command_line),
    "recorded-text": Target(form="text", read=_recorded_text),
    "rule": Target(form="json", read=_rule),
}
"""By name."""
