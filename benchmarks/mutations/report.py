"""Results of the mutants as tables, with every unexpected result."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from benchmarks.table import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.mutations.results import Result

HEADS: Final = ("operator", "mutants", "verdict", "action", "layer", "cause")
EFFECTS_HEADS: Final = ("operator", "mutants", "diverged", "also changed", "neither")
EXACT_ACTIONS: Final = 0.98
RIGHT_CAUSES: Final = 0.95
_CORRECTED: Final = "the page itself went on, and replaced what the change showed"


def report(results: Sequence[Result]) -> str:
    """Return the tables."""
    by_operator: defaultdict[str, list[Result]] = defaultdict(list)
    for each in results:
        by_operator[each.mutant.operator].append(each)
    rows = [_row(operator, some) for operator, some in by_operator.items()]
    matrix = Counter((each.mutant.truth.verdict, _verdict(each)) for each in results)
    lines = [table(HEADS, [*rows, _row("all", results)])]
    lines += [f"must be {wanted}, is {found}: {count}\n" for (wanted, found), count in sorted(matrix.items())]
    lines.append(_confusion(results))
    lines += [
        f"{each.mission}: {each.mutant.operator}: {each.mutant.what}: {_CORRECTED}\n"
        for each in results
        if each.is_corrected
    ]
    lines += [
        f"{each.mission}: {each.mutant.operator}: {each.mutant.what}\n"
        f"    wanted {each.mutant.truth.verdict} {each.mutant.truth.place or ''} "
        f"{'/'.join(sorted(each.mutant.truth.layers))} {'/'.join(sorted(each.mutant.truth.causes))}\n"
        f"    found  {each.verdict} {each.place or ''} {each.layer} {each.cause}: {each.sentence}\n"
        for each in results
        if not (each.is_right and each.has_place and each.has_layer and each.has_cause)
    ]
    return "".join(lines)


def _verdict(each: Result) -> str:
    return f"{each.verdict}, {_CORRECTED}" if each.is_corrected else each.verdict.partition(":")[0]


def _confusion(results: Sequence[Result]) -> str:
    """Return the matrix of causes: how often each was found where each was right, of the changes that diverged."""
    found = [each for each in results if each.verdict == "diverged" and each.mutant.truth.causes]
    counts = Counter(("/".join(sorted(each.mutant.truth.causes)), each.cause) for each in found)
    causes = sorted({cause for _, cause in counts})
    rows = [
        (wanted, *(str(counts[wanted, cause] or "") for cause in causes)) for wanted in sorted({w for w, _ in counts})
    ]
    return table(("right cause", *causes), rows) if rows else ""


def _row(operator: str, results: Sequence[Result]) -> tuple[str, ...]:
    return (operator, str(len(results)), *(f"{sum(part):4}" for part in _parts(results)))


def _parts(results: Sequence[Result]) -> tuple[list[bool], ...]:
    right = [each for each in results if each.is_right]
    return (
        [each.is_right for each in results],
        [each.has_place for each in right],
        [each.has_layer for each in right],
        [each.has_cause for each in right],
    )


def holds(results: Sequence[Result]) -> bool:
    """Return whether the required rates are reached."""
    verdicts, places, _, causes = _parts(results)
    enough = sum(places) >= EXACT_ACTIONS * len(places) and sum(causes) >= RIGHT_CAUSES * len(causes)
    return all(verdicts) and enough


def report_effects(results: Sequence[Result]) -> str:
    """Return the table for the policy `effects`, with every change that was not found."""
    by_operator: defaultdict[str, list[Result]] = defaultdict(list)
    for each in results:
        by_operator[each.mutant.operator].append(each)
    rows = [_effects_row(operator, some) for operator, some in (*by_operator.items(), ("all", [*results]))]
    missed = [
        f"{each.mission}: {each.mutant.operator}: {each.mutant.what}\n"
        f"    wanted {each.mutant.truth.verdict} {each.mutant.truth.place or ''}\n"
        f"    found  {each.verdict} {each.place or ''}, "
        f"also changed {_describe_findings(each)}: {each.sentence}\n"
        for each in results
        if not _is_listed(each)
    ]
    return "".join([table(EFFECTS_HEADS, rows), *missed])


def _effects_row(operator: str, results: Sequence[Result]) -> tuple[str, ...]:
    diverged = sum(each.verdict == "diverged" for each in results)
    listed = sum(each.verdict == "faithful" and each.also_changed != () for each in results)
    return (operator, *(f"{count:4}" for count in (len(results), diverged, listed, len(results) - diverged - listed)))


def _is_listed(each: Result) -> bool:
    """Return whether a change diverged or is listed, and what changes nothing is neither."""
    if each.mutant.truth.verdict == "faithful":
        return each.verdict == "faithful" and not each.also_changed
    return each.is_corrected or (each.verdict in {"diverged", "faithful"} and each.is_listed)


def _describe_findings(each: Result) -> str:
    return "; ".join(f"{found.code} at {found.sequence}: {found.message}" for found in each.also_changed) or "nothing"


def lists_all(results: Sequence[Result]) -> bool:
    """Return whether every change diverged or is listed, and nothing else diverged."""
    return all(map(_is_listed, results))
