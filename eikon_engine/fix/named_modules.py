"""Find the Python modules that a command or script runs: `python -m checks`, `[python, "-m", "shop"]`.

Source of the flags: https://docs.python.org/3/using/cmdline.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_RUN_OPTION: Final = re.compile(
    r"""(?P<end>[;&|])|(?P<marks>\b(?:pytest|py\.test|git)\b(?=[\s"']))"""
    r"""|(?<![\w-])-[bBdEhiIOPqRsSuvVx]*m[\s"',]*(?P<module>[A-Za-z_][\w.]*)(?=(?P<more>[^;&|\n]*))"""
)
_UNITTEST_OPTION: Final = re.compile(
    r"""[\s"',]-(?:-pattern|-start-directory|-top-level-directory|[kpst])[\s"',=]+[^\s"',]+"""
)
"""Options of unittest whose value is not a module; source: https://docs.python.org/3/library/unittest.html."""
_MODULE_NAME: Final = re.compile(r"(?<![\w./=-])[A-Za-z_]\w*(?:\.\w+)*(?![\w/-])")


def modules_run(text: str) -> Iterator[str]:
    """Yield the files of the modules that are run, as paths relative to an import root.

    `-m` of pytest takes a marker and `-m` of git a message, so these are skipped. Arguments of unittest are modules.
    """
    takes_marks = False
    for found in _RUN_OPTION.finditer(text):
        module = found["module"]
        if module is None:
            takes_marks = found["marks"] is not None
        elif not takes_marks:
            takes_marks = module == "pytest"
            yield from _module_files(module)
            if module == "unittest":
                for name in _MODULE_NAME.findall(_UNITTEST_OPTION.sub(" ", found["more"])):
                    parts = name.split(".")
                    yield from (
                        each for end in range(1, len(parts) + 1) for each in _module_files(".".join(parts[:end]))
                    )


def _module_files(module: str) -> tuple[str, str]:
    path = module.strip(".").replace(".", "/")
    return f"{path}.py", f"{path}/__main__.py"
