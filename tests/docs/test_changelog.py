"""CHANGELOG.md is ready for the next release: only its date is to be set."""

from __future__ import annotations

import re
import tomllib

from tests.architecture.sources import PROJECT

VERSION = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (.+)$", re.MULTILINE)
SECTION = re.compile(r"^## \[(.+?)\]", re.MULTILINE)
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_version_of_the_package_is_the_next_one() -> None:
    """Below `Unreleased`, the first section is the version of pyproject.toml, without a date or with one."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")

    (version, date), *_ = VERSION.findall(text)

    assert SECTION.findall(text)[:2] == ["Unreleased", version]
    assert version == project["version"]
    assert re.fullmatch(r"unreleased|\d{4}-\d\d-\d\d", date)


def test_sections_have_the_names_of_keep_a_changelog() -> None:
    """Each section within a version is a kind of change."""
    text = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= KINDS
