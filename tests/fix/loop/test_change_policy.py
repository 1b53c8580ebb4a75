"""Without target files, a fix changes only files that cannot decide by themselves whether the tests pass."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from eikon_engine.errors import FixError, UsageError
from eikon_engine.fix.change_policy import (
    ChangePolicy,
    missing_modules,
    read_policy,
    require_allowed_changes,
    scan_project,
)
from eikon_engine.fix.models import Analysis, TestFailure
from eikon_engine.fix.options import LoopOptions
from tests.error_codes import has_code
from tests.fix.loop.looping import loop_runner
from tests.fix.loop.projects import ASSERTS, GOOD_FIX, PRICE_PROJECT, everything, make_project, write

SHOP = {"shop/__init__.py": "", "shop/price.py": "", "web/cart.ts": "", "lib/cart.rb": "", "app.py": ""}


def check(  # noqa: PLR0913 - one parameter for each condition
    tree: Path,
    file: str,
    *,
    command: str = "pytest",
    cwd: str = ".",
    is_new: bool = False,
    policy: ChangePolicy | None = None,
    message: str = "",
    failing: tuple[str, ...] = (),
) -> None:
    """Check a fix of one file; `message` is that of a failure of the tests."""
    failure = TestFailure(id="tests/test_a.py", kind="pytest", message=message)
    require_allowed_changes(
        (file,),
        {file} if is_new else (),
        scan_project(tree, command, cwd),
        policy or ChangePolicy(),
        missing=missing_modules(Analysis(passed=False, first=failure, summary="1 failure")),
        failing=failing,
    )


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Write a project in three languages."""
    write(tmp_path, SHOP)
    return tmp_path


@pytest.mark.parametrize("file", ["shop/price.py", "web/cart.ts", "lib/cart.rb", "app.py"])
def test_source_code_may_be_changed(shop: Path, file: str) -> None:
    """Source code is recognized by its suffix."""
    check(shop, file)


@pytest.mark.parametrize("file", ["shop/tax.py", "web/sum.ts", "shop/types.py", "shop/coverage.py", "rates.py"])
def test_a_new_file_may_be_created_beside_its_kind(shop: Path, file: str) -> None:
    """A module of a package may have any name, since it is imported by the name of the package."""
    check(shop, file, is_new=True)


@pytest.mark.parametrize("file", ["shop/cart.ts", "other/price.py", "lib/price.py", "conf/other.rb"])
def test_a_new_file_is_not_created_in_a_folder_without_such_files(shop: Path, file: str) -> None:
    """A file of another kind, or in a new folder, may be found by a runner."""
    with pytest.raises(FixError, match=r"a new file in a folder without \.\w+ files", check=has_code("patch-rejected")):
        check(shop, file, is_new=True)


@pytest.mark.parametrize("file", ["shop/data.json", "more.txt", "new.cfg", "prices.csv", "LICENSE"])
def test_files_other_than_source_code_are_not_changed(shop: Path, file: str) -> None:
    """Tests may compare with settings and data."""
    with pytest.raises(FixError, match="got no source code", check=has_code("patch-rejected")):
        check(shop, file)


@pytest.mark.parametrize(
    "file",
    [
        *("tests/test_a.py", "test_a.py", "src/a.test.ts", "tests/data/x.json", "src/__mocks__/price.js"),
        *("conftest.py", "pyproject.toml", "Makefile", "more.mk", "package.json", "setup.py", "build.rs"),
        *("tools/check.py", "scripts/all.sh", "bin/run.py", "check.sh", ".hidden.py", ".github/workflows/ci.py"),
        *("node_modules/jest/index.js", "lib/site-packages/assertpy.py", "sitecustomize.py", "shop.pth"),
        *(
            "pytest.py",
            "src/_pytest/main.py",
            "pytest_extra.py",
            "new.config.js",
            "web/runner.conf.cjs",
            "x.config.mts",
        ),
    ],
)
@pytest.mark.parametrize("is_allowed", [False, True], ids=["default", "allowed"])
def test_protected_patterns_win(shop: Path, file: str, *, is_allowed: bool) -> None:
    """Tests, configuration, start-up files, hidden files, packages and scripts need a target file, allowed or not."""
    policy = ChangePolicy(allow=("**", file)) if is_allowed else ChangePolicy()

    with pytest.raises(
        FixError, match=r"protected by the pattern .* name it with --target-file", check=has_code("patch-rejected")
    ):
        check(shop, file, policy=policy)
    with pytest.raises(FixError, check=has_code("patch-rejected")):
        check(shop, file, policy=policy, is_new=True)


