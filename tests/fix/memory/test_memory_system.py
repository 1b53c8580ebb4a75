from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.fix.models import Analysis, Context, ContextPiece, ContextQuery, Frame, TestFailure
from eikon_engine.fix.retrieval.chunks import split_chunks
from eikon_engine.fix.retrieval.find_context import ContextFinder, estimate_tokens, fit_budget
from eikon_engine.fix.retrieval.ranking import bm25_scores, code_words
from tests.fix.analysis.diverged import diverged_outcome

FILES = {
    "shop/prices.py": """\
# Prices.

RATE = 0.2

def with_tax(net):
    return net * RATE

def rounded(total):
    return round(total)
""",
    "shop/cart.py": """\
from shop.prices import with_tax


class Cart:
    def total(self, nets):
        return sum(with_tax(net) for net in nets)
""",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_total():\n    assert Cart().total([10]) == 12\n",
    "docs/cart.md": "# Cart\n\nThe total of a cart holds taxes.\n",
    "weather.py": "def rain():\n    return 'wet'\n",
    ".env": "KEY=with_tax",
    "secrets.json": '{"with_tax": 1}',
    "node_modules/x/with_tax.js": "function with_tax() {}\n",
}
FAILURE = TestFailure(
    id="tests/test_cart.py::test_total",
    kind="pytest",
    message="assert 2.0 == 12",
    file="tests/test_cart.py",
    line=5,
    frames=(Frame(file="tests/test_cart.py", line=5), Frame(file="shop/cart.py", line=6, name="total")),
    excerpt="E  assert 2.0 == 12\nE   +  where 2.0 = total([10])",
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a small project."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "shop" / "outside.py").symlink_to("/etc/hostname")
    return tmp_path


def test_the_failing_line_ranks_first_then_the_names_it_uses(tree: Path) -> None:
    """The test is first, then code in the call stack, then definitions of used names; unrelated files are omitted."""
    context = _look_up(tree)

    assert [(piece.file, piece.first_line) for piece in context.pieces][:3] == [
        ("tests/test_cart.py", 4),
        ("shop/cart.py", 4),
        ("shop/prices.py", 5),
    ]
    assert context.pieces[0].why.startswith("fails here")
    assert context.pieces[1].why.startswith("in the call stack")
    assert context.pieces[2].why.startswith("defines with_tax")
    assert "weather.py" not in context.files


def test_names_are_followed_over_two_definitions(tree: Path) -> None:
    """A failed assertion has no frame in the tested code; definitions used by that code are found anyway."""
    asserted = FAILURE.model_copy(update={"frames": FAILURE.frames[:1]})

    reasons = {(piece.file, piece.first_line): piece.why for piece in _look_up(tree, failure=asserted).pieces}

    assert reasons["shop/cart.py", 4].startswith("defines Cart, total")
    assert reasons["shop/prices.py", 5].startswith("defines with_tax, indirectly")
    assert ("shop/prices.py", 8) not in reasons


def test_hidden_and_installed_files_are_never_shown(tree: Path) -> None:
    """Hidden files, keys, installed packages and links are not read, even as target files."""
    context = _look_up(tree, targets=(".env", "secrets.json", "node_modules", "shop/outside.py"))

    assert not {".env", "secrets.json", "node_modules/x/with_tax.js", "shop/outside.py"} & set(context.files)


def test_tokens_in_code_are_not_shown(tree: Path) -> None:
    """A known token format in a source file is replaced."""
    (tree / "shop" / "cart.py").write_text(FILES["shop/cart.py"] + f"KEY = 'ghp_{'a1' * 18}'\n", encoding="utf-8")

    shown = "".join(piece.text for piece in _look_up(tree).pieces)

    assert "ghp_<secret>" in shown
    assert "a1a1" not in shown


def test_evidence_of_a_replay_is_shown(tree: Path) -> None:
    """Stored texts of the diverged step are shown; pictures, and paths outside of the folder, are not."""
    folder = tree / "artifacts"
    (folder / "subgoal_1").mkdir(parents=True)
    (tree.parent / "of_user.txt").write_text("user\n", encoding="utf-8")
    outcome = diverged_outcome().model_dump_json().replace("../outside.txt", str(tree.parent / "of_user.txt"))
    for name, text in (("outcome.json", diverged_outcome().model_dump_json()), ("absolute.json", outcome)):
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "subgoal_1" / "002_click_dom_diff.txt").write_text("-Buy\n+Purchase\n", encoding="utf-8")
    (tree / "outside.txt").write_text("out\n", encoding="utf-8")
    replay = TestFailure(id="m s1:2", kind="eikon", message="m", file="artifacts/outcome.json", excerpt="told")

    absolute = replay.model_copy(update={"file": "artifacts/absolute.json"})
    alone, beside, named = (
        {piece.text for piece in ContextFinder().find(_query(tree, failures=failures)).pieces}
        for failures in ((replay,), (FAILURE, replay), (absolute,))
    )

    assert "-Buy\n+Purchase\n" in alone & beside
    assert ("told\n" in alone, "told\n" in beside) == (False, True)
    assert "-Buy\n+Purchase\n" in named
    assert not {"out\n", "user\n"} & (alone | beside | named)


