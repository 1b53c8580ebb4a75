"""What is a module, and what may decide what a test run says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from eikon_engine.fix.protected_files import imported_files, scan_project
from tests.fix.loop.looping import bench
from tests.fix.loop.projects import ASSERTS, PRICE_PROJECT, everything, make_project, write

SHOP: Mapping[str, str] = {
    "Makefile": "include more.mk\ntest:\n\tsh scripts/all.sh\n",
    "more.mk": "CHECK = tools/limits.py\n",
    "package.json": '{"scripts": {"test": "node tools/run.js"}}',
    "scripts/all.sh": "NAME=check; python tools/$NAME.py\n",
    "tools/check.py": "from shop.price import total\nassert total() == 3\n",
    "tools/limits.py": "LIMIT = 3\n",
    "tools/other.py": "import tools.limits\n",
    "tools/run.js": "require('../web/cart')\n",
    "shop/__init__.py": "",
    "shop/price.py": "from . import sums\nfrom .tax import (\n    rate,\n    more,\n)\ntotal = sums.two() + rate\n",
    "shop/sums.py": "def two(): return 1\n",
    "shop/tax.py": "rate = 1\n",
    "shop/data.json": "{}",
    "web/cart.ts": "export * from './sum.js'\n",
    "web/sum.ts": "export const sum = 1\n",
    "web/lib/index.js": "",
    "web/page.html": "<script src='late.js'></script>",
    "web/late.js": "import './lib'\n",
    "app.py": "print(1)\n",
    "urls.py": "ROOT = 'shop.price'\n",
    "tests/test_app.py": "import subprocess\nsubprocess.run(['python', 'app.py'])\n",
    "lib/run.rb": "#!/usr/bin/env ruby\n",
    "lib/cart.rb": "",
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Write a project whose tests are run by way of others."""
    write(tmp_path, SHOP)
    return tmp_path


@pytest.mark.parametrize("file", ["tools/check.py", "tools/other.py", "urls.py", "lib/run.rb"])
def test_source_that_nobody_uses_may_be_a_program_that_tests(shop: Path, file: str) -> None:
    """Whatever runs it, by whatever name."""
    assert scan_project(shop, "make test", ".").protection_reason(file) in {
        "a program",
        "a file that no other file imports, which may be a test program",
    }


@pytest.mark.parametrize("file", ["scripts/all.sh", "more.mk", "shop/data.json", ".hidden.py", "new.cfg", "setup.py"])
def test_what_is_no_source_may_decide(shop: Path, file: str) -> None:
    """Scripts, settings and data, also those that a fix would make."""
    role = scan_project(shop, "make test", ".").protection_reason(file)

    assert role == "a file that is not source code: a script, configuration or data"


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("make test", "tools/limits.py"),
        ("npm test", "tools/run.js"),
        ("sh -c 'cd scripts; sh all.sh'", "scripts/all.sh"),
        ("/usr/bin/make -C ..", "tools/limits.py"),
        ("python -m tools.check", "tools/check.py"),
        ("cd tools && python3 -Bm check", "tools/check.py"),
        ("PYTHONPATH=tools coverage run -m check", "tools/check.py"),
        ("python -m unittest -v tools.check.Case", "tools/check.py"),
    ],
)
def test_what_the_command_comes_to_run_is_followed(shop: Path, command: str, file: str) -> None:
    """From the command to what it reads, and to what that names, also where other files use it."""
    assert file in scan_project(shop, command, "shop" if ".." in command else ".").executed


def test_what_is_run_as_a_module_is_followed_like_a_file(tmp_path: Path) -> None:
    """What it imports is what it tests by, as far as nothing else uses it."""
    texts = {"checks.py": "from rules import demand\nfrom calc import add\n", "rules.py": "", "calc.py": ""}
    write(tmp_path, {**texts, "tests/test_a.py": "import calc\n", "run.py": "CALL = [python, '-m', 'checks']\n"})

    for command in ("python -m checks", "python checks.py", "python run.py"):
        programs = scan_project(tmp_path, command, ".")
        assert programs.protection_reason("checks.py") == "a file that the test command runs"
        assert (
            programs.protection_reason("rules.py") == "a file that no other file imports, which may be a test program"
        )
        assert programs.protection_reason("calc.py") is None


