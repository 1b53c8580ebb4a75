"""Check the code of an expected error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import EikonError

if TYPE_CHECKING:
    from collections.abc import Callable


def has_code(code: str) -> Callable[[BaseException], bool]:
    """Return a check for `pytest.raises(…, check=…)`: the error is one of ours and has this code."""
    return lambda error: isinstance(error, EikonError) and error.code == code
