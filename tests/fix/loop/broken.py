"""Five small projects with different bugs, each with the model answers that fix it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tests.fix.loop.projects import GOOD_FIX, PRICE_PROJECT, PYTEST


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A project, and its fixes."""

    files: Mapping[str, str]
    answers: tuple[str, ...]
    cycles: int
    command: str = PYTEST
    targets: tuple[str, ...] = ()


WRONG_OPERATOR = Broken(files=PRICE_PROJECT, answers=(GOOD_FIX,), cycles=2)

MISSING_IMPORT = Broken(
    files={
        "src/clock/__init__.py": "",
        "src/clock/span.py": (
            "LIMIT = timedelta(hours=1)\n\n\ndef is_long(minutes):\n    return timedelta(minutes=minutes) < LIMIT\n"
        ),
        "tests/test_span.py": (
            "from clock.span import is_long\n\n\n"
            "def test_long():\n    assert is_long(90)\n\n\ndef test_short():\n    assert not is_long(5)\n"
        ),
        "pytest.ini": "[pytest]\npythonpath = src\n",
    },
    answers=(
        (
            "src/clock/span.py\n<<<<<<< SEARCH\nLIMIT = timedelta(hours=1)\n=======\n"
            "from datetime import timedelta\n\nLIMIT = timedelta(hours=1)\n>>>>>>> REPLACE\n"
        ),
        (
            "Now the comparison is the wrong way round.\n\n"
            "src/clock/span.py\n<<<<<<< SEARCH\n    return timedelta(minutes=minutes) < LIMIT\n=======\n"
            "    return timedelta(minutes=minutes) > LIMIT\n>>>>>>> REPLACE\n"
        ),
    ),
    cycles=3,
)
"""The module cannot be imported at first; once it can, its tests find a second bug."""

TWO_FAULTS = Broken(
    files={
        "names.py": "def initials(name):\n    return [word[1] for word in name.split()]\n",
        "words.py": "def is_palindrome(word):\n    return word == word[::1] and len(word) > 99\n",
        "test_all.py": (
            "from names import initials\nfrom words import is_palindrome\n\n\n"
            "def test_initials():\n    assert initials('Ada Byron') == ['A', 'B']\n\n\n"
            "def test_palindrome():\n    assert is_palindrome('level')\n"
        ),
    },
    answers=(
        (
            "names.py\n<<<<<<< SEARCH\n    return [word[1] for word in name.split()]\n=======\n"
            "    return [word[0] for word in name.split()]\n>>>>>>> REPLACE\n"
        ),
        (
            "words.py\n<<<<<<< SEARCH\n    return word == word[::1] and len(word) > 99\n=======\n"
            "    return word == word[::-1]\n>>>>>>> REPLACE\n"
        ),
    ),
    cycles=3,
)
"""Two tests fail: the first fix helps one of them, and is kept."""

SCRIPT = Broken(
    files={
        "app/check.py": (
            "from settings import SETTINGS\n\n\ndef port():\n    return int(SETTINGS['prot'])\n\n\n"
            "assert port() == 8080\nprint('ok')\n"
        ),
        "app/settings.py": "SETTINGS = {'port': '8080'}\n",
    },
    answers=(
        (
            "The key is misspelt:\n\n```diff\n--- a/app/check.py\n+++ b/app/check.py\n@@ -3,3 +3,3 @@\n \n"
            " def port():\n"
            "-    return int(SETTINGS['prot'])\n+    return int(SETTINGS['port'])\n```\n"
        ),
    ),
    cycles=2,
    command=f"{sys.executable} app/check.py",
    targets=("app/check.py",),
)
"""No pytest: a script that ends in a traceback, fixed by a unified diff."""

MISSING_MODULE = Broken(
    files={
        "bill.py": "from tax import with_tax\n\n\ndef total(net):\n    return with_tax(net)\n",
        "test_bill.py": "from bill import total\n\n\ndef test_total():\n    assert total(100) == 119\n",
    },
    answers=("tax.py\n<<<<<<< SEARCH\n=======\ndef with_tax(net):\n    return net * 119 // 100\n>>>>>>> REPLACE\n",),
    cycles=2,
)
"""A module is missing, and is created."""

BROKEN: Final[Mapping[str, Broken]] = {
    "wrong_operator": WRONG_OPERATOR,
    "missing_import": MISSING_IMPORT,
    "two_faults": TWO_FAULTS,
    "script": SCRIPT,
    "missing_module": MISSING_MODULE,
}
