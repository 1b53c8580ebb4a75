"""The configuration of a project: its search, its errors, patterns and what wins."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine import suite
from eikon_engine.errors import RequirementError, UsageError
from eikon_engine.suite import Configuration, SecretSource, find_configuration, read_configuration
from eikon_engine.suite.configuration import BundleTable, ConfigurationTables, EnvironmentTable, ReplaySettings
from eikon_engine.suite.configuration_search import find_own_configuration

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = "hunter2-hunter2"
WHOLE = """
artifacts_dir = "out"
[replay]
network = "sealed"
timeout = 30
headless = true
ignore = "masks.toml"
[replay.base_urls]
"https://shop.example" = "http://localhost:3000"
"https://pay.example" = "http://localhost:3001"
[replay.variables]
user = "ada"
[replay.secrets]
PASSWORD = { env = "SHOP_PASSWORD" }
TOKEN = { file = "token.txt" }
[env.staging.replay]
network = "live"
[env.staging.replay.base_urls]
"https://shop.example" = "https://staging.example"
[[bundles]]
match = ["checkout/**", "login"]
tags = ["checkout", "slow"]
[bundles.replay]
policy = "strict"
headless = false
[[bundles]]
tag = "slow"
tags = "night"
[bundles.replay]
timeout = 120
[[quarantine]]
mission = "buy"
reason = "the shop is rebuilt"
until = 2026-12-31
"""


@pytest.fixture
def configure(tmp_path: Path) -> Callable[[str], Configuration]:
    """Return a function that writes a configuration and reads it."""

    def write(text: str, name: str = "eikon.toml") -> Configuration:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return read_configuration(tmp_path / name)

    return write


def is_matched(pattern: str, path: str) -> bool:
    """Return whether a table with a pattern is for a bundle."""
    return BundleTable(match=(pattern,)).is_for(path, frozenset())


def test_every_public_name_can_be_imported() -> None:
    """The package imports its names on first use."""
    assert all(getattr(suite, name) is not None for name in suite.__all__)


def test_settings_of_later_tables_win(configure: Callable[[str], Configuration], tmp_path: Path) -> None:
    """Defaults, [replay], the environment, then tables of bundles; mappings are merged, and all have an origin."""
    found = configure(WHOLE).settings_for(tmp_path / "checkout/deep/buy", "staging")

    assert found.replay.network == "live"
    assert found.replay.timeout == 120
    assert (found.replay.headless, found.replay.policy, found.replay.on_divergence) == (False, "strict", None)
    assert found.replay.base_urls == {
        "https://shop.example": "https://staging.example",
        "https://pay.example": "http://localhost:3001",
    }
    assert found.tags == {"checkout", "slow", "night"}
    assert found.artifacts_dir == tmp_path / "out"
    assert found.replay.ignore == str(tmp_path / "masks.toml")
    assert found.replay.secrets["TOKEN"] == SecretSource(file=str(tmp_path / "token.txt"))
    assert found.origins == {
        "artifacts_dir": "eikon.toml",
        "network": "eikon.toml [env.staging.replay]",
        "timeout": "eikon.toml [[bundles]] 2, [bundles.replay]",
        "headless": "eikon.toml [[bundles]] 1, [bundles.replay]",
        "policy": "eikon.toml [[bundles]] 1, [bundles.replay]",
        "ignore": "eikon.toml [replay]",
        "base_urls.https://shop.example": "eikon.toml [env.staging.replay.base_urls]",
        "base_urls.https://pay.example": "eikon.toml [replay.base_urls]",
        "variables.user": "eikon.toml [replay.variables]",
        "secrets.PASSWORD": "eikon.toml [replay.secrets]",
        "secrets.TOKEN": "eikon.toml [replay.secrets]",
    }


def test_a_bundle_elsewhere_matches_no_pattern(configure: Callable[[str], Configuration], tmp_path: Path) -> None:
    """Outside the folder of the file, and without a bundle, only what holds for all is used."""
    configuration = configure(WHOLE.replace('["checkout/**", "login"]', '"**"'))

    for bundle in (tmp_path.parent / "checkout", tmp_path / "x/../../checkout", None):
        found = configuration.settings_for(bundle)
        assert (found.tags, found.replay.timeout, found.replay.network) == (frozenset(), 30, "sealed")
    assert configuration.settings_for(tmp_path / "x/trace.json").tags == {"checkout", "slow", "night"}
    assert configuration.tags_of(tmp_path / "x/trace.json") == {"checkout", "slow", "night"}


def test_a_bundle_is_matched_through_links(configure: Callable[[str], Configuration], tmp_path: Path) -> None:
    """A link to the project leads to the same settings; a linked bundle belongs to the project it is in."""
    configuration = configure(WHOLE)
    (tmp_path / "login").mkdir()
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)

    assert "slow" in configuration.settings_for(link / "login").tags


def test_a_trace_stands_for_its_folder(configure: Callable[[str], Configuration], tmp_path: Path) -> None:
    """The path of a bundle may be that of its trace.json."""
    configuration = configure('[[bundles]]\nmatch = "missions/?ogin"\ntags = "x"')

    assert configuration.settings_for(tmp_path / "missions/login/trace.json").tags == {"x"}


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("checkout", ["checkout", "checkout/a", "checkout/a/b"], ["checkout2", "a/checkout", ""]),
        ("checkout/**", ["checkout/a", "checkout/a/b"], ["x/checkout/a"]),
        ("**/login", ["login", "a/login", "a/b/login/c"], ["a/login2"]),
        ("a/**/z", ["a/z", "a/b/z", "a/b/c/z"], ["a", "a/b", "z"]),
        ("a*", ["a", "ab", "ab/c"], ["b/a"]),
        ("a?c/", ["abc", "abc/d"], ["ac", "a/c"]),
        ("a/*", ["a/b", "a/b/c"], ["a"]),
        ("x[1].y", ["x[1].y"], ["x1.y", "x[1]zy"]),
        (".", ["", "a", "a/b"], []),
        ("**", ["", "a", "a/b"], []),
    ],
)
def test_patterns_match_folders_and_what_is_below(pattern: str, matching: list[str], others: list[str]) -> None:
    """`**` is any number of folders, `*` and `?` stay within a name, brackets are text."""
    assert [path for path in matching if not is_matched(pattern, path)] == []
    assert [path for path in others if is_matched(pattern, path)] == []


NAMES = st.text("ab.[]-é", min_size=1, max_size=3).filter(lambda name: name not in {".", ".."})
PATHS = st.lists(NAMES, min_size=1, max_size=4)


@given(PATHS, st.lists(NAMES, max_size=2))
def test_a_path_is_a_pattern_for_itself_and_below(parts: list[str], below: list[str]) -> None:
    """Names without `*` and `?` have no other meaning."""
    assert is_matched("/".join(parts), "/".join([*parts, *below]))
    assert not is_matched("/".join([*parts, "x"]), "/".join(parts))


@given(PATHS, st.data())
def test_stars_replace_names(parts: list[str], data: st.DataObject) -> None:
    """Any names of a path may be `*`, and any run of names `**`."""
    starred = [data.draw(st.sampled_from([part, "*"])) for part in parts]
    start = data.draw(st.integers(0, len(parts)))
    stop = data.draw(st.integers(start, len(parts)))

    assert BundleTable.model_construct(match=("/".join(starred),)).is_for("/".join(parts), frozenset())
    pattern = "/".join([*starred[:start], "**", *starred[stop:]])
    assert BundleTable.model_construct(match=(pattern,)).is_for("/".join(parts), frozenset())


SETTINGS = st.builds(
    ReplaySettings,
    network=st.sampled_from([None, "sealed", "live"]),
    timeout=st.sampled_from([None, 1.0, 2.0]),
    headless=st.sampled_from([None, True, False]),
    variables=st.dictionaries(st.sampled_from("uvw"), st.sampled_from("12")),
)


@given(SETTINGS, SETTINGS, st.lists(SETTINGS, max_size=3))
def test_the_last_table_with_a_setting_wins(
    general: ReplaySettings, staging: ReplaySettings, bundles: list[ReplaySettings]
) -> None:
    """For each setting and each key of a mapping, whatever the others say."""
    tables = ConfigurationTables(
        replay=general,
        env={"staging": EnvironmentTable(replay=staging)},
        bundles=tuple(BundleTable(match=("**",), replay=each) for each in bundles),
    )
    layers = [general, staging, *bundles]

    found = Configuration(path=Path("/p/eikon.toml"), tables=tables).settings_for(Path("/p/b"), "staging")

    for name in ("network", "timeout", "headless"):
        values = [getattr(each, name) for each in layers if getattr(each, name) is not None]
        assert getattr(found.replay, name) == (values[-1] if values else None)
        assert (name in found.origins) == bool(values)
    assert found.replay.variables == {key: value for each in layers for key, value in each.variables.items()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour = 1", "unknown key 'colour': expected one of artifacts_dir, replay, env, bundles, quarantine"),
        ("[replay]\npolcy = 'strict'", "[replay]: unknown key 'polcy': expected one of network, policy, on_divergence"),
        ("[env.x.replay]\na = 1", "[env.x.replay]: unknown key 'a': expected one of network"),
        ("[env.replay]\na = 1", "[env.replay]: unknown key 'a': expected one of replay"),
        ("[[bundles]]\nmatch='a'\n[[bundles]]\nmatsh='a'", "[[bundles]] 2: unknown key 'matsh': expected one of match"),
        ("[[bundles]]\nmatch='a'\n[bundles.replay]\nx=1", "[[bundles]] 1, [bundles.replay]: unknown key 'x'"),
        ("[replay.secrets]\nP = {env='P', origins='shop'}", "[replay.secrets.P]: origins: expected { env"),
        ("[replay.secrets]\nP = {value='v'}", "[replay.secrets.P]: unknown key 'value': expected one of env, file"),
        ("[[quarantine]]\nmission='a'", "[[quarantine]] 1: reason: this key is missing (and 1 more)"),
        (
            "[replay]\nnetwork = 'air'",
            "[replay]: network: expected 'sealed', 'live', 'snapshot' or 'recorded-api', got the string",
        ),
        ("[replay]\ntimeout = 0", "[replay]: timeout: expected greater than 0, got 0"),
        ("[replay]\ntimeout = '3'", '[replay]: timeout: expected a number, got the string "3"'),
        ("replay = 3", "replay: expected a table, got 3"),
        ("[[bundles]]", "[[bundles]] 1: expected one of match and tag, got none"),
        ("[[bundles]]\nmatch='a'\ntag='b'", "[[bundles]] 1: expected one of match and tag, got both"),
        ("[[bundles]]\nmatch=[]", "[[bundles]] 1: match: expected at least 1 item, got none"),
        ("[[bundles]]\nmatch=['a', ' ']", "[[bundles]] 1: match: expected a pattern of paths"),
        ("[[bundles]]\nmatch='/a'", "[[bundles]] 1: match: expected a pattern of paths relative to the file"),
        ("[[bundles]]\nmatch='a/../b'", "[[bundles]] 1: match: expected a pattern of paths relative to the file"),
        ("[[bundles]]\nmatch='a**'", "[[bundles]] 1: match: expected ** as a whole name between slashes, got 'a**'"),
        ("[[bundles]]\ntag='slow'", "[[bundles]] 1: tag: expected a tag of an earlier table"),
        ("[replay.variables]\n9x = 'a'", "[replay.variables]: 9x: expected text that matches"),
        ("[replay.base_urls]\na = 'b'", "[replay.base_urls]: expected an absolute http or https URL"),
        ("[replay\n", "(at line 1, column 8)"),
        ("[[quarantine]]\nmission='a'\nreason='r'\nuntil='x'", "[[quarantine]] 1: until: expected"),
        (
            "[[quarantine]]\nmission='a'\nreason='r'\nuntil=2026-01-01\n" * 2,
            "expected each mission once, got 'a' twice",
        ),
    ],
)
def test_an_invalid_file_is_one_line(configure: Callable[[str], Configuration], text: str, message: str) -> None:
    """It names the file, the table as it is written, the key and what is expected."""
    with pytest.raises(UsageError) as caught:
        configure(text)

    assert message in caught.value.message
    assert "eikon.toml: " in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    "line", [f"P = '{SECRET}'", f"P = {{env = ['{SECRET}']}}", f"P = {{value = '{SECRET}'}}", f"P = ['{SECRET}']"]
)
def test_a_secret_in_the_file_is_refused_without_showing_it(
    configure: Callable[[str], Configuration], line: str
) -> None:
    """Neither the message nor what caused it has the value."""
    with pytest.raises(UsageError) as caught:
        configure(f"[replay.secrets]\n{line}")

    assert SECRET not in caught.value.message
    assert caught.value.__suppress_context__
    assert caught.value.__cause__ is None


def test_files_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    """A missing file, one that is not text, and a pyproject.toml without the table."""
    (tmp_path / "binary.toml").write_bytes(b"a = '\xff'")
    (tmp_path / "pyproject.toml").write_text("[tool]\nx = 1")

    for name, message in (
        ("missing.toml", "No such file"),
        ("binary.toml", "expected text in UTF-8"),
        ("pyproject.toml", "expected a table [tool.eikon], got none"),
    ):
        with pytest.raises(UsageError, match=message.replace("[", r"\[")):
            read_configuration(tmp_path / name)


def test_the_table_of_a_pyproject_is_named_in_full(tmp_path: Path) -> None:
    """In origins and in errors."""
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool.eikon.replay]\npolicy = 'effects'\n[[tool.eikon.bundles]]\nmatch = '**'\ntags = 'x'")
    found = read_configuration(path).settings_for(tmp_path / "a")
    path.write_text("[[tool.eikon.bundles]]\nmatch = 'a'\n[tool.eikon.bundles.replay]\nx = 1")

    assert found.origins == {"policy": "pyproject.toml [tool.eikon.replay]"}
    with pytest.raises(UsageError, match=r"\[\[tool.eikon.bundles\]\] 1, \[tool.eikon.bundles.replay\]: unknown key"):
        read_configuration(path)


def test_an_unknown_environment_names_the_known_ones(configure: Callable[[str], Configuration]) -> None:
    """Or that there are none."""
    with pytest.raises(UsageError, match=r"unknown environment 'prod': expected one of staging"):
        configure(WHOLE).settings_for(None, "prod")
    with pytest.raises(UsageError, match=r"expected none, as it has no \[env.NAME\]"):
        configure("").settings_for(None, "prod")


def test_the_nearest_configuration_is_found(tmp_path: Path) -> None:
    """From a folder or a file upwards; a pyproject.toml counts only if it has our table."""
    bundle = tmp_path / "a/b/bundle"
    bundle.mkdir(parents=True)
    (bundle / "trace.json").touch()
    (tmp_path / "eikon.toml").touch()
    (tmp_path / "a/b/pyproject.toml").write_text("[project.scripts]\neikon = 'x'\n[tool.other]\n")

    assert find_configuration(bundle / "trace.json") == tmp_path / "eikon.toml"

    (tmp_path / "a/pyproject.toml").write_text("[tool]\neikon.replay.policy = 'effects'\n")
    assert find_configuration(bundle) == tmp_path / "a/pyproject.toml"
    assert find_configuration(bundle / "missing") == tmp_path / "a/pyproject.toml"

    (tmp_path / "a/eikon.toml").touch()
    with pytest.raises(UsageError, match=r"expected one configuration, got eikon\.toml and"):
        find_configuration(bundle)


def test_a_configuration_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder that everybody may write, such as /tmp."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "eikon.toml"
    file.touch()
    if os.getuid() == 0:
        os.chown(file, 65534, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: file.stat().st_uid + 1)

    assert find_own_configuration(tmp_path / "bundle") == file
    tmp_path.chmod(0o1777)
    with pytest.raises(UsageError, match=r"eikon\.toml: .* got one that is of another user.* --config"):
        find_own_configuration(tmp_path / "bundle")


def test_folders_that_were_searched_are_known(tmp_path: Path) -> None:
    """Those above many bundles are searched once; the nearest configuration holds all the same."""
    for name in ("a/one", "a/two", "b/three"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "eikon.toml").touch()
    (tmp_path / "a/two/eikon.toml").touch()
    known: dict[Path, Path | None] = {}

    found = [find_configuration(tmp_path / name, known) for name in ("a/one", "a/two", "b/three", "a/one")]

    assert found == [tmp_path / name for name in ("eikon.toml", "a/two/eikon.toml", "eikon.toml", "eikon.toml")]
    assert {path: file for path, file in known.items() if path.is_relative_to(tmp_path)} == {
        tmp_path: tmp_path / "eikon.toml",
        tmp_path / "a": tmp_path / "eikon.toml",
        tmp_path / "a/one": tmp_path / "eikon.toml",
        tmp_path / "a/two": tmp_path / "a/two/eikon.toml",
        tmp_path / "b": tmp_path / "eikon.toml",
        tmp_path / "b/three": tmp_path / "eikon.toml",
    }


def test_a_relative_start_is_that_of_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that leads upwards."""
    (tmp_path / "a").mkdir()
    (tmp_path / "eikon.toml").touch()
    monkeypatch.chdir(tmp_path / "a")

    assert find_configuration(Path()) == find_configuration(Path("..")) == tmp_path / "eikon.toml"


