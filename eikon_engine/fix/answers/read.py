"""Parse the answer of a model into a proposal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import ProposalMalformedError
from eikon_engine.fix.answers.blocks import read_blocks
from eikon_engine.fix.answers.diffs import read_diffs
from eikon_engine.fix.prompt_text import NO_FIX
from eikon_engine.fix.proposal import NoFix, TextFix

if TYPE_CHECKING:
    from eikon_engine.fix.proposal import Proposal

_NO_FIX_LINE: Final = re.compile(r"\bno\s+fix\s+found\b[\s*_`:.\-\u2013\u2014]*(?P<reason>[^\n]*)", re.IGNORECASE)
_MAX_REASON_LENGTH: Final = 300
_SHOWN: Final = 80


def parse_answer(text: str, *, needs_edits: bool) -> Proposal:
    """Return the edits of an answer in order, or `NoFix`.

    An answer that says there is no fix is `NoFix`, whatever else it contains.

    Raises:
        ProposalMalformedError: it contains no edit, or an invalid one.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    blocks = tuple(read_blocks(lines))
    taken = {number for each in blocks for number in range(each.first, each.end)}
    prose = ["" if number in taken else line for number, line in enumerate(lines)]
    diffs = tuple(read_diffs(prose))
    taken |= {number for each in diffs for number in range(each.first, each.end)}
    none = _NO_FIX_LINE.search("\n".join(line for number, line in enumerate(lines) if number not in taken))
    if none is not None:
        return NoFix(reason=none["reason"].strip()[:_MAX_REASON_LENGTH] or "the model found no fix")
    placed = sorted((*blocks, *diffs), key=lambda each: each.first)
    if not text.strip() or (needs_edits and not placed):
        message = (
            f"model response: expected search/replace blocks, a unified diff or {NO_FIX!r}, got "
            f"{_describe(text)}. Retry, or use another model."
        )
        raise ProposalMalformedError(message)
    return TextFix(text=text, edits=tuple(each.edit for each in placed))


def _describe(text: str) -> str:
    words = " ".join(text.split())
    return repr(words if len(words) <= _SHOWN else f"{words[:_SHOWN]}…") if words else "nothing"