def test_allowed_patterns_replace_the_default_ones(shop: Path) -> None:
    """Files that do not match are not changed; a later pattern with `!` excludes again, as in .gitignore."""
    policy = ChangePolicy(allow=("/shop/", "*.json", "!cart.json"))

    check(shop, "shop/price.py", policy=policy)
    check(shop, "data/prices.json", policy=policy)
    for file in ("app.py", "data/cart.json"):
        with pytest.raises(
            FixError, match=r"--allow /shop/, \*.json, !cart.json does not match", check=has_code("patch-rejected")
        ):
            check(shop, file, policy=policy)


def test_protected_patterns_are_added_to_the_default_ones(shop: Path) -> None:
    """A pattern with `!` does not remove the default protection."""
    policy = ChangePolicy(protect=("/shop/", "!tests/"))

    check(shop, "app.py", policy=policy)
    for file in ("shop/price.py", "tests/helper.py"):
        with pytest.raises(FixError, match="protected by the pattern", check=has_code("patch-rejected")):
            check(shop, file, policy=policy)


@pytest.mark.parametrize(
    ("file", "command", "cwd"),
    [
        ("app/check.py", "X=1 python 'check.py'", "app"),
        ("check.py", "python ../check.py", "app"),
        ("app/check.py", "cd app && python check.py", "."),
        ("checks/a.py", "pytest checks/a.py::test_a", "."),
        ("checks/a.py", "for each in checks/*.py; do python $each; done", "."),
        ("app/check.py", "python -m app.check", "."),
        ("app/__main__.py", "python -m app", "."),
        ("app/__main__.py", "python app", "."),
        ("src/check.py", "cd src && python3 -Bm check", "."),
        ("src/check.py", "PYTHONPATH=src coverage run -m check", "."),
        ("rules/check.py", "python -m unittest -v rules.check.Case", "."),
        ("rules/check.py", "pytest -p rules.check", "."),
        ("rules/check.py", "python -m pytest -prules.check", "."),
    ],
)
def test_files_that_the_command_names_are_not_changed(tmp_path: Path, file: str, command: str, cwd: str) -> None:
    """Files may be named by path, by pattern, or as a module that is run or loaded."""
    with pytest.raises(FixError, match="one that the test command names", check=has_code("patch-rejected")):
        check(tmp_path, file, command=command, cwd=cwd, policy=ChangePolicy(allow=("*.py",)))


@pytest.mark.parametrize(
    "command",
    ["pytest -m shop", "python -m pytest -m shop -k app", "git commit -m app", "python -m unittest -k app -v"],
)
def test_a_marker_or_a_message_is_not_a_module(shop: Path, command: str) -> None:
    """The same option of another program means something else."""
    check(shop, "app.py", command=command)
    check(shop, "shop/__init__.py", command=command)


def test_the_package_of_a_test_module_is_not_protected(shop: Path) -> None:
    """`python -m unittest shop.checks` runs shop/checks.py; the package that contains it is the code under test."""
    write(shop, {"shop/checks.py": ""})

    check(shop, "shop/__init__.py", command="python -m unittest shop.checks.Case")
    for file in ("shop/checks.py", "shop/checks/__init__.py", "shop.py"):
        with pytest.raises(FixError, match="one that the test command names"):
            check(shop, file, command="python -m unittest shop.checks.Case", is_new=file != "shop/checks.py")


@pytest.mark.parametrize("command", ["python -m unittest shop", "python -m unittest shop.Case"])
def test_a_package_that_contains_the_tests_itself_is_protected(shop: Path, command: str) -> None:
    """Test cases may be defined in `__init__.py`."""
    with pytest.raises(FixError, match="one that the test command names"):
        check(shop, "shop/__init__.py", command=command)


@pytest.mark.parametrize("command", ["mkdir -p app && pytest", "sh -c 'mkdir -p app; pytest'", "sudo mkdir -p app"])
def test_an_option_of_mkdir_is_not_a_plugin(shop: Path, command: str) -> None:
    """`-p` loads a plugin only in commands that may run pytest."""
    check(shop, "app.py", command=command)


@pytest.mark.parametrize("command", ["mkdir -p x; pytest -p app", "pytest -k 'cp or x' -p app", "tox -- -p app"])
def test_a_plugin_is_protected_beside_other_commands_and_options(shop: Path, command: str) -> None:
    """Other commands and options of the line do not hide a plugin."""
    with pytest.raises(FixError, match="one that the test command names"):
        check(shop, "app.py", command=command)


