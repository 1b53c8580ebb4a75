"""Similarity of code to a question, by BM25 over words.

Source of the formula: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009; the library is bm25s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.fix.memory.words import code_words

if TYPE_CHECKING:
    from collections.abc import Sequence

_SCORE_DIGITS: Final = 3
"""Digits to round to, so that the order is the same on every machine."""


def bm25_scores(question: str, texts: Sequence[str]) -> tuple[float, ...]:
    """Return a score for each text: 1 for the most similar, 0 for those without a common word."""
    import bm25s  # noqa: PLC0415 - an extra, and takes 0.2 s to import

    corpus = [code_words(text) for text in texts]
    known = {word for each in corpus for word in each}
    asked = sorted(set(code_words(question)) & known)
    if not asked:
        return (0.0,) * len(texts)
    index = bm25s.BM25()
    index.index(corpus, show_progress=False)
    scores = [max(0.0, float(score)) for score in index.get_scores(asked)]
    highest = max(scores)
    return tuple(round(score / highest, _SCORE_DIGITS) if highest else 0.0 for score in scores)
