"""The plugin in runs of pytest of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.suite.bundles import copy_bundle

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.browser


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """Make a project with a bundle that passes, and one that does not."""
    copy_bundle("shop_failing", pytester.path / "traces" / "good")
    copy_bundle("shop_diverging", pytester.path / "traces" / "changed")
    return pytester


def test_bundles_are_tests(project: pytest.Pytester) -> None:
    """A failure is the explanation and where the report is, without a traceback; nothing inside is collected."""
    (project.path / "traces" / "good" / "test_inside.py").write_text("def test_inside(): assert False")

    done = project.runpytest_subprocess("traces", "--eikon", "--junitxml=junit.xml")

    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(
        [
            "*_ replay of changed _*",
            "replay of traces/changed: diverged",
            "*button#add-to-cart with class 'buy-now'*",
            "  expected *add-to-cart*",
            "  observed *buy-now*",
            f"report: {project.path}/test-results/eikon/traces/changed/report.html",
        ]
    )
    assert "Traceback" not in done.stdout.str()
    assert (project.path / "test-results" / "eikon" / "traces" / "changed" / "report.html").is_file()
    assert 'name="eikon_verdict" value="diverged"' in (project.path / "junit.xml").read_text()


def test_bundles_are_selected_as_tests_are(project: pytest.Pytester) -> None:
    """By -k, by the path of a bundle or of its trace, by --lf; without the option there are none."""
    assert project.runpytest_subprocess("traces", "--eikon", "-k", "good").parseoutcomes() == {
        "passed": 1,
        "deselected": 1,
    }
    project.runpytest_subprocess("traces/changed", "--eikon").assert_outcomes(failed=1)
    project.runpytest_subprocess("traces/changed/trace.json", "--eikon").assert_outcomes(failed=1)
    assert project.runpytest_subprocess("traces", "--eikon", "--lf").parseoutcomes()["failed"] == 1
    assert project.runpytest_subprocess("traces").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_bundles_run_in_the_processes_of_xdist(project: pytest.Pytester) -> None:
    """Each has its browser, and its folder of artifacts."""
    project.makeini("[pytest]\neikon = true\neikon_output = out")

    project.runpytest_subprocess("traces", "-n", "2").assert_outcomes(passed=1, failed=1)

    assert {each.parent.name for each in (project.path / "out" / "eikon").glob("gw*/traces")} <= {"gw0", "gw1"}
    assert len(list((project.path / "out").rglob("outcome.json"))) == 2


def test_a_test_replays_a_bundle(project: pytest.Pytester) -> None:
    """The fixture returns the outcome, or fails with the explanation."""
    project.makepyfile(
        """
        def test_good(eikon_replay):
            assert eikon_replay("traces/good").counts.actions > 0

        def test_changed(eikon_replay):
            eikon_replay("traces/changed", policy="strict")
        """
    )

    done = project.runpytest_subprocess()

    done.assert_outcomes(passed=1, failed=1)
    assert "require_faithful" not in done.stdout.str()
    done.stdout.fnmatch_lines(["*ReplayFailed: replay of *test_changed/changed: diverged", "E *report: *report.html"])


def test_a_test_records_its_page(pytester: pytest.Pytester) -> None:
    """Beside the fixtures of pytest-playwright; the bundle is certified, and a test from then on."""
    pytester.makepyfile(
        test_recording="""
        def test_records(page, eikon_record):
            page.context.route("**/*", lambda route: route.fulfill(body="<h1>Hello", content_type="text/html"))
            with eikon_record(page, "traces/hello"):
                page.goto("http://shop.example/")
                page.get_by_role("heading", name="Hello").click()
        """,
        conftest="""
        import os
        import pytest
        from eikon_engine.browser.executable import find_browser

        @pytest.fixture(scope="session")
        def browser_type_launch_args(browser_type_launch_args):
            path = find_browser(None, environ=os.environ).path
            return {**browser_type_launch_args, "executable_path": str(path)}
        """,
    )

    pytester.runpytest_subprocess("test_recording.py").assert_outcomes(passed=1)
    pytester.runpytest_subprocess("traces", "--eikon").assert_outcomes(passed=1)


def test_outputs_of_skills_are_stored_and_compared(pytester: pytest.Pytester) -> None:
    """Written only with --eikon-update."""
    test = """
        def test_links(eikon_skill_snapshot):
            eikon_skill_snapshot("extract_links", "<a href=/pen>{}</a>", url="http://shop.example/")
    """
    pytester.makepyfile(test.replace("{}", "Pen"))

    first = pytester.runpytest_subprocess()
    pytester.runpytest_subprocess("--eikon-update", "first").assert_outcomes(passed=1)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
    pytester.makepyfile(test.replace("{}", "Mug"))
    changed = pytester.runpytest_subprocess()

    first.stdout.fnmatch_lines(["*expected the stored output of extract_links, got none*"])
    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines(["*-*Pen*", "*+*Mug*"])
    assert len(list(pytester.path.glob("__skill_snapshots__/*.extract_links.json"))) == 1


def test_a_sealed_divergence_is_not_accepted(project: pytest.Pytester) -> None:
    """As `eikon accept` refuses it; the bundle stays as it was."""
    before = (project.path / "traces" / "changed" / "trace.json").read_bytes()

    done = project.runpytest_subprocess("traces/changed", "--eikon", "--eikon-update", "because")

    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["--eikon-update: *live*"])
    assert (project.path / "traces" / "changed" / "trace.json").read_bytes() == before


def test_loading_the_plugin_imports_next_to_nothing() -> None:
    """It is loaded by every run of pytest."""
    script = (
        "import sys, json, pytest; before = set(sys.modules); import eikon_engine.pytest_plugin;"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )

    loaded = json.loads(subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout)

    assert [each for each in loaded if each.startswith(("eikon_engine", "playwright", "pydantic"))] == [
        "eikon_engine",
        "eikon_engine.pytest_plugin",
    ]


def test_the_configuration_of_the_project_holds(project: pytest.Pytester) -> None:
    """Tags are markers, and settings apply to the bundles that they are for."""
    (project.path / "eikon.toml").write_text(
        """
        [[bundles]]
        match = "traces/changed"
        tags = ["shop"]
        [bundles.replay]
        network = "snapshot"
        """
    )

    done = project.runpytest_subprocess("traces", "--eikon", "-m", "shop")

    assert done.parseoutcomes()["deselected"] == 1
    outcome = json.loads((project.path / "test-results/eikon/traces/changed/outcome.json").read_text())
    assert outcome["network_mode"] == "snapshot"


def test_no_bundle_is_left_out(project: pytest.Pytester) -> None:
    """Whatever its folder is called, and if its trace is gone; one with a similar name keeps its own artifacts."""
    copy_bundle("shop_failing", project.path / "traces" / "build")
    copy_bundle("shop_failing", project.path / "traces" / ".hidden")
    copy_bundle("shop_failing", project.path / "traces" / "a b")
    copy_bundle("shop_failing", project.path / "traces" / "a_b")
    (project.path / "traces" / "good" / "trace.json").unlink()

    done = project.runpytest_subprocess("traces", "--eikon", "--deselect", "traces/changed")

    done.assert_outcomes(passed=4, failed=1, deselected=1)
    assert "Traceback" not in done.stdout.str()
    assert len(list((project.path / "test-results/eikon/traces").glob("a*b*"))) == 2


def test_secrets_are_those_of_the_environment(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for `eikon replay` and `eikon suite run`: a bundle that types a secret has the same verdict everywhere."""
    copy_bundle("old_format", pytester.path / "traces" / "login")
    missing = pytester.runpytest_subprocess("traces", "--eikon")
    monkeypatch.setenv("EIKON_SECRET_PASSWORD", "opensesame")

    provided = pytester.runpytest_subprocess("traces", "--eikon")

    missing.stdout.fnmatch_lines(["secret PASSWORD was not provided*"])
    provided.assert_outcomes(failed=1)
    provided.stdout.no_fnmatch_line("*was not provided*")


