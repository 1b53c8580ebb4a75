"""The status of a block follows from the exception that ended it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from eikon_engine.record.attempts import status_for_error

if TYPE_CHECKING:
    from eikon_engine.trace.execution import MissionStatus


def while_handling(earlier: BaseException, error: BaseException) -> BaseException:
    """Return an error that was raised while an earlier one was handled."""
    error.__context__ = earlier
    return error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (None, "complete"),
        (SystemExit(0), "complete"),
        (SystemExit(2), "failed"),
        (ValueError(), "failed"),
        (while_handling(asyncio.CancelledError(), TimeoutError()), "failed"),
        (asyncio.CancelledError(), "aborted"),
        (KeyboardInterrupt(), "aborted"),
        (while_handling(while_handling(KeyboardInterrupt(), OSError()), ValueError()), "aborted"),
    ],
)
def test_an_interrupted_block_is_aborted(error: BaseException | None, status: MissionStatus) -> None:
    """Also if the block raised an error while it ended: after Ctrl-C, the driver is gone."""
    assert status_for_error(error) == status
