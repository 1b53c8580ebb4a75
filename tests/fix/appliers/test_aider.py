from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from eikon_engine.errors import EikonError, FixError, RequirementError
from eikon_engine.fix.appliers.aider import AiderApplier, AiderModel, tree_snapshot
from eikon_engine.fix.models import ReplaceText, TextFix, UnifiedDiff
from tests.error_codes import has_code

FIX = TextFix(text="Put a plus in the place of the minus in calc.py.")
PROGRAM = """\
#!{python}
import argparse, json, os, pathlib, subprocess, sys, time
arguments = sys.argv[1:]
parser = argparse.ArgumentParser(allow_abbrev=False)
for name in ("message-file", "chat-history-file", "input-history-file", "model", "weak-model", "openai-api-base"):
    parser.add_argument(f"--{{name}}")
for name in ("git", "auto-commits", "dirty-commits", "gitignore", "auto-lint", "auto-test", "check-update",
             "show-release-notes", "show-model-warnings", "suggest-shell-commands", "detect-urls", "analytics",
             "stream", "pretty", "yes-always"):
    parser.add_argument(f"--{{name}}", action=argparse.BooleanOptionalAction, default=name != "yes-always")
parser.add_argument("files", nargs="*")
asked = parser.parse_args()
git = ("git", "config")
if asked.git and not os.path.exists(".git"):
    subprocess.run(("git", "init", "-q"))
    open(".gitignore", "a").write(".aider*\\n")
if asked.git and subprocess.run((*git, "user.name"), capture_output=True).returncode:
    subprocess.run((*git, "user.name", "Your Name"))
if asked.auto_lint or asked.auto_test or asked.auto_commits or not asked.yes_always:
    sys.exit("would lint, test, commit or ask")
message = pathlib.Path(asked.message_file).read_text()
called = {{"arguments": arguments, "cwd": os.getcwd(), "message": message, "stdin": sys.stdin.read()}}
called["url"] = os.environ.get("OPENAI_BASE_URL")
pathlib.Path({called!r}).write_text(json.dumps(called))
pathlib.Path(".aider.tags.cache").mkdir(exist_ok=True)
pathlib.Path(".aider.tags.cache/x").write_text("x")
{does}
print("Applied edit")
"""
MENDS = 'path = pathlib.Path("calc.py"); path.write_text(path.read_text().replace("-", "+"))'