def test_files_of_other_folders_are_not_named(shop: Path) -> None:
    """A relative path is relative to the working directory."""
    check(shop, "lib/check.py", command="python check.py")
    check(shop, "price.py", command="python check.py && pytest -k price")


def test_plugins_that_the_configuration_loads_are_not_changed(shop: Path) -> None:
    """`-p` in `addopts` loads a module into the runner."""
    write(shop, {"pytest.ini": "[pytest]\naddopts = -ra -p shop.price\n"})

    with pytest.raises(FixError, match="a plugin of pytest", check=has_code("patch-rejected")):
        check(shop, "shop/price.py")
    check(shop, "app.py")


def test_programs_are_not_changed(shop: Path) -> None:
    """A file that is executable or starts with `#!` may be what a script runs."""
    write(shop, {"lib/run.rb": "#!/usr/bin/env ruby\n"})
    (shop / "app.py").chmod(0o755)

    for file in ("lib/run.rb", "app.py"):
        with pytest.raises(FixError, match="a program", check=has_code("patch-rejected")):
            check(shop, file)


def test_files_with_failing_tests_are_not_changed(shop: Path) -> None:
    """The file of a failing test is protected whatever its name, since pytest may be configured to collect it."""
    with pytest.raises(FixError, match="one with failing tests", check=has_code("patch-rejected")):
        check(shop, "shop/price.py", failing=("shop/price.py::check_total", "app.py::check"))
    check(shop, "web/cart.ts", failing=("shop/price.py::check_total",))


def test_failing_tests_are_found_below_the_root_of_pytest(shop: Path) -> None:
    """Test ids may be relative to a subfolder of the tree; the file is protected all the same."""
    write(shop, {"shop/checks/check_price.py": ""})

    with pytest.raises(FixError, match="one with failing tests", check=has_code("patch-rejected")):
        check(shop, "shop/checks/check_price.py", failing=("checks/check_price.py::check_it",))


def test_a_missing_module_of_a_package_may_be_created(shop: Path) -> None:
    """A package whose import failed may be created, with its modules; no other folder."""
    message = "ModuleNotFoundError: No module named 'shop.pricing'"

    check(shop, "shop/pricing/__init__.py", is_new=True, message=message)
    check(shop, "shop/pricing/rates.py", is_new=True, message=message)
    with pytest.raises(FixError, match="a new file in a folder without", check=has_code("patch-rejected")):
        check(shop, "shop/other/rates.py", is_new=True, message=message)


@pytest.mark.parametrize("file", ["pytest_shop/plugin.py", "sitecustomize/__init__.py"])
def test_packages_that_run_by_themselves_are_not_changed(shop: Path, file: str) -> None:
    """Plugins of pytest and start-up modules may be packages."""
    with pytest.raises(FixError, check=has_code("patch-rejected")):
        check(shop, file)


def test_a_project_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """An unreadable file with patterns is not ignored."""
    write(tmp_path, {"pyproject.toml": "[tool.eikon.fix\n"})

    with pytest.raises(UsageError, match="expected TOML"):
        read_policy(tmp_path, LoopOptions(test_cmd="pytest"))


@pytest.mark.parametrize("file", ["json.py", "typing.py", "src/typing.py", "green.py", "src/hypothesis.py", "xdist.py"])
def test_a_new_file_does_not_shadow_a_module_of_python_or_of_a_runner(shop: Path, file: str) -> None:
    """A folder without `__init__.py` may be one that Python imports from; an existing file belongs to the project."""
    write(shop, {"src/main.py": ""})

    with pytest.raises(FixError, match="shadows the module", check=has_code("patch-rejected")):
        check(shop, file, is_new=True)
    if "xdist" not in file:
        check(shop, file)


def test_a_folder_does_not_become_a_package_that_shadows_another(shop: Path) -> None:
    """A new `__init__.py` makes a regular package, which Python prefers to an installed one."""
    write(shop, {"robot/arm.py": ""})

    check(shop, "robot/leg.py", is_new=True)
    with pytest.raises(FixError, match="shadows the module robot", check=has_code("patch-rejected")):
        check(shop, "robot/__init__.py", is_new=True)