def test_target_files_rank_before_similar_files(tree: Path) -> None:
    """AC-6: files to be changed are shown, although no failure refers to them."""
    context = _look_up(tree, targets=("weather.py",))

    assert ("weather.py", "target file") in [(piece.file, piece.why) for piece in context.pieces]


def test_recently_changed_files_rank_higher(tree: Path) -> None:
    """A change in the last commits is a reason to show a file; without a history there is no such reason."""
    git = ["git", "-C", str(tree), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "docs"], ["commit", "-qm", "docs"]):
        subprocess.run([*git, *command], check=True)

    with_history, without = (_look_up(tree, history=each) for each in (tree, None))

    assert "recently changed" in next(piece.why for piece in with_history.pieces if piece.file == "docs/cart.md")
    assert all("recently changed" not in piece.why for piece in without.pieces)


def test_equal_queries_have_equal_contexts(tree: Path) -> None:
    """Order and scores are deterministic."""
    assert _look_up(tree) == ContextFinder().find(_query(tree))


def test_a_module_that_cannot_be_parsed_is_shown_by_lines(tree: Path) -> None:
    """For a syntax error, the surrounding lines are shown."""
    (tree / "shop" / "cart.py").write_text("x = 1\n" * 50 + "def f(:\n" + "y = 2\n" * 50, encoding="utf-8")
    failure = TestFailure(id="SyntaxError", kind="python", message="m", file="shop/cart.py", line=51)

    first = _look_up(tree, failure=failure).pieces[0]

    assert (first.file, first.first_line, first.last_line) == ("shop/cart.py", 41, 80)


@given(st.text(st.sampled_from("def f():\n    @cx#class A\n\t\f"), max_size=200), st.sampled_from(["a.py", "a.js"]))
def test_pieces_cover_the_complete_file(text: str, name: str) -> None:
    """Pieces follow each other without gaps, and contain every line once."""
    pieces = split_chunks(name, text)

    assert "".join(piece.text for piece in pieces) == text
    assert all(after.first == before.last + 1 for before, after in pairwise(pieces))
    assert all(piece.text.count("\n") in {piece.last - piece.first, piece.last - piece.first + 1} for piece in pieces)


@given(st.lists(st.integers(1, 60), max_size=8), st.integers(0, 200))
def test_a_context_stays_within_its_token_budget(sizes: list[int], budget: int) -> None:
    """Pieces are included whole, except that the best one is shortened if necessary; omitted ones are counted."""
    pieces = [
        ContextPiece(file=f"{number}", first_line=1, last_line=size, text="x = 1\n" * size, score=1, why="w")
        for number, size in enumerate(sizes)
    ]

    context = fit_budget(pieces, budget, around=3)

    assert context.tokens <= budget
    assert context.tokens == sum(estimate_tokens(piece.text) for piece in context.pieces)
    assert len(context.pieces) + context.left_out == len(pieces)


def test_the_best_piece_is_cut_around_the_failing_line() -> None:
    """If a function exceeds the budget, the part around the failing line is shown."""
    lines = "".join(f"line {number}\n" for number in range(1, 201))
    piece = ContextPiece(file="a", first_line=101, last_line=300, text=lines, score=1, why="w")

    (cut,) = fit_budget([piece], 60, around=250).pieces

    assert cut.first_line <= 250 <= cut.last_line
    assert cut.text.splitlines()[250 - cut.first_line] == "line 150"


def test_words_are_names_and_their_parts() -> None:
    """Names are split at capitals and underscores; keywords of the language are omitted."""
    assert code_words("def parseURL_list(self): HTTPError2") == (
        *("parseurl_list", "parse", "url", "list"),
        *("httperror2", "http", "error"),
    )


@given(st.lists(st.text(st.sampled_from("add sub mul "), max_size=20), max_size=5), st.text(max_size=20))
def test_similarity_is_a_fraction(texts: list[str], question: str) -> None:
    """Each text has a number from 0 to 1; without common words it is 0."""
    shares = bm25_scores(question, texts)

    assert len(shares) == len(texts)
    assert all(0 <= share <= 1 for share in shares)
    assert all(
        not share
        for share, text in zip(shares, texts, strict=True)
        if not set(code_words(text)) & set(code_words(question))
    )


def _look_up(
    tree: Path, *, targets: tuple[str, ...] = (), history: Path | None = None, failure: TestFailure = FAILURE
) -> Context:
    return ContextFinder().find(_query(tree, targets=targets, history=history, failures=(failure,)))


def _query(
    tree: Path,
    *,
    targets: tuple[str, ...] = (),
    history: Path | None = None,
    failures: tuple[TestFailure, ...] = (FAILURE,),
) -> ContextQuery:
    analysis = Analysis(passed=False, first=failures[0], others=failures[1:], summary="failed")
    return ContextQuery(analysis=analysis, targets=targets, tree=tree, history=history, token_budget=4000)