@dataclass(frozen=True)
class Workspace:
    """A tree, and a fake aider program."""

    tree: Path
    called_file: Path
    bin: Path

    def aider(self, does: str, timeout_seconds: float = 60) -> AiderApplier:
        """Write the program."""
        program = self.bin / "aider"
        program.write_text(
            PROGRAM.format(python=sys.executable, called=str(self.called_file), does=does), encoding="utf-8"
        )
        program.chmod(0o755)
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        return AiderApplier(environ={**os.environ, "PATH": path}, timeout_seconds=timeout_seconds)

    @property
    def contents(self) -> dict[str, bytes]:
        """Return all files of the tree except those of git."""
        files = (path for path in self.tree.rglob("*") if path.is_file() and ".git" not in path.parts)
        return {path.relative_to(self.tree).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return a repository with uncommitted changes."""
    for name in ("tree", "bin"):
        (tmp_path / name).mkdir()
    tree = tmp_path / "tree"
    subprocess.run(["git", "init", "-q", str(tree)], check=True)
    (tree / ".gitignore").write_text("*.log\n", encoding="utf-8")
    (tree / "calc.py").write_text("def add(a, b):\n    return a - b\n", encoding="utf-8")
    (tree / "other.py").write_bytes(b"x = 1\r\n")
    return Workspace(tree=tree, called_file=tmp_path / "called.json", bin=tmp_path / "bin")


def test_aider_is_called_with_the_fix_and_the_targets(workspace: Workspace) -> None:
    """Aider gets the model's answer as its message, without prompts and commits."""
    application = workspace.aider(MENDS).apply(FIX, workspace.tree, ("calc.py", "other.py"))

    called = json.loads(workspace.called_file.read_text(encoding="utf-8"))
    arguments = called["arguments"]
    assert arguments[0] == "--message-file"
    assert not Path(arguments[1]).is_relative_to(workspace.tree)
    assert {"--yes-always", "--no-auto-commits", "--no-auto-lint", "--no-auto-test"} <= set(arguments)
    assert arguments[-2:] == ["calc.py", "other.py"]
    assert {"--no-dirty-commits", "--no-gitignore", "--no-suggest-shell-commands"} <= set(arguments)
    assert called["message"].endswith(FIX.text)
    assert (called["cwd"], called["stdin"]) == (str(workspace.tree), "")
    assert application.applier == "aider"
    assert application.files == ("calc.py",)
    assert "-    return a - b\n+    return a + b\n" in application.diff
    assert application.output == "Applied edit\n"


def test_aider_does_not_touch_the_git_repository(workspace: Workspace) -> None:
    """By default Aider sets a user name in a repository, or creates a repository."""
    config = (workspace.tree / ".git" / "config").read_bytes()
    workspace.aider(MENDS).apply(FIX, workspace.tree, ("calc.py",))
    assert (workspace.tree / ".git" / "config").read_bytes() == config

    shutil.rmtree(workspace.tree / ".git")
    (workspace.tree / "calc.py").write_text("a - b", encoding="utf-8")
    assert workspace.aider(MENDS).apply(FIX, workspace.tree, ("calc.py",)).files == ("calc.py",)
    assert not (workspace.tree / ".git").exists()


@pytest.mark.parametrize(
    ("environ", "arguments", "url"),
    [
        (
            {},
            ["--model", "openai/m", "--weak-model", "openai/m", "--openai-api-base", "http://here/v1"],
            "http://here/v1",
        ),
        ({"AIDER_MODEL": "x", "AIDER_OPENAI_API_BASE": "y"}, [], None),
    ],
)
def test_aider_uses_the_model_server_of_the_loop(
    workspace: Workspace, environ: dict[str, str], arguments: list[str], url: str | None
) -> None:
    """Code and API key are sent to the loop's server only, unless Aider's own variables name another one."""
    aider = workspace.aider(MENDS)
    surroundings = {name: text for name, text in (aider.environ or {}).items() if name != "OPENAI_BASE_URL"}
    asked = AiderModel(model="m", base_url="http://here/v1")

    replace(aider, aider_model=asked, environ={**surroundings, **environ}).apply(FIX, workspace.tree, ("calc.py",))

    called = json.loads(workspace.called_file.read_text(encoding="utf-8"))
    assert [each for each in called["arguments"] if each in {*arguments, "--model"}] == arguments
    assert called["url"] == url


def test_line_endings_are_preserved(workspace: Workspace) -> None:
    """Aider reads CRLF and writes LF; a file with mixed line endings is refused, since Aider would change them."""
    (workspace.tree / "calc.py").write_bytes(b"a - b\r\nc\r\n")
    workspace.aider(MENDS).apply(FIX, workspace.tree, ("calc.py",))
    assert (workspace.tree / "calc.py").read_bytes() == b"a + b\r\nc\r\n"

    (workspace.tree / "calc.py").write_bytes(b"a - b\r\nc\n")
    with pytest.raises(
        FixError, match=r"'calc\.py': expected uniform line endings, got LF and CRLF", check=has_code("patch-rejected")
    ):
        workspace.aider(MENDS).apply(FIX, workspace.tree, ("calc.py",))
    assert (workspace.tree / "calc.py").read_bytes() == b"a - b\r\nc\n"


def test_without_target_files_aider_gets_the_files_of_the_edits(workspace: Workspace) -> None:
    """Aider gets their paths as arguments, so that it need not search for them."""
    edits = (
        ReplaceText(file="calc.py", search="x\n", replace="y\n"),
        UnifiedDiff(text="--- a/other.py\n+++ b/other.py\n@@ -1 +1 @@\n-x\n+y\n"),
    )

    workspace.aider(MENDS).apply(TextFix(text="words", edits=edits), workspace.tree, ())

    assert json.loads(workspace.called_file.read_text(encoding="utf-8"))["arguments"][-2:] == ["calc.py", "other.py"]


def test_files_of_aider_itself_are_removed(workspace: Workspace) -> None:
    """Aider's new cache files are not part of the fix; existing ones are kept."""
    (workspace.tree / ".aider.conf.yml").write_text("x", encoding="utf-8")

    workspace.aider(MENDS).apply(FIX, workspace.tree, ())

    assert sorted(workspace.contents) == [".aider.conf.yml", ".gitignore", "calc.py", "other.py"]


@pytest.mark.parametrize(
    ("does", "code", "reported"),
    [
        ("pass", "patch-rejected", "expected a change, got none: Applied edit"),
        (f"{MENDS}; open('other.py', 'w').write('x')", "patch-rejected", "'other.py': expected one of the target"),
        (f"{MENDS}; open('new.py', 'w').write('x')", "patch-rejected", "'new.py': expected one of the target"),
        (f"{MENDS}; os.remove('other.py')", "patch-rejected", "'other.py': expected one of the target"),
        (f"{MENDS}; print('no key'); sys.exit(3)", "applier-failed", "got exit status 3: no key"),
        (f"{MENDS}; time.sleep(60)", "applier-failed", "timed out after 2 s"),
    ],
)
def test_a_failure_restores_all_files(does: str, code: str, reported: str, workspace: Workspace) -> None:
    """A fix that changes nothing or too much, fails or hangs is an error, and the tree is restored."""
    before = workspace.contents

    with pytest.raises(EikonError, check=has_code(code)) as refused:
        workspace.aider(does, timeout_seconds=2 if "sleep" in does else 60).apply(FIX, workspace.tree, ("calc.py",))

    assert reported in refused.value.message
    assert workspace.contents == before


@pytest.mark.parametrize("target", ["../outside.py", ".git/config", "folder"])
def test_targets_that_must_not_change_are_not_passed_to_aider(target: str, workspace: Workspace) -> None:
    """Aider gets no file outside of the tree, inside `.git`, or behind a link."""
    (workspace.tree / "folder").symlink_to("/")

    with pytest.raises(FixError, check=has_code("patch-rejected")):
        workspace.aider(MENDS).apply(FIX, workspace.tree, (target,))
    assert not workspace.called_file.exists()


def test_a_missing_aider_is_an_error_with_installation_advice(workspace: Workspace) -> None:
    """The message says how to install it; the exit status is that of missing requirements."""
    with pytest.raises(RequirementError, match="Install it with", check=has_code("aider-missing")) as missing:
        AiderApplier(environ={**os.environ, "PATH": str(workspace.bin)}).apply(FIX, workspace.tree, ())

    assert missing.value.exit_status == 78


def test_a_tree_snapshot_preserves_every_byte(tmp_path: Path) -> None:
    """Git attributes and configuration of the project do not affect stored and restored files."""
    tree = tmp_path / "tree"
    tree.mkdir()
    files = {".gitattributes": b"* text=auto eol=lf\n", "a.txt": b"1\r\n2\n", "b.bin": b"\x00\xff", "é x": b""}
    for name, data in files.items():
        (tree / name).write_bytes(data)
    (tree / "run").write_bytes(b"#!/bin/sh\n")
    (tree / "run").chmod(0o755)

    with tree_snapshot(tree) as before:
        (tree / "a.txt").write_bytes(b"changed")
        (tree / "b.bin").unlink()
        (tree / "run").chmod(0o644)
        (tree / "new").mkdir()
        (tree / "new" / "x").write_bytes(b"x")
        changed = before.changed_files()
        before.restore()

    assert changed == ("a.txt", "b.bin", "new/x", "run")
    assert {name: (tree / name).read_bytes() for name in files} == files
    assert (tree / "run").stat().st_mode & 0o777 == 0o755
    assert not (tree / "new").exists()
