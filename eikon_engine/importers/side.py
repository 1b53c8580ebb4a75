"""Read projects of Selenium IDE: `.side`, JSON.

Commands: https://www.selenium.dev/selenium-ide/docs/en/api/commands, shape of the file:
https://github.com/SeleniumHQ/selenium-ide/blob/trunk/packages/side-model/src/types.ts
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from pydantic import BaseModel, ConfigDict, ValidationError

from eikon_engine.errors import ForeignFormatError
from eikon_engine.importers.mission import Gathering, ImportedMission, ImportedSubgoal, Screen
from eikon_engine.importers.selectors import from_selenium
from eikon_engine.importers.target import target_of
from eikon_engine.trace.actions import Point

if TYPE_CHECKING:
    from pydantic import JsonValue

    from eikon_engine.trace.target import Target

_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")
_KEY: Final = re.compile(r"\$\{KEY_(\w+)\}")
_KEYS: Final = {
    "ENTER": "Enter",
    "RETURN": "Enter",
    "TAB": "Tab",
    "ESC": "Escape",
    "ESCAPE": "Escape",
    "BACKSPACE": "Backspace",
    "BKSP": "Backspace",
    "DELETE": "Delete",
    "DEL": "Delete",
    "SPACE": "Space",
    "UP": "ArrowUp",
    "DOWN": "ArrowDown",
    "LEFT": "ArrowLeft",
    "RIGHT": "ArrowRight",
    "PAGE_UP": "PageUp",
    "PGUP": "PageUp",
    "PAGE_DOWN": "PageDown",
    "PGDN": "PageDown",
    "HOME": "Home",
    "END": "End",
    "INSERT": "Insert",
    **{f"F{number}": f"F{number}" for number in range(1, 13)},
}
_WITHOUT_EFFECT: Final = {
    "echo": "it only writes to a log",
    "debugger": "it only stops for a person",
    "setSpeed": "a replay has no speed",
    "pause": "page time passes as it was recorded; `eikon certify` finds what a page needs",
    "mouseOut": "the next action moves the pointer",
    "mouseUp": "",
}


class _Command(BaseModel):
    model_config = ConfigDict(extra="ignore")

    command: str
    target: str = ""
    value: str = ""
    targets: tuple[tuple[str, str], ...] = ()
    opensWindow: bool = False  # noqa: N815 - the name in the file
    windowHandleName: str = ""  # noqa: N815 - the name in the file


class _Test(BaseModel):
    model_config = ConfigDict(extra="ignore")

    name: str
    commands: tuple[_Command, ...]


class _Project(BaseModel):
    model_config = ConfigDict(extra="ignore")

    name: str = "project"
    url: str = ""
    tests: tuple[_Test, ...]