def test_collecting_reads_no_trace(pytester: pytest.Pytester) -> None:
    """Thousands are collected in seconds: a trace that is broken fails in its test, a conftest.py in it is not run."""
    for name in ("broken", "good"):
        copy_bundle("shop_failing", pytester.path / "traces" / name)
    (pytester.path / "traces" / "broken" / "trace.json").write_text("{")
    (pytester.path / "traces" / "good" / "conftest.py").write_text("raise RuntimeError('it was run')")
    (pytester.path / "eikon.toml").write_text('[[bundles]]\nmatch = "**"\ntags = ["shop", "slow"]\n')

    listed = pytester.runpytest_subprocess("traces", "--eikon", "--collect-only", "-q", "-m", "shop and slow")
    markers = pytester.runpytest_subprocess("traces", "--eikon", "--collect-only", "-q", "-m", "shop and not slow")
    broken = pytester.runpytest_subprocess("traces/broken", "--eikon")

    listed.stdout.fnmatch_lines(["traces/broken::replay", "traces/good::replay", "*2 tests collected*"])
    assert listed.ret == 0
    assert markers.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    broken.assert_outcomes(failed=1)


def test_a_base_url_holds_for_a_configured_network(project: pytest.Pytester) -> None:
    """It is not ignored; without a configuration, an environment is an error."""
    (project.path / "eikon.toml").write_text('[replay]\nnetwork = "recorded-api"\n')

    done = project.runpytest_subprocess("traces/good", "--eikon", "--base-url", "http://127.0.0.1:9")
    (project.path / "eikon.toml").unlink()
    none = project.runpytest_subprocess("traces/good", "--eikon", "--eikon-env", "nope")

    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*ERR_CONNECTION_REFUSED*"])
    assert none.ret != 0
    none.stdout.fnmatch_lines(["*--eikon-env nope requires a configuration*"])