def test_a_quarantine_ends_after_its_last_day(configure: Callable[[str], Configuration]) -> None:
    """It is that of one mission."""
    configuration = configure(WHOLE)

    found = configuration.quarantine_of("buy", date(2026, 12, 31))
    assert found is not None
    assert found.reason == "the shop is rebuilt"
    assert configuration.quarantine_of("buy", date(2027, 1, 1)) is None
    assert configuration.quarantine_of("sell", date(2026, 1, 1)) is None


def test_secrets_are_read_from_their_sources(tmp_path: Path) -> None:
    """A file without the line break at its end."""
    (tmp_path / "token").write_bytes(f" {SECRET} \r\n".encode())

    assert SecretSource(env="P").read_value({"P": SECRET}) == SECRET
    assert SecretSource(file=str(tmp_path / "token")).read_value({}) == f" {SECRET} "


def test_a_source_without_a_value_is_named(tmp_path: Path) -> None:
    """Without what a file holds."""
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"\xff" + SECRET.encode())

    for source, message in (
        (SecretSource(env="P"), "environment variable P, which is not set"),
        (SecretSource(env="Q"), "environment variable Q, which is empty"),
        (SecretSource(file=str(tmp_path / "missing")), f"missing, which is not readable: {os.strerror(2)}"),
        (SecretSource(file=str(tmp_path / "empty")), "which is empty"),
        (SecretSource(file=str(tmp_path / "binary")), "which is not text in UTF-8"),
    ):
        with pytest.raises(RequirementError) as caught:
            source.read_value({"Q": ""})
        assert message in caught.value.message
        assert SECRET not in caught.value.message
        assert caught.value.code == "secret-missing"
