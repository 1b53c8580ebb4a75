"""`eikon config`, and the configuration in `eikon replay`."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.cli.configured_options import given_options
from eikon_engine.cli.main import eikon
from eikon_engine.cli.replay import replay_command
from eikon_engine.outcome.outcomes import ReplayOutcome
from eikon_engine.suite import BundleSettings, ReplaySettings, SecretSource
from eikon_engine.suite.replay_settings import resolve_replay_settings
from eikon_engine.trace.bundle import Bundle, open_bundle
from tests.commands import run_here
from tests.replay.test_replay_command import assert_one_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from subprocess import CompletedProcess

    from eikon_engine.outcome.outcomes import NetworkMode

TRACES = Path(__file__).resolve().parents[1] / "data" / "traces"
SECRET = "hunter2-hunter2"
CONFIGURATION = """
artifacts_dir = "runs"
[replay]
network = "sealed"
policy = "effects"
storage_state = "state.json"
[replay.base_urls]
"https://shop.example" = "http://localhost:3000"
[replay.variables]
user = "ada"
[replay.secrets]
SPARE = { file = "missing.txt" }
PASSWORD = { env = "SHOP_PASSWORD" }
[env.staging.replay]
timeout = 7.5
[[bundles]]
match = "shop/**"
tags = ["checkout", "slow"]
[bundles.replay]
on_divergence = "continue"
"""
OPTIONS: Mapping[str, Any] = {
    "headless": True,
    "network": None,
    "base_urls": {},
    "storage_state": None,
    "variables": {},
    "secrets": {},
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a configuration and two bundles."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "eikon.toml").write_text(CONFIGURATION)
    shutil.copytree(TRACES / "shop_passing", tmp_path / "shop/passing")
    shutil.copytree(TRACES / "old_format", tmp_path / "old_format")
    return tmp_path


@pytest.fixture
def passing() -> Bundle:
    """Return a bundle with a recorded network and no variables."""
    return open_bundle(TRACES / "shop_passing")


def run(*arguments: object, **environ: str) -> CompletedProcess[str]:
    """Run `eikon` in this process."""
    return run_here(eikon, arguments, "eikon", environ)


def test_the_settings_of_a_bundle_are_a_table(project: Path) -> None:
    """Setting, value and origin in aligned columns; secrets show their source."""
    done = run("config", project / "shop/passing", "--env", "staging", SHOP_PASSWORD=SECRET)

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    rows = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines if line}
    assert rows["configuration:"] == str(project / "eikon.toml")
    assert rows["environments:"] == "staging"
    assert rows["policy"].split(maxsplit=1) == ["effects", "eikon.toml [replay]"]
    assert rows["timeout"].split(maxsplit=1) == ["7.5", "eikon.toml [env.staging.replay]"]
    assert rows["on_divergence"].split(maxsplit=1) == ["continue", "eikon.toml [[bundles]] 1, [bundles.replay]"]
    assert rows["headless"].split() == ["true", "default"]
    assert rows["gates"].split() == ["-", "default"]
    assert rows["secrets.PASSWORD"].startswith("environment variable SHOP_PASSWORD ")
    assert rows["secrets.SPARE"].startswith(f"file {project / 'missing.txt'} ")
    assert rows["tags"] == "checkout, slow"
    assert SECRET not in done.stdout
    column = next(line for line in lines if line.startswith("SETTING")).index("ORIGIN")
    assert all(line[column - 1] == " " and line[column] != " " for line in lines if "eikon.toml [" in line)


def test_the_settings_are_json_on_request(project: Path) -> None:
    """Without the environment and without a bundle, what holds for all."""
    done = run("config", "--config", project / "eikon.toml", "--json")

    found = json.loads(done.stdout)
    settings = {each["setting"]: (each["value"], each["origin"]) for each in found["settings"]}
    assert (found["file"], found["environment"]) == (str(project / "eikon.toml"), None)
    assert (found["environments"], found["tags"]) == (["staging"], [])
    assert settings["timeout"] == (None, "default")
    assert settings["on_divergence"] == ("stop", "default")
    assert settings["artifacts_dir"] == (str(project / "runs"), "eikon.toml")
    assert settings["variables.user"] == ("ada", "eikon.toml [replay.variables]")


def test_without_a_configuration_the_searched_folders_are_listed(tmp_path: Path) -> None:
    """Exit status 0: there need be none."""
    done = run("config", tmp_path)
    found = json.loads(run("config", tmp_path, "--json").stdout)

    assert done.returncode == 0
    assert done.stdout.splitlines()[0].startswith("no configuration (eikon.toml, or [tool.eikon] of pyproject.toml)")
    assert done.stdout.splitlines()[1:3] == [str(tmp_path), str(tmp_path.parent)]
    assert (found["file"], found["searched"][0]) == (None, str(tmp_path))


@pytest.mark.parametrize("options", [("--no-config",), ("--config", "none")])
def test_no_configuration_is_used_on_request(project: Path, options: tuple[str, ...]) -> None:
    """Then there are no environments either."""
    done = run("config", project, *options)

    assert "no configuration" in done.stdout
    assert "not searched" in done.stdout
    assert_one_line(run("config", project, *options, "--env", "staging"), 2, "--env staging requires a configuration")


def test_a_configuration_that_came_with_a_bundle_is_refused(project: Path) -> None:
    """It could name a program of its own as the browser: one in the bundle, or in a folder beside the work."""
    shop = project / "shop/passing"
    evil = f"[replay]\nbrowser_path = '{project / 'evil.sh'}'\n"
    (project / "evil.sh").write_text(f"#!/bin/sh\ntouch {project / 'ran'}\n")
    (project / "evil.sh").chmod(0o755)
    for folder, where in ((project / "shop", "neither in the working directory"), (shop, "neither in")):
        file = folder / "eikon.toml"
        file.write_text(evil)
        for command in (("replay", "--trace", shop), ("config", shop), ("suite", "run", shop)):
            assert_one_line(run(*command), 2, str(file), where, f"--config {file}", "--no-config")

    os.chdir(shop)
    assert_one_line(run("replay", "."), 2, "one that is in the bundle")
    assert not (project / "ran").exists()

    assert run("config", shop, "--config", shop / "eikon.toml").returncode == 0


def test_mistakes_are_one_line(project: Path) -> None:
    """An unknown environment, an unknown key, a missing file: exit status 2, also when replaying."""
    shop = project / "shop/passing"
    replay = ("replay", "--trace", shop)
    assert_one_line(run("config", shop, "--env", "prod"), 2, "unknown environment 'prod'", "staging")
    assert_one_line(run(*replay, "--env", "prod"), 2, "unknown environment 'prod'", "staging")
    assert_one_line(run(*replay, "--config", project / "other.toml"), 2, "other.toml", "No such file")

    (project / "eikon.toml").write_text("[replay]\npolcy = 'strict'")
    assert_one_line(run(*replay), 2, "eikon.toml", "[replay]", "'polcy'", "policy")


def test_a_missing_secret_is_one_line_if_the_trace_needs_it(project: Path) -> None:
    """It names the table and the source; exit status 78, before a browser starts."""
    done = run("replay", "--trace", project / "old_format", "--network", "live")

    assert_one_line(
        done,
        78,
        "secret PASSWORD",
        "eikon.toml [replay.secrets]: environment variable SHOP_PASSWORD, which is not set",
        "(code secret-missing)",
    )


@pytest.mark.browser
def test_a_replay_uses_the_configuration(project: Path) -> None:
    """Found above the bundle; secrets that the trace does not need, and parts for live replays, change nothing."""
    (project / "eikon.toml").write_text(CONFIGURATION.replace("[replay]", '[replay]\ngates = "gates.yaml"', 1))
    (project / "gates.yaml").write_text("gates:\n  max_actions: 99\n")

    done = run("replay", "--trace", project / "shop/passing", SHOP_PASSWORD=SECRET)

    folder = project / "runs/shop_passing"
    outcome = ReplayOutcome.model_validate_json((folder / "outcome.json").read_bytes())
    assert done.returncode == 0, done.stderr
    assert (outcome.verdict, outcome.network_mode) == ("faithful", "sealed")
    assert [(gate.gate, gate.passed) for gate in outcome.gates] == [("max_actions", True)]
    assert not any(SECRET.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_options_count_as_given_even_with_the_value_of_their_default() -> None:
    """By their names in `ReplayOptions`."""
    words = ["--trace", "x", "--timeout", "3", "--headless", "--policy", "strict", "--var", "a=b"]

    with replay_command.make_context("replay", words) as context:
        assert given_options(context) == {"bundles", "timeout_ms", "headless", "policy", "variables"}


def test_given_options_win(passing: Bundle, tmp_path: Path) -> None:
    """Other options keep their default only if nothing is configured; mappings are merged."""
    settings = BundleSettings(
        replay=ReplaySettings(
            network="live", timeout=2, headless=False, base_urls={"http://a.example": "http://b.example"}
        ),
        artifacts_dir=tmp_path,
    )
    options = {**OPTIONS, "timeout_ms": 5.0, "base_urls": {"http://c.example": "http://d.example"}}

    found = resolve_replay_settings(settings, passing, options, {"timeout_ms", "base_urls"})

    assert (found["network"], found["timeout_ms"], found["headless"]) == ("live", 5.0, False)
    assert found["base_urls"] == {"http://a.example": "http://b.example", "http://c.example": "http://d.example"}
    assert found["artifacts_dir"] == tmp_path / "shop_passing"
    assert resolve_replay_settings(settings, passing, options, ())["timeout_ms"] == 2000


@pytest.mark.parametrize(
    ("configured", "given", "network"),
    [
        ("live", {}, "live"),
        ("sealed", {}, "sealed"),
        (None, {}, None),
        ("live", {"network": "sealed"}, "sealed"),
        ("sealed", {"network": "live"}, "live"),
        ("live", {"from_step": 3}, None),
        ("live", {"har": Path("a.har")}, None),
    ],
)
def test_settings_of_live_replays_are_not_for_others(
    passing: Bundle, configured: NetworkMode | None, given: dict[str, Any], network: NetworkMode | None
) -> None:
    """Base URLs and storage state never make a replay live, and do not contradict a sealed one."""
    replay = ReplaySettings(
        network=configured, storage_state="/s.json", base_urls={"http://a.example": "http://b.example"}
    )

    found = resolve_replay_settings(BundleSettings(replay=replay), passing, {**OPTIONS, **given}, given.keys())

    assert found["network"] == network
    assert bool(found["base_urls"]) == (network == "live")
    assert found["storage_state"] == (Path("/s.json") if network == "live" else None)


def test_a_given_base_url_makes_a_replay_live(passing: Bundle) -> None:
    """Also if sealed replays are configured: no mode was given."""
    replay = ReplaySettings(network="sealed", base_urls={"http://a.example": "http://b.example"})
    given = {"base_urls": {"http://c.example": "http://d.example"}}

    found = resolve_replay_settings(BundleSettings(replay=replay), passing, {**OPTIONS, **given}, given.keys())

    assert found["network"] is None
    assert found["base_urls"].keys() == {"http://a.example", "http://c.example"}


def test_a_bundle_gets_the_variables_that_it_uses(passing: Bundle) -> None:
    """A variable of other missions is no mistake; one that was given is kept, to be refused."""
    settings = BundleSettings(replay=ReplaySettings(variables={"user": "ada"}))

    assert resolve_replay_settings(settings, passing, OPTIONS, ())["variables"] == {}
    given = {**OPTIONS, "variables": {"user": "eve"}}
    assert resolve_replay_settings(settings, passing, given, {"variables"})["variables"] == {"user": "eve"}


def test_files_are_read_only_if_no_option_replaces_them(passing: Bundle, tmp_path: Path) -> None:
    """Masks and gates."""
    (tmp_path / "masks.toml").write_text("[[ignore]]\ntitle = true\nreason = 'drawn'")
    (tmp_path / "gates.yaml").write_text("gates:\n  max_actions: 99\n")
    masks = BundleSettings(replay=ReplaySettings(ignore=str(tmp_path / "masks.toml")))
    missing = BundleSettings(replay=ReplaySettings(ignore="/missing", gates="/missing"))

    assert len(resolve_replay_settings(masks, passing, OPTIONS, ())["masks"]) == 1
    found = resolve_replay_settings(missing, passing, {**OPTIONS, "masks": (), "gates": None}, {"masks", "gates"})
    assert (found["masks"], found["gates"]) == ((), None)


def test_origins_of_secrets_hold_until_others_are_given(passing: Bundle) -> None:
    """A secret is bound as configured, also if its value is from elsewhere."""
    names = {
        "A": SecretSource(env="UNSET", origins=("https://a.example",)),
        "B": SecretSource(env="UNSET", origins=("https://b.example",)),
        "C": SecretSource(env="UNSET"),
    }
    settings = BundleSettings(
        replay=ReplaySettings(secrets=names), origins={f"secrets.{name}": "eikon.toml" for name in names}
    )
    given = {**OPTIONS, "secrets": {"A": "1", "B": "2"}, "secret_origins": {"B": ("https://other.example",)}}

    found = resolve_replay_settings(settings, passing, given, ())

    assert found["secret_origins"] == {"A": ("https://a.example",), "B": ("https://other.example",)}
    assert str(names["A"]) == "environment variable UNSET, for https://a.example"


def test_provided_secrets_win(passing: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source of such a secret is not read; why another one has no value is kept for its error."""
    monkeypatch.setenv("SHOP_TOKEN", SECRET)
    names = {"A": SecretSource(env="UNSET"), "B": SecretSource(env="UNSET"), "C": SecretSource(env="SHOP_TOKEN")}
    settings = BundleSettings(
        replay=ReplaySettings(secrets=names),
        origins={f"secrets.{name}": "eikon.toml [replay.secrets]" for name in names},
    )

    found = resolve_replay_settings(settings, passing, {**OPTIONS, "secrets": {"A": "given"}}, ())

    assert found["secrets"] == {"A": "given", "C": SECRET}
    assert found["missing_secrets"] == {
        "B": "eikon.toml [replay.secrets]: environment variable UNSET, which is not set"
    }


def test_the_help_names_the_option_that_turns_a_configuration_off() -> None:
    """Who reads `eikon config --help` to find out why a replay has an option also learns how to replay without."""
    shown = run("config", "--help")

    assert "unless they get --no-config" in " ".join(shown.stdout.split())