@pytest.mark.parametrize("file", ["assertpy.py", "src/assertpy.py", "helping.py", "late.py", "more.py", "src/more.py"])
def test_a_new_file_does_not_shadow_a_module_that_the_project_imports(tmp_path: Path, file: str) -> None:
    """An installed one, or a helper of the tests; unless the tests fail because it is missing."""
    imports = "from assertpy import assert_that\nimport os, helping; import \\\n more.x\nlate = importorskip('late')\n"
    files = ("tests/helping.py", "shop/__init__.py", "shop/a.py", "src/main.py", "main.py")
    write(tmp_path, {**dict.fromkeys(files, ""), "tests/test_a.py": imports})

    with pytest.raises(FixError, match="shadows the module", check=has_code("patch-rejected")):
        check(tmp_path, file, is_new=True)
    check(tmp_path, f"shop/{PurePosixPath(file).name}", is_new=True)
    check(tmp_path, file, is_new=True, message=f"No module named '{PurePosixPath(file).stem}'")


def test_a_missing_package_may_be_created(tmp_path: Path) -> None:
    """Its folder contains nothing yet."""
    check(tmp_path, "price/__init__.py", is_new=True, message="No module named 'price'")


def test_patterns_are_read_from_the_project(tmp_path: Path) -> None:
    """`allow` of the options replaces that of the file, `protect` is added to it."""
    write(tmp_path, {"pyproject.toml": '[tool.eikon.fix]\nallow = ["/src/"]\nprotect = ["*.sql"]\n'})

    from_file = read_policy(tmp_path, LoopOptions(test_cmd="pytest"))
    from_both = read_policy(tmp_path, LoopOptions(test_cmd="pytest", allow=("/lib/",), protect=("*.css",)))

    assert (from_file.allow, from_file.protect) == (("/src/",), ("*.sql",))
    assert (from_both.allow, from_both.protect) == (("/lib/",), ("*.sql", "*.css"))
    assert read_policy(tmp_path / "nowhere", LoopOptions(test_cmd="pytest")) == ChangePolicy()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('allow = "src"', "allow: expected a list of patterns, got 'src'"),
        ("protect = [1]", "protect: expected a list of patterns"),
        ('deny = ["*"]', "expected the keys allow and protect, got 'deny'"),
        ('allow = ["!"]', "--allow: expected patterns as in .gitignore, got !"),
    ],
)
def test_invalid_patterns_are_rejected(tmp_path: Path, table: str, message: str) -> None:
    """Patterns are validated before anything runs."""
    write(tmp_path, {"pyproject.toml": f"[tool.eikon.fix]\n{table}\n"})

    with pytest.raises(UsageError, match=message):
        read_policy(tmp_path, LoopOptions(test_cmd="pytest"))


CHECKED = {
    **PRICE_PROJECT,
    "Makefile": "test:\n\tsh run.sh\n",
    "run.sh": "name=check\npython $(cat where)/$name.py\n",
    "where": "tools",
    "tools/check.py": "import sys\nsys.path.insert(0, '.')\nfrom price import total\nassert total([3], 1) == 2\n",
    "verify/check.py": "import sys\nsys.path.insert(0, '.')\nfrom price import total\nassert total([3], 1) == 2\n",
}


def weakened(file: str) -> str:
    """Return an answer that weakens a check and also fixes the code."""
    return (
        f"{file}\n<<<<<<< SEARCH\nassert total([3], 1) == 2\n=======\nassert total\n>>>>>>> REPLACE\n\n"
        "price.py\n<<<<<<< SEARCH\n    return sum(prices) + rebate\n=======\n    return sum(prices)\n>>>>>>> REPLACE\n"
    )


@pytest.mark.parametrize("allow", [("*.py",), ("**",), ("/tools/",)])
def test_a_weakened_check_in_a_folder_of_programs_is_no_success(tmp_path: Path, allow: tuple[str, ...]) -> None:
    """The fix is rejected and nothing is changed, even where the patterns allow the file."""
    project = make_project(tmp_path / "shop", CHECKED)
    before = everything(project)

    with loop_runner(tmp_path, weakened("tools/check.py")) as runner:
        result = runner.loop(project, test_cmd="make test", allow=allow, max_cycles=1)

    assert result.notes.failure is not None
    assert result.notes.failure.code == "patch-rejected"
    assert "'tools/check.py': expected a file that a fix may change" in result.notes.failure.message
    assert everything(project) == before


