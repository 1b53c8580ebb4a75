"""A fix does not decide by itself whether the tests pass."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from eikon_engine.errors import PatchRejectedError
from eikon_engine.fix.models import Analysis, TestFailure
from eikon_engine.fix.protected_files import OriginalProject, missing_modules, require_unprotected, scan_project
from tests.fix.loop.looping import bench
from tests.fix.loop.projects import PRICE_PROJECT, everything, make_project, write


def weigh(
    tree: Path, file: str, *, command: str = "pytest", cwd: str = ".", is_new: bool = False, told: str = ""
) -> None:
    """Ask whether one file may be changed."""
    programs = scan_project(tree, command, cwd)
    project = OriginalProject(command=command, cwd=cwd, files=programs)
    failure = TestFailure(id="tests/test_a.py", kind="pytest", message=told)
    analysis = Analysis(passed=False, first=failure, summary="1 failure")
    require_unprotected((file,), {file} if is_new else (), missing_modules(analysis), project)


@pytest.mark.parametrize(
    ("file", "command", "cwd"),
    [
        ("check.sh", "sh check.sh", "."),
        ("check.sh", "./check.sh -v", "."),
        ("app/check.py", "X=1 python 'check.py'", "app"),
        ("check.sh", "sh ../check.sh", "app"),
        ("app/check.sh", "cd app && sh check.sh", "."),
        ("checks/a.py", "pytest checks/a.py::test_a", "."),
        ("checks/a.sh", "for each in checks/*.sh; do sh $each; done", "."),
        ("app/check.py", "python -m app.check", "."),
        ("app/__main__.py", "python -m app", "."),
        ("node_modules/jest/index.js", "npx jest", "."),
        ("pytest.py", "pytest", "."),
        ("src/_pytest/main.py", "pytest", "."),
        ("pytest_extra.py", "pytest", "."),
    ],
)
def test_what_the_command_runs_is_left_alone(tmp_path: Path, file: str, command: str, cwd: str) -> None:
    """Whatever runs the tests, or is run as one, takes a target file to be changed."""
    with pytest.raises(PatchRejectedError, match="name it with --target-file"):
        weigh(tmp_path, file, command=command, cwd=cwd)


@pytest.mark.parametrize("file", ["json.py", "unittest/__init__.py", "src/typing.py", "app/types.py"])
def test_a_new_file_does_not_take_the_place_of_a_module_of_python(tmp_path: Path, file: str) -> None:
    """A folder that is no package may be one that Python imports from; a file that was there is the project's."""
    with pytest.raises(PatchRejectedError, match="shadows the module"):
        weigh(tmp_path, file, is_new=True)
    if "unittest" not in file:
        weigh(tmp_path, file)


def test_a_module_of_a_package_may_be_called_as_it_likes(tmp_path: Path) -> None:
    """It is imported by the name of its package; other files are none of the command's."""
    write(tmp_path, {"shop/__init__.py": ""})

    weigh(tmp_path, "shop/types.py", is_new=True)
    weigh(tmp_path, "price.py", command="python check.py && pytest -k price", is_new=True)
    weigh(tmp_path, "lib/check.py", command="python check.py")


@pytest.mark.parametrize("file", ["green.py", "src/hypothesis/__init__.py", "pytest_more.py"])
def test_a_new_file_does_not_take_the_place_of_a_runner(tmp_path: Path, file: str) -> None:
    """Nor of what a runner imports."""
    with pytest.raises(PatchRejectedError, match="shadows the module"):
        weigh(tmp_path, file, is_new=True)


def test_names_that_runners_have_as_well_may_be_the_projects(tmp_path: Path) -> None:
    """What is there under such a name, what lies in a folder called so, and modules of packages."""
    files = ("robot/__init__.py", "robot/arm.py", "insurance/__init__.py", "insurance/coverage.py", "py/calc.py")
    use = "import calc, robot.arm, insurance.coverage"
    write(tmp_path, {**dict.fromkeys(files, ""), "test_it.py": use})

    for file in files:
        weigh(tmp_path, file)
    for file in ("robot/leg.py", "insurance/unittest.py", "py/sums.py"):
        weigh(tmp_path, file, is_new=True)


@pytest.mark.parametrize("file", ["assertpy.py", "assertpy/__init__.py", "src/assertpy.py", "helping.py", "late.py"])
def test_a_new_file_does_not_take_the_place_of_what_is_installed(tmp_path: Path, file: str) -> None:
    """Of what the project imports and does not have, or has beside its tests alone; unless it is nowhere."""
    use = "from assertpy import assert_that\nimport helping\nlate = pytest.importorskip('late')\nfrom shop import a\n"
    write(tmp_path, {"tests/test_a.py": use, "tests/helping.py": "", "shop/__init__.py": "", "shop/a.py": ""})

    with pytest.raises(PatchRejectedError, match="shadows the module"):
        weigh(tmp_path, file, is_new=True)
    weigh(tmp_path, f"shop/{file.removeprefix('src/')}", is_new=True)
    name = PurePosixPath(file.removeprefix("src/")).parts[0].removesuffix(".py")
    weigh(tmp_path, file, is_new=True, told=f"ModuleNotFoundError: No module named '{name}'")


@pytest.mark.parametrize("file", ["new.config.js", "web/runner.conf.cjs", "x.config.mts"])
def test_new_settings_of_programs_are_not_made(tmp_path: Path, file: str) -> None:
    """Whatever runner looks for them; one that code imports is code."""
    write(tmp_path, {"app.config.ts": "", "main.ts": "import './app.config'\n"})

    with pytest.raises(PatchRejectedError, match="a new configuration file"):
        weigh(tmp_path, file, is_new=True)
    weigh(tmp_path, "app.config.ts")


@pytest.mark.parametrize(
    ("file", "text", "command"),
    [("check.sh", "exit 0", "sh check.sh"), ("unittest.py", "raise SystemExit(0)", "python -m unittest nowhere")],
)
def test_a_loop_reports_no_success_of_a_test_that_was_bent(tmp_path: Path, file: str, text: str, command: str) -> None:
    """The fix is rejected, and nothing is changed; with the file as a target it is what was asked for."""
    project = make_project(tmp_path / "shop", {**PRICE_PROJECT, "check.sh": "exit 1\n"})
    find = "exit 1\n" if file == "check.sh" else ""
    answer = f"{file}\n<<<<<<< SEARCH\n{find}=======\n{text}\n>>>>>>> REPLACE\n"
    before = everything(project)

    with bench(tmp_path, answer) as seat:
        result = seat.loop(project, test_cmd=command)

    assert result.notes.failure is not None
    assert (result.notes.failure.step, result.notes.failure.code) == ("fix:apply", "patch-rejected")
    assert everything(project) == before
