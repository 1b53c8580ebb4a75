from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import NoReplayDataError
from eikon_engine.llm import CompletionRequest, Message, prompt_digest
from tests.llm.asking import capture, never, opened, request

if TYPE_CHECKING:
    from pathlib import Path

PAGE = "Title: Shop\nBanana 1.20\nBread 2.10\n\nQuestion: What costs {}?"


def _miss(folder: Path, asked: CompletionRequest) -> NoReplayDataError:
    with opened(folder, never) as used, pytest.raises(NoReplayDataError) as caught:
        used.client.complete(asked)
    return caught.value


def test_a_changed_prompt_fails_with_the_nearest_recorded_one(tmp_path: Path) -> None:
    """The difference is shown line by line, and no answer is served."""
    capture(tmp_path, "Something else entirely", PAGE.format("bread"), "Title: Bank\nLog in")
    asked = request(PAGE.format("breads"))

    miss = _miss(tmp_path, asked)

    assert miss.message.startswith(
        f"no replay data for title {prompt_digest(asked)[:12]}: the nearest recorded prompt is"
    )
    assert miss.difference.splitlines()[3:] == [
        " Bread 2.10",
        " ",
        "-Question: What costs bread?",
        "+Question: What costs breads?",
    ]
    assert miss.__notes__ == [miss.difference]


def test_a_changed_setting_is_named_alone(tmp_path: Path) -> None:
    """If only the model or a parameter differs, only that difference is shown."""
    with opened(tmp_path) as used:
        used.client.complete(request(model="gpt-4", parameters={"temperature": 0, "seed": 1}))

    miss = _miss(tmp_path, request(model="gpt-5", parameters={"temperature": 0.0}))

    assert "the same prompt was recorded with a different model: recorded gpt-4, requested gpt-5" in miss.message
    assert "parameter seed: recorded 1, requested none" in miss.message
    assert "parameter temperature: recorded 0, requested 0.0" in miss.message
    assert miss.difference == ""


def test_another_metric_is_named(tmp_path: Path) -> None:
    """A renamed step is distinguished from one whose prompt changed."""
    capture(tmp_path, "a")

    assert "the same prompt was recorded for title" in _miss(tmp_path, request("a", "heading")).message
    assert (
        "nothing was recorded for this metric; recorded metrics: title"
        in _miss(tmp_path, request("b", "heading")).message
    )


def test_a_long_difference_is_shortened_visibly(tmp_path: Path) -> None:
    """A difference of thousands of lines is truncated with a note."""
    capture(tmp_path, "\n".join(f"line {number}" for number in range(5000)))

    difference = _miss(tmp_path, request("\n".join(f"lane {number}" + "x" * 900 for number in range(5000)))).difference

    assert len(difference.splitlines()) == 61
    assert difference.endswith("more lines")
    assert max(map(len, difference.splitlines())) < 320


def test_a_long_line_is_shown_where_it_differs(tmp_path: Path) -> None:
    """A page text in a prompt is one long line; both sides of a changed one show the changed word, and so do others."""
    page = "<p>" + "Banana bread " * 100 + "costs {}</p>"
    capture(tmp_path, f"{page.format('1.20')}\nBuy it")

    difference = _miss(tmp_path, request(f"{page.format('2.10')}\n{'Sell it ' * 100}")).difference

    removed, _, added, other = difference.splitlines()[-4:]
    assert removed.endswith("costs 1.20</p>")
    assert added.endswith("costs 2.10</p>")
    assert other.endswith("…")
    assert max(map(len, difference.splitlines())) < 320


def test_control_characters_of_a_prompt_reach_no_terminal(tmp_path: Path) -> None:
    """Control characters from page texts are escaped in the output."""
    capture(tmp_path, "a\x1b[2Jb")

    assert "\x1b" not in _miss(tmp_path, request("a\x1b[3Jb")).difference


def test_messages_are_distinguished_by_role(tmp_path: Path) -> None:
    """A text that moved from the user message to the system message is shown in the difference."""
    capture(tmp_path, "a")
    asked = CompletionRequest(metric_id="title", messages=(Message(role="system", content="a"),))

    assert _miss(tmp_path, asked).difference.splitlines()[3:] == ["-[user]", "+[system]", " a"]
