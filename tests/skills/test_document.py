"""Texts and deep trees."""

from __future__ import annotations

import pytest

from eikon_engine.skills import SkillInput, default_skills
from eikon_engine.skills.document import parse_document, text_of


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("Ap<b>ple</b> pie", "Apple pie"),
        ("a<br>b<div>c</div>d<p>e</p>", "a b c d e"),
        ("\n a\u00a0 \u2003b\u200bc ", "a bc"),
        ("a<script>x</script><style>y</style><!-- z -->b", "ab"),
        ("<x-a><template shadowrootmode=open>in</template></x-a><template>out</template>", "in"),
        ("a<ul><li>1<li>2</ul>b", "a 1 2 b"),
    ],
)
def test_text_is_parted_where_blocks_are(markup: str, text: str) -> None:
    """Blocks separate words, inline elements do not, and hidden content is omitted."""
    document = parse_document(SkillInput(html=f"<section>{markup}</section>", url=""))

    assert text_of(document.tree.css("section")[0]) == text


@pytest.mark.parametrize("opening", ["<div>", "<table><td>", "<x-a><template shadowrootmode=open>"])
def test_deep_pages_do_not_overflow(opening: str) -> None:
    """Thousands of nested elements cause no overflow."""
    page = SkillInput(html=opening * 2000 + "<input type=password>", url="https://site.example/")

    assert isinstance(default_skills().get("detect_login_form").run(page), dict)
