"""What the package depends on; `scripts/check_supply_chain` checks the rest, with a network."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.metadata import distribution
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType

import pytest

from tests.architecture.sources import PROJECT

STATED = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CORE = [re.split(r"[\[>]", each)[0] for each in STATED["dependencies"]]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Load the script, which has no suffix."""
    loader = SourceFileLoader("check_supply_chain", str(PROJECT / "scripts" / "check_supply_chain"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


def test_each_dependency_states_the_lowest_version() -> None:
    """Otherwise no test says which versions work."""
    listed = [*STATED["dependencies"], *(each for some in STATED["optional-dependencies"].values() for each in some)]

    assert [each for each in listed if ">=" not in each and not each.startswith("eikon-engine[")] == []


@pytest.mark.parametrize("name", CORE)
def test_the_licences_of_the_core_are_listed(script: ModuleType, name: str) -> None:
    """What everyone installs may be used by everyone."""
    assert script.is_allowed(distribution(name)), script.licence_of(distribution(name))


@pytest.mark.parametrize(
    "licence", ["GPL-3.0-only", "GNU Affero General Public License v3", "no licence stated", "MIT AND GPL-2.0"]
)
def test_other_licences_are_refused(script: ModuleType, licence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also as one part of several."""
    monkeypatch.setattr(script, "licence_of", lambda _: licence)

    assert not script.is_allowed(None)


def test_archives_with_other_files_are_refused(script: ModuleType) -> None:
    """Missing and stray ones are named."""
    script.require_equal("wheel", {"a"}, {"a"})
    with pytest.raises(script.CheckFailedError, match=r"wheel: missing \['b'\] \(1\), stray \['a'\] \(1\)"):
        script.require_equal("wheel", {"a"}, {"b"})
