"""Every mutant of a recorded mission, with its expected verdict, action, layer and cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.mutations.of_answers import of_answers
from benchmarks.mutations.of_documents import of_documents, of_elements, of_statuses
from benchmarks.mutations.of_scripts import of_scripts
from benchmarks.mutations.of_traces import of_traces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.mutations.source import Source
    from benchmarks.mutations.truth import Mutant


def mutants(source: Source, per_document: int) -> Iterator[Mutant]:
    """Yield all mutants of a mission: for each operator at most `per_document` in each document that it fits."""
    yield from of_elements(source, per_document)
    yield from of_documents(source)
    yield from of_statuses(source)
    yield from of_answers(source, per_document)
    yield from of_scripts(source)
    yield from of_traces(source)