@pytest.mark.parametrize("command", ["make test", "python -m unittest || exit 1; exit 1", "true && pytest; exit 1"])
def test_without_a_report_a_fix_needs_allowed_files(tmp_path: Path, command: str) -> None:
    """Any file may determine the exit status, so the loop ends before a request to the model."""
    project = make_project(tmp_path / "shop", {**CHECKED, "where": "verify"})
    before = everything(project)

    with loop_runner(tmp_path, weakened("verify/check.py")) as runner:
        result = runner.loop(project, test_cmd=command, allow=())

    assert result.status == "FAILED"
    assert result.notes.failure is not None
    assert (result.notes.failure.step, result.notes.failure.code) == ("system:run_script", "command-unusable")
    assert "Add --allow GLOB or --target-file FILE" in result.notes.failure.message
    assert runner.model.asked == []
    assert everything(project) == before


def test_tests_with_other_names_are_protected_by_the_report(tmp_path: Path) -> None:
    """Pytest collects them by configuration, and the report names the files of failing tests."""
    config = "[pytest]\npython_files = check_*.py\n"
    files = {"price.py": PRICE_PROJECT["price.py"], "check_price.py": PRICE_PROJECT["test_price.py"]}
    project = make_project(tmp_path / "shop", {**files, "pytest.ini": config})
    answer = (
        "check_price.py\n<<<<<<< SEARCH\n    assert total([1.0, 2.0], rebate=0.5) == 2.5\n=======\n    assert total\n"
        ">>>>>>> REPLACE\n"
    )

    with loop_runner(tmp_path, answer) as runner:
        result = runner.loop(project, max_cycles=1)

    assert result.notes.failure is not None
    assert "got one with failing tests" in result.notes.failure.message


@pytest.mark.parametrize(
    ("file", "text", "command"),
    [("check.sh", "exit 0", "sh check.sh"), ("unittest.py", "raise SystemExit(0)", "python -m unittest nowhere")],
)
def test_a_fix_of_the_runner_is_no_success(tmp_path: Path, file: str, text: str, command: str) -> None:
    """The fix is rejected, and nothing is changed."""
    project = make_project(tmp_path / "shop", {**PRICE_PROJECT, "check.sh": "exit 1\n"})
    find = "exit 1\n" if file == "check.sh" else ""
    answer = f"{file}\n<<<<<<< SEARCH\n{find}=======\n{text}\n>>>>>>> REPLACE\n"
    before = everything(project)

    with loop_runner(tmp_path, answer) as runner:
        result = runner.loop(project, test_cmd=command, allow=("**",))

    assert result.notes.failure is not None
    assert (result.notes.failure.step, result.notes.failure.code) == ("fix:apply", "patch-rejected")
    assert everything(project) == before


def test_a_refused_fix_is_reported_to_the_model_which_fixes_something_else(tmp_path: Path) -> None:
    """The next prompt has the refused answer and the reason; the tests are not run again, since nothing changed."""
    project = make_project(tmp_path / "shop", CHECKED)

    with loop_runner(tmp_path, weakened("tools/check.py"), GOOD_FIX) as runner:
        result = runner.loop(project)

    assert result.notes.outcome == "success"
    first, second, _ = result.notes.history
    assert first.refusal is not None
    assert "'tools/check.py': expected a file that a fix may change" in first.refusal
    assert first.application is None
    assert second.test is None
    prompt = runner.model.asked[1].body["messages"][1]["content"]
    assert "refused: fix for 'tools/check.py'" in prompt
    assert "assert total([3], 1) == 2" in prompt
    assert (project / "tools/check.py").read_text(encoding="utf-8") == CHECKED["tools/check.py"]
    summary = (runner.session / "summary.txt").read_text(encoding="utf-8")
    assert "the fix was refused: fix for 'tools/check.py'" in summary


def test_a_fix_in_two_steps_does_not_uncover_a_check(tmp_path: Path) -> None:
    """Fixes are compared with the original project, whatever an earlier fix imports."""
    files = {**PRICE_PROJECT, "tools/check.py": "assert False\n"}
    project = make_project(tmp_path / "shop", files)
    first = (
        "price.py\n<<<<<<< SEARCH\n    return sum(prices) + rebate\n=======\n    import tools.check\n"
        "    return sum(prices) - rebate\n>>>>>>> REPLACE\n"
    )
    second = "tools/check.py\n<<<<<<< SEARCH\nassert False\n=======\npass\n>>>>>>> REPLACE\n"

    with loop_runner(tmp_path, first, second) as runner:
        result = runner.loop(project, test_cmd=f"{ASSERTS} || exit 1; exit 1", max_cycles=2)

    assert result.notes.failure is not None
    assert result.notes.failure.cycle == 2
    assert "protected by the pattern 'tools/'" in result.notes.failure.message