@pytest.mark.parametrize(
    "command", ["pytest -m shop", "python -m pytest -m shop", "git commit -m shop", "python -m unittest -k shop -v"]
)
def test_a_mark_or_a_message_is_no_module(tmp_path: Path, command: str) -> None:
    """The flag of another program means something else."""
    write(tmp_path, {"shop.py": "", "lib/shop.py": ""})

    assert scan_project(tmp_path, command, ".").executed == frozenset()


@pytest.mark.parametrize(
    "file",
    [
        *("shop/price.py", "shop/sums.py", "shop/tax.py", "shop/__init__.py", "shop/new.py"),
        *("web/cart.ts", "web/sum.ts", "web/late.js", "web/lib/index.js", "web/new.ts"),
        *("app.py", "lib/cart.rb"),
    ],
)
def test_modules_may_be_changed(shop: Path, file: str) -> None:
    """What others import, load or name, what tests run, and what is new."""
    assert scan_project(shop, "make test", ".").protection_reason(file) is None


def test_what_a_test_runs_as_a_module_is_what_it_tests(tmp_path: Path) -> None:
    """Like a program that it runs by its path; other files make no module of a program in that way."""
    run = "subprocess.run([sys.executable, '-m', 'shop'])\n"
    write(tmp_path, {"shop/__main__.py": "", "tests/test_a.py": run, "tool/__main__.py": "", "docs.py": "# -m tool\n"})

    programs = scan_project(tmp_path, "pytest", ".")

    assert programs.protection_reason("shop/__main__.py") is None
    assert (
        programs.protection_reason("tool/__main__.py")
        == "a file that no other file imports, which may be a test program"
    )


def test_a_file_does_not_make_itself_a_module() -> None:
    """Its own name in itself is no use of it; a module of the same name elsewhere in a package is none either."""
    assert imported_files({"check.py": "import check\nFILE = 'check.py'\n"}) == frozenset()
    assert imported_files({"a/check.py": "", "b/x.py": "from . import check\n"}) == frozenset()


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("index.js", {"main": "index.js"}),
        ("lib/calc.js", {"main": "lib/calc"}),
        ("src/calc.mjs", {"exports": {".": {"import": "./src/calc.mjs"}}}),
        ("src/deep/calc.ts", {"exports": {"./*": "./src/*.ts"}}),
        ("src/calc.js", {"bin": {"calc": "src/calc.js"}}),
    ],
)
@pytest.mark.parametrize("command", ["npm test", "node --test"])
def test_what_a_package_consists_of_is_no_program_that_tests(
    tmp_path: Path, file: str, told: dict[str, object], command: str
) -> None:
    """Entries are used; scripts that are not wanted are not run."""
    manifest = {**told, "name": "shop", "scripts": {"test": "node --test", "start": f"node {file}"}}
    write(tmp_path, {"package.json": json.dumps(manifest), file: ""})

    assert scan_project(tmp_path, command, ".").protection_reason(file) is None


def test_files_of_a_package_are_used_by_its_name(tmp_path: Path) -> None:
    """From wherever it is imported."""
    files = {"kit/package.json": '{"name": "@shop/kit"}', "kit/lib/sum.js": "", "kit/index.js": ""}
    write(tmp_path, {**files, "web/a.js": "import '@shop/kit/lib/sum.js'; import('@shop/kit')\n"})

    programs = scan_project(tmp_path, "npm test", ".")

    assert {programs.protection_reason("kit/lib/sum.js"), programs.protection_reason("kit/index.js")} == {None}


