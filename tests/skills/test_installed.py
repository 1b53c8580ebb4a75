"""Skills of installed distributions: found by their metadata, imported on first use."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from eikon_engine.errors import RequirementError, SkillBrokenError, SkillError
from eikon_engine.skills import SkillInput, default_skills
from tests.error_codes import has_code

GOOD = """
    from eikon_engine.skills import Output, Parameters, TypedSkill

    class Nothing(Parameters):
        "Take none."

    class Count(Output):
        count: int

    class CountLinks(TypedSkill[Nothing, Count]):
        name = "count_links"
        version = 3
        description = "Count the links of a page."
        parameters = Nothing
        output = Count

        def analyze(self, document, parameters):
            return Count(count=len(document.tree.css("a[href]")))
"""
PAGE = SkillInput(html="<a href=x>x</a>", url="https://site.example/")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of installed distributions that is on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def install(site: Path, distribution: str, entries: str, source: str, version: str = "1.2") -> None:
    """Write a distribution as an installer does: its module and its metadata."""
    module = distribution.replace("-", "_")
    (site / f"{module}.py").write_text(dedent(source), encoding="utf-8")
    info = site / f"{module}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[eikon_engine.skills]\n{entries}\n")
    sys.modules.pop(module, None)


def test_an_installed_skill_is_known_by_its_name(site: Path) -> None:
    """It is listed with the built-in ones, shows its distribution, and runs."""
    install(site, "good-skills", "count_links = good_skills:CountLinks", GOOD)

    registry = default_skills()
    skill = registry.get("count_links")

    assert "count_links" in registry.names
    assert (skill.version, getattr(skill, "origin", "")) == (3, "good-skills 1.2")
    assert skill.run(PAGE) == {"count": 1}
    assert registry.errors == ()


@pytest.mark.parametrize(
    ("source", "entry", "told"),
    [
        ("import nowhere_to_be_found", "count_links = M:CountLinks", "No module named 'nowhere_to_be_found'"),
        ("", "count_links = M:CountLinks", "has no attribute 'CountLinks'"),
        ("1 / 0", "count_links = M:CountLinks", "ZeroDivisionError"),
        ("def (", "count_links = M:CountLinks", "SyntaxError"),
        (GOOD.replace("version = 3", "version = '3'"), "count_links = M:CountLinks", "expected a positive integer"),
        (GOOD.replace("version = 3", ""), "count_links = M:CountLinks", "got None"),
        (GOOD.replace("parameters = Nothing", ""), "count_links = M:CountLinks", "model as its parameters"),
        ("raise SystemExit(0)", "count_links = M:CountLinks", ": SystemExit: 0"),
        (GOOD.replace("output = Count", "output = dict"), "count_links = M:CountLinks", "model as its output"),
        (GOOD.replace("of a page.", "\\nof a page."), "count_links = M:CountLinks", "expected a one-line description"),
        (GOOD, "other_name = M:CountLinks", "expected the name 'other_name' of its entry point, got 'count_links'"),
    ],
)
def test_a_broken_skill_names_its_distribution_and_stops_nothing_else(
    site: Path, source: str, entry: str, told: str
) -> None:
    """Requested by name, it is an error of one line; other skills are unaffected."""
    install(site, "broken-skills", entry.replace("M", "broken_skills"), source)
    name = entry.partition(" ")[0]
    registry = default_skills()

    with pytest.raises(SkillBrokenError) as raised:
        registry.get(name)

    assert told in raised.value.message
    assert "broken-skills 1.2" in raised.value.message
    assert "\n" not in raised.value.message
    assert registry.errors == (raised.value.message,)
    assert registry.get("extract_table").name == "extract_table"
    assert name not in [skill.name for skill in registry]


def test_the_example_of_the_documents_is_a_skill(site: Path) -> None:
    """The Python code of docs/skills.md, installed as described there, is found and runs."""
    page = (Path(__file__).parents[2] / "docs" / "skills.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (entry,) = re.findall(r'skills"\]\n(.*) = "(.*)"\n', page)
    install(site, "heading-skills", " = ".join(entry), source)

    skill = default_skills().get("extract_headings")
    given = SkillInput(html="<h1>A</h1><h2>B</h2>", url="", parameters={"level": 2})

    assert skill.run(given) == {"texts": ["B"]}


def test_two_distributions_with_one_name_are_both_refused(site: Path) -> None:
    """An ambiguous name is an error."""
    install(site, "first-skills", "count_links = first_skills:CountLinks", GOOD)
    install(site, "second-skills", "count_links = second_skills:CountLinks", GOOD)

    with pytest.raises(
        SkillBrokenError, match=r"distributions: first-skills 1\.2 and second-skills 1\.2\. Uninstall all but one"
    ):
        default_skills().get("count_links")


def test_a_built_in_name_stays_what_it_is(site: Path) -> None:
    """A distribution cannot replace a built-in skill, and the attempt is reported."""
    install(site, "bold-skills", "extract_table = bold_skills:CountLinks", GOOD)

    registry = default_skills()

    assert type(registry.get("extract_table")).__module__ == "eikon_engine.skills.extract_table"
    assert "skill 'extract_table' of bold-skills 1.2: the name is already registered" in registry.errors[0]


def test_unreadable_entry_points_are_reported(site: Path) -> None:
    """Invalid metadata affects only its own distribution."""
    install(site, "odd-skills", "count_links", GOOD)

    registry = default_skills()

    assert registry.errors == ("odd-skills 1.2: its entry points for skills cannot be read. Reinstall it.",)
    with pytest.raises(RequirementError, check=has_code("unknown-skill")):
        registry.get("count_links")


def test_the_first_version_on_the_path_counts(site: Path) -> None:
    """Another version of a distribution, later on the path, is not imported and does not count."""
    (site / "later").mkdir()
    install(site / "later", "good-skills", "count_links = good_skills:CountLinks", GOOD, version="0.9")
    install(site, "good-skills", "count_links = good_skills:CountLinks", GOOD)
    sys.path.append(str(site / "later"))
    try:
        assert getattr(default_skills().get("count_links"), "origin", "") == "good-skills 1.2"
    finally:
        sys.path.remove(str(site / "later"))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise SystemExit(0)", "raised SystemExit: 0 (run, line"),
        ("return [][0]", "raised IndexError: list index out of range (run, line"),
        ("return {'count': 'many'}", "count: Input should be a valid integer"),
        ("return {'count': {1}}", "expected a JSON value, got set"),
        ("return {'count': chr(0xD800)}", "surrogates not allowed"),
    ],
)
def test_what_a_foreign_skill_does_wrong_is_a_skill_error(site: Path, body: str, told: str) -> None:
    """An exception ends only the skill's run; an output that does not fit its model is refused."""
    source = GOOD + f"\n        def run(self, page):\n            {body}\n"
    install(site, "good-skills", "count_links = good_skills:CountLinks", source)

    with pytest.raises(SkillError) as raised:
        default_skills().get("count_links").run(PAGE)

    assert told in raised.value.message
    assert "good-skills 1.2" in raised.value.message
