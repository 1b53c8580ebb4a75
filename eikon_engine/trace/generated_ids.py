"""Recognize ids that a library or a server generates: they may differ in the next run, so they identify nothing."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from eikon_engine.secrets.detection import looks_random

_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_OF_LIBRARIES: Final = re.compile(
    rf"{_UUID}|:r[0-9a-z]+:|^_r_[0-9a-z]+_|\u00abr[0-9a-z]+\u00bb|^react-aria|^radix-|^headlessui-|[0-9]{{8,}}"
    r"|^(?:cdk|ember|ext-gen|gwt-uid|mui|uid|yui)[-_]?(?:[a-z]+[-_])*[0-9]|^ag-[0-9]+-[a-z]|^modebar-[0-9a-f]{6}$"
)
"""React's `useId`, React Aria, Radix, Headless UI, Angular CDK, Ember, Ext, MUI, YUI, AG Grid (`ag-62-input`), Plotly
(`modebar-1f0c9e`), UUIDs and long numbers."""
_HEXADECIMAL: Final = re.compile(r"(?=.*[0-9])(?=.*[a-f])[0-9a-f]{8,}")
_MIN_LENGTH: Final = 8
_MIN_CHANGES: Final = 3


def is_generated_id(text: str) -> bool:
    """Return whether an id looks generated."""
    if _OF_LIBRARIES.search(text):
        return True
    return any(_is_random(each) for each in re.split(r"[^A-Za-z0-9]+", text))


def _is_random(part: str) -> bool:
    """Return whether a part of an id is hexadecimal, or mixes letters and digits as no word does."""
    if _HEXADECIMAL.fullmatch(part):
        return True
    changes = sum(one.isdigit() != other.isdigit() for one, other in pairwise(part))
    if len(part) >= _MIN_LENGTH and changes >= _MIN_CHANGES:
        return True
    return changes == 0 and not part.isdigit() and looks_random(part)