@pytest.mark.parametrize(
    ("command", "run"),
    [
        ("npm test", {"check.js", "before.js", "all.js", "setup.js", "part.js"}),
        ("npm t", {"check.js", "before.js", "all.js", "setup.js", "part.js"}),
        ("pnpm run start", {"app.js", "setup.js"}),
        ("npx shop", {"app.js", "check.js", "before.js", "all.js", "setup.js", "part.js", "tool.js", "made.js"}),
        ("npm ci && npm start", {"app.js", "setup.js", "made.js"}),
        ("npx shop start", {"app.js", "setup.js", "tool.js"}),
    ],
)
def test_scripts_that_are_wanted_are_followed(tmp_path: Path, command: str, run: set[str]) -> None:
    """With what npm runs before them, what they run, settings of test tools, and all of it where none is named."""
    scripts = {
        "test": "run-s check:*",
        "pretest": "node before.js",
        "check:all": "node all.js && npm run part",
        "check:it": "node check.js",
        "part": "node part.js",
        "start": "node app.js",
        "prepare": "node made.js",
    }
    manifest = {"bin": {"shop": "tool.js"}, "scripts": scripts, "jest": {"setupFiles": ["<rootDir>/setup.js"]}}
    names = ("check.js", "before.js", "all.js", "part.js", "app.js", "tool.js", "setup.js", "made.js")
    write(tmp_path, {"package.json": json.dumps(manifest), **dict.fromkeys(names, "")})

    assert scan_project(tmp_path, command, ".").executed - {"package.json"} == run


@pytest.mark.parametrize("broken", ["", "def broken(:\n"])
@pytest.mark.parametrize(
    "text",
    [
        "from calc import \\\n    core\n",
        "from calc import (\n    base,  # (the base)\n    core,\n)\n",
        "import os; import calc.core\n",
        "if True: from calc import core\n",
        "try: import calc.base as base, calc.core as core\nfinally: pass\n",
    ],
)
def test_imports_are_found_however_they_are_written(text: str, broken: str) -> None:
    """By the grammar, and in files that have none, as well as patterns can."""
    files = {"calc/__init__.py": "", "calc/base.py": "", "calc/core.py": "", "use.py": text + broken}

    assert "calc/core.py" in imported_files(files)


def test_what_a_text_only_speaks_of_is_not_imported() -> None:
    """A sentence that begins like an import is none."""
    assert imported_files({"core.py": "", "use.py": '"""Take what you\nimport core\nfor."""\n'}) == frozenset()


def test_a_loop_reports_no_success_of_a_check_that_was_bent(tmp_path: Path) -> None:
    """The command runs a script that runs the check: a fix of the check is rejected, of the code it is taken."""
    files = {
        **PRICE_PROJECT,
        "Makefile": "test:\n\tsh run.sh\n",
        "run.sh": "name=check\npython tools/$name.py\n",
        "tools/check.py": "import sys\nsys.path.insert(0, '.')\nfrom price import total\nassert total([3], 1) == 2\n",
    }
    project = make_project(tmp_path / "shop", files)
    answer = (
        "tools/check.py\n<<<<<<< SEARCH\nassert total([3], 1) == 2\n=======\nassert total\n>>>>>>> REPLACE\n\n"
        "price.py\n<<<<<<< SEARCH\n    return sum(prices) + rebate\n=======\n    return sum(prices)\n>>>>>>> REPLACE\n"
    )
    before = everything(project)

    with bench(tmp_path, answer) as seat:
        result = seat.loop(project, test_cmd="make test")

    assert result.notes.failure is not None
    assert result.notes.failure.code == "patch-rejected"
    assert "'tools/check.py': expected a file that does not decide" in result.notes.failure.message
    assert everything(project) == before


def test_a_fix_in_two_steps_does_not_make_a_module_of_a_check(tmp_path: Path) -> None:
    """Fixes are held against the project as it was at first, whatever an earlier one imports."""
    files = {**PRICE_PROJECT, "tools/check.py": "assert False\n"}
    project = make_project(tmp_path / "shop", files)
    first = (
        "price.py\n<<<<<<< SEARCH\n    return sum(prices) + rebate\n=======\n    import tools.check\n"
        "    return sum(prices) - rebate\n>>>>>>> REPLACE\n"
    )
    second = "tools/check.py\n<<<<<<< SEARCH\nassert False\n=======\npass\n>>>>>>> REPLACE\n"

    with bench(tmp_path, first, second) as seat:
        result = seat.loop(project, test_cmd=f"{ASSERTS} || exit 1; exit 1", max_cycles=2)

    assert result.notes.failure is not None
    assert result.notes.failure.cycle == 2
    assert "a file that no other file imports" in result.notes.failure.message
