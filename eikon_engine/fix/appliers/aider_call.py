"""Arguments and environment of Aider, so that it asks nothing, runs nothing, and changes only the given files.

Source of the options and variables: https://aider.chat/docs/config/options.html, and the observed behavior of Aider
0.86.2 (`benchmarks/real_aider.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.completions.openai_client import URL_VARIABLE
from eikon_engine.fix.git import without_git_variables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_NON_INTERACTIVE: Final = (
    "--yes-always", "--no-auto-commits", "--no-dirty-commits", "--no-gitignore", "--no-auto-lint", "--no-auto-test",
    "--no-check-update", "--no-show-release-notes", "--no-show-model-warnings", "--no-suggest-shell-commands",
    "--no-detect-urls", "--no-analytics", "--no-stream", "--no-pretty",
)  # fmt: skip
"""Linting is on by default: it sends up to three more requests about existing code."""
_MODEL_VARIABLE: Final = "AIDER_MODEL"
_URL_VARIABLE: Final = "AIDER_OPENAI_API_BASE"
_OPENAI_PREFIX: Final = "openai/"
_LOCAL_PRICES: Final = "LITELLM_LOCAL_MODEL_COST_MAP"
_GIT_USER: Final[Mapping[str, str]] = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "user.name",
    "GIT_CONFIG_VALUE_0": "nobody",
    "GIT_CONFIG_KEY_1": "user.email",
    "GIT_CONFIG_VALUE_1": "nobody@localhost",
}
"""Aider writes a user name to `.run_git/config` if git has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AiderModel:
    """The model that Aider uses: the one that generates fixes, unless Aider's own settings name another."""

    model: str | None = None
    base_url: str | None = None

    def arguments(self, environ: Mapping[str, str]) -> tuple[str, ...]:
        """Return the options that select the model; empty if Aider's settings decide."""
        found: list[str] = []
        if self.model is not None and not environ.get(_MODEL_VARIABLE):
            name = self.model if self.model.startswith(_OPENAI_PREFIX) else f"{_OPENAI_PREFIX}{self.model}"
            found += ["--model", name, "--weak-model", name]
        if self.base_url is not None and not environ.get(_URL_VARIABLE):
            found += ["--openai-api-base", self.base_url]
        return tuple(found)

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the variable that Aider's client library reads first, consistent with the options."""
        return {} if self.base_url is None or environ.get(_URL_VARIABLE) else {URL_VARIABLE: self.base_url}


def aider_arguments(message: Path, scratch: Path, *, model: Sequence[str], has_git: bool) -> list[str]:
    """Return all options except the files; histories are written to `scratch`.

    Without `--no-run_git` Aider would create a repository.
    """
    histories = (
        part for kind in ("chat", "input") for part in (f"--{kind}-history-file", str(scratch / f"{kind}.history"))
    )
    return ["--message-file", str(message), *_NON_INTERACTIVE, *(() if has_git else ("--no-git",)), *histories, *model]


def aider_environment(environ: Mapping[str, str], tree: Path, aider_model: AiderModel) -> dict[str, str]:
    """Return the environment: no repository above the tree, bundled model prices, no lookup of newer ones."""
    return {
        _LOCAL_PRICES: "True",
        **without_git_variables(environ),
        **aider_model.environment(environ),
        **_GIT_USER,
        "GIT_CEILING_DIRECTORIES": str(tree.parent),
    }
