from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from pydantic import JsonValue

from eikon_engine.errors import RequirementError, YamlError
from eikon_engine.gates import parse_gates, read_gates_file
from eikon_engine.gates.reading import GATE_NAMES, GATE_TYPES
from tests.error_codes import has_code
from tests.outcome.event_values import END, START, answer, lines

EVERY = """\
gates:
  max_tool_calls: [{limit: 5}, {limit: 1, tool: web_fetch}]
  max_actions: 20
  max_duration: 30s
  max_completions: 3
  max_tokens: 1000
  no_console_errors: true
  no_failed_requests: true
  allowed_hosts: [shop.test, "*.cdn.test:443"]
  expect_status: 200
  max_divergences: 0
  output_matches:
    skill: extract_table
    schema: {type: object, properties: {rows: {$ref: "#/$defs/rows"}}, $defs: {rows: {type: array}}}
  latency_ms: {limit: 250.5, of: tool}
"""


def test_every_gate_is_read(tmp_path: Path) -> None:
    """Every type of gate can be read from a file."""
    path = tmp_path / "gates.yaml"
    path.write_text(EVERY)

    gates = read_gates_file(path).gates

    assert sorted({gate.gate for gate in gates}) == list(GATE_NAMES)
    assert len(gates) == 13


def test_the_page_about_gates_is_true(tmp_path: Path) -> None:
    """The example of the page is valid, and each gate has a section that names all its fields."""
    page = (Path(__file__).parents[2] / "docs" / "gates.md").read_text()
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "gates.yaml").write_text(example)

    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##)", page, re.MULTILINE | re.DOTALL))

    assert len(read_gates_file(tmp_path / "gates.yaml").gates) == 7
    assert sorted(sections) == list(GATE_NAMES)
    for name, kind in GATE_TYPES.items():
        fields = {field.alias or key for key, field in kind.model_fields.items()} - {"gate"}
        unnamed = [field for field in fields if f"`{field}`" not in sections[name]]
        assert name.startswith("no_") or unnamed == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gates:\n  max_tool_call: 3\n", "line 2, column 3: gates.max_tool_call: expected the name of a gate"),
        (
            "gates:\n  max_tool_calls: -1\n",
            "line 2, column 19: gates.max_tool_calls: expected 0 or more",
        ),
        (
            "gates:\n  max_tool_calls: yes\n",
            "line 2, column 19: gates.max_tool_calls: expected a whole number, got the",
        ),
        ("gates:\n  max_actions: 1.5\n", "line 2, column 16: gates.max_actions: expected a whole number"),
        (
            "gates:\n  max_actions: {limit: 1, tool: x}\n",
            "line 2, column 27: gates.max_actions.tool: this field is unknown",
        ),
        (
            "gates:\n  max_tool_calls:\n    - limit: 1\n    - limit: x\n",
            "line 4, column 14: gates.max_tool_calls[1].limit",
        ),
        ("gates:\n  max_duration: 30 sec\n", "line 2, column 17: gates.max_duration: expected seconds"),
        ("gates:\n  no_console_errors: false\n", "line 2, column 22: gates.no_console_errors: expected"),
        ("gates:\n  allowed_hosts: ['https://a.test']\n", "line 2, column 19: gates.allowed_hosts[0]: expected HOST"),
        ("gates:\n  allowed_hosts: []\n", "line 2, column 18: gates.allowed_hosts: expected"),
        ("gates:\n  expect_status: 99\n", "line 2, column 18: gates.expect_status: expected"),
        (
            "gates:\n  output_matches: {schema: {}}\n",
            "line 2, column 19: gates.output_matches: expected either a skill or a tool",
        ),
        ("gates:\n  output_matches: {tool: x, schema: {type: rows}}\n", "schema: $.type: 'rows' is not valid"),
        ("gates:\n  output_matches: {tool: x, schema: {$ref: 'http://a.test/s'}}\n", "got 'http://a.test/s'"),
        ("gates:\n  output_matches: {tool: x, schema: {$ref: '#/$defs/y'}}\n", "unresolved reference '#/$defs/y'"),
        ("gates:\n  output_matches: {tool: x, schema: {$schema: 'http://a.test/s'}}\n", "a known draft of JSON Schema"),
        ("gates:\n  output_matches: {tool: x, schema: {$schema: {}}}\n", "a known draft of JSON Schema"),
        ("gates:\n  output_matches: {tool: x, schema: {pattern: '('}}\n", "schema: $.pattern"),
        ("gates:\n  max_actions: {gate: max_tokens, limit: 1}\n", "line 2, column 17: gates.max_actions.gate"),
        ("gates:\n", "line 2, column 1: gates: expected a mapping of gates by name, got null"),
        ("gates: {}\n", "line 1, column 8: gates: expected at least one gate"),
        ("max_actions: 3\n", "line 1, column 1: max_actions: expected the key gates"),
        ("- max_actions\n", "line 1, column 1: expected a mapping with the key gates"),
        ("", "expected a mapping with the key gates, got null"),
        ("{}", "gates: expected a mapping of gates by name, got null"),
    ],
)
def test_an_invalid_gate_is_one_line_with_its_position(tmp_path: Path, text: str, message: str) -> None:
    """Unknown gates, unknown fields and impossible limits are reported with line and column."""
    path = tmp_path / "gates.yaml"
    path.write_text(text)

    with pytest.raises(YamlError, check=has_code("gates")) as caught:
        read_gates_file(path)

    assert caught.value.message.startswith(f"{path}: ")
    assert message in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("name", ["max_tool_call", "console_errors", "hosts", "", "x"])
def test_the_nearest_name_is_suggested(name: str) -> None:
    """For any misspelled name, one gate is suggested."""
    with pytest.raises(YamlError, match=r"^gates: .*; did you mean \w+\?$", check=has_code("gates")):
        parse_gates({name: 1})


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    """The path is named."""
    with pytest.raises(YamlError, match=r"nowhere\.yaml: cannot read the file"):
        read_gates_file(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize(
    ("library", "gates"),
    [
        ("ruamel.yaml", "gates: {max_actions: 1}"),
        ("jsonschema.validators", "gates: {output_matches: {tool: x, schema: {}}}"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, gates: str
) -> None:
    """The message names the extra that installs it."""
    (tmp_path / "gates.yaml").write_text(gates)
    monkeypatch.setitem(sys.modules, library, None)

    with pytest.raises(RequirementError, match=r"run pip install .*\[scenario\]"):
        read_gates_file(tmp_path / "gates.yaml")


def test_a_schema_selects_its_draft() -> None:
    """Draft 7 has lists of schemas under `items`, draft 2020-12 does not."""
    schema: JsonValue = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}
    gates = parse_gates({"output_matches": {"tool": "web_fetch", "schema": schema}})

    (fits,) = gates.evaluate(lines(START, answer(result=["x", 1]), END))
    (other,) = gates.evaluate(lines(START, answer(result=[1]), END))

    assert (fits.passed, other.passed) == (True, False)


def test_a_schema_that_never_ends_fails_as_such() -> None:
    """A circular reference is reported when a value is checked."""
    schema: JsonValue = {"$ref": "#"}
    gates = parse_gates({"output_matches": {"tool": "web_fetch", "schema": schema}})

    (result,) = gates.evaluate(lines(START, answer(), END))

    assert result.passed is False
    assert "without end" in result.message
