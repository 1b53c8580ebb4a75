from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.errors import FixError
from eikon_engine.fix.change_policy import AllowedFiles
from tests.error_codes import has_code


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "/etc/passwd",
        "../outside.py",
        "a/../../outside.py",
        "a\\..\\b",
        "C:/x",
        "x\0y",
        ".git/config",
        "a/.GIT/hooks/pre-commit",
        ".git./config",
        "folder",
        "file.py/below.py",
        "link.py",
        "linked/x.py",
        "é" * 200 + ".py",
        "a/" * 600 + "b.py",
        "x" * 400,
        "\ud83d.py",
    ],
)
@pytest.mark.parametrize("targets", [(), ("",), (".",)])
def test_a_path_outside_the_project_is_refused(name: str, targets: tuple[str, ...], tmp_path: Path) -> None:
    """Paths outside of the tree, inside `.git`, or through a link are refused, even as target files."""
    tree = _tree(tmp_path)

    with pytest.raises(FixError, check=has_code("patch-rejected")):
        AllowedFiles(tree=tree, targets=targets).require(name)


@pytest.mark.parametrize(
    "name",
    [
        *("tests/test_a.py", "test_a.py", "src/a.test.ts", "tests/data/x.json"),
        *(
            "shop/tests.py",
            "test.py",
            "price_test.py",
            "price_tests.py",
            "src/a.spec.ts",
            "a.test.mjs",
            "a_spec.rb",
            "a-spec.ts",
        ),
        *("test.sh", "run_tests.sh", "test-a.js", "a-test.js", "PriceTest.java", "spec/a.rb"),
        *("vite.config.mts", "jest.setup.js", "karma.conf.js", "ava.config.cjs", "src/__mocks__/price.js"),
        *("a/conftest.py", "pytest.ini", "pyproject.toml", "package.json", "Makefile", "sitecustomize.py"),
    ],
)
def test_tests_are_changed_only_as_target_files(name: str, tmp_path: Path) -> None:
    """A fix that changes the tests does not prove that the code is correct."""
    tree = _tree(tmp_path)

    with pytest.raises(FixError, match="name it with --target-file", check=has_code("patch-rejected")):
        AllowedFiles(tree=tree, targets=()).require(name)
    assert AllowedFiles(tree=tree, targets=(name,)).require(name) == name


@pytest.mark.parametrize(
    "name", ["testing.py", "contest.py", "api/openapi_spec.py", "latest/a.py", "a.json", "src/attest_x.py"]
)
def test_a_name_similar_to_a_test_is_not_protected(name: str, tmp_path: Path) -> None:
    """Only whole words of a file name mark a test."""
    assert AllowedFiles(tree=_tree(tmp_path), targets=()).require(name) == name


def test_targets_are_files_and_folders(tmp_path: Path) -> None:
    """Only target files, and files inside target folders, may be changed; a common prefix is not enough."""
    bounds = AllowedFiles(tree=_tree(tmp_path), targets=("file.py", "folder"))

    assert [bounds.require(name) for name in ("file.py", "./file.py", "folder//new.py")] == [
        "file.py",
        "file.py",
        "folder/new.py",
    ]
    for name in ("other.py", "file.pyc", "folder2/x.py"):
        with pytest.raises(
            FixError, match=r"expected one of the target files \(file.py, folder\)", check=has_code("patch-rejected")
        ):
            bounds.require(name)


@given(st.text(st.sampled_from("./\\a:gitGIT \0~"), max_size=12))
def test_every_allowed_path_is_inside_the_tree(name: str) -> None:
    """Any accepted path is inside the tree, and not inside `.git`."""
    tree = Path("/nowhere/tree")
    try:
        plain = AllowedFiles(tree=tree, targets=()).require(name)
    except FixError:
        return

    path = (tree / plain).resolve()
    assert path.is_relative_to(tree)
    assert path != tree
    assert ".git" not in {part.lower() for part in path.parts}


def _tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "folder").mkdir(parents=True)
    (tree / "file.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "outside").mkdir()
    (tree / "link.py").symlink_to("file.py")
    (tree / "linked").symlink_to(tmp_path / "outside")
    return tree
