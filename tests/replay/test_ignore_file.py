"""An ignore file is parsed strictly: an unknown word would hide nothing, or too much."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import UsageError
from eikon_engine.replay.ignore_file import read_ignore_file
from eikon_engine.trace.masks import ConsoleErrorPart, Mask, RequestPart, SelectorPart, StoragePart, TitlePart

if TYPE_CHECKING:
    from pathlib import Path

FILE = """
[[ignore]]
reason = "rotating"
selector = "aside#ad, .ad"

[[ignore]]
name = "stamp"
reason = "time of the build"
selector = "footer"
attribute = "data-built"
url = "http://shop.test/*"
frame = ""

[[ignore]]
reason = "third party"
request = "GET https://ads.test/*"

[[ignore]]
reason = "an id of the visit"
storage = "_ga*"

[[ignore]]
reason = "counts visitors"
title = true

[[ignore]]
reason = "a missing picture"
console_error = "Failed to load"
"""


def test_every_kind_is_read(tmp_path: Path) -> None:
    """Entries without a name are referred to by their number."""
    path = tmp_path / "ignore.toml"
    path.write_text(FILE)

    assert read_ignore_file(path) == (
        Mask(name="ignore-1", reason="rotating", part=SelectorPart(selector="aside#ad, .ad")),
        Mask(
            name="stamp",
            reason="time of the build",
            url="http://shop.test/*",
            frame="",
            part=SelectorPart(selector="footer", attribute="data-built"),
        ),
        Mask(name="ignore-3", reason="third party", part=RequestPart(key="GET https://ads.test/*")),
        Mask(name="ignore-4", reason="an id of the visit", part=StoragePart(name="_ga*")),
        Mask(name="ignore-5", reason="counts visitors", part=TitlePart()),
        Mask(name="ignore-6", reason="a missing picture", part=ConsoleErrorPart(prefix="Failed to load")),
    )


BAD = {
    "no file": (
        None,
        "tables, got: No such file or directory; check the path",
    ),
    "no TOML": ("[[ignore", "expected a TOML file"),
    "another table": ("[mask]\nreason='x'", "expected only [[ignore]] tables, got mask"),
    "no tables": ("ignore = 3", "another type of ignore"),
    "no reason": (
        "[[ignore]]\nselector='a'",
        "ignore 1: reason: this field is missing; add why",
    ),
    "a reason that is no text": ("[[ignore]]\nselector='a'\nreason=3", "ignore 1: reason: expected a string, got 3"),
    "nothing to ignore": ("[[ignore]]\nreason='x'", "ignore 1: expected one of selector, request"),
    "two things": ("[[ignore]]\nreason='x'\nselector='a'\nrequest='b'", "got selector, request"),
    "unknown word": ("[[ignore]]\nreason='x'\nselektor='a'", "ignore 1: unknown key 'selektor'"),
    "attribute of a request": ("[[ignore]]\nreason='x'\nrequest='a'\nattribute='b'", "attribute requires selector"),
    "no selector": ("[[ignore]]\nreason='x'\nselector='a['", "expected a CSS selector"),
    "unsupported syntax": ("[[ignore]]\nreason='x'\nselector='a:hover'", "unsupported syntax"),
    "no text": ("[[ignore]]\nreason='x'\nrequest=3", "ignore 1: key"),
    "a title that is not": ("[[ignore]]\nreason='x'\ntitle=false\n", "title: expected true, got False"),
    "a name twice": ("[[ignore]]\nname='a'\nreason='x'\ntitle=true\n" * 2, "duplicate name 'a'"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_invalid_ignore_file_is_refused_in_one_line(case: str, tmp_path: Path) -> None:
    """The line has the file and the number of the table."""
    text, message = BAD[case]
    path = tmp_path / "ignore.toml"
    if text is not None:
        path.write_text(text)

    with pytest.raises(UsageError) as caught:
        read_ignore_file(path)

    assert message in caught.value.message
    assert caught.value.message.startswith(str(path))
    assert "\n" not in caught.value.message.replace("\\n", "")
