"""The measures of the benchmark of triage."""

from __future__ import annotations

import pytest

from benchmarks.triage import CAUSES, MISSIONS, homogeneity, purity


@pytest.mark.parametrize(
    ("classes", "groups", "homogeneous", "complete", "pure"),
    [
        ("aabb", "1122", 1.0, 1.0, 1.0),
        ("aabb", "1234", 1.0, 0.5, 1.0),
        ("aabb", "1111", 0.0, 1.0, 0.5),
        ("aabb", "1212", 0.0, 0.0, 0.5),
        ("aaaa", "1111", 1.0, 1.0, 1.0),
    ],
)
def test_groups_are_compared_with_classes(
    classes: str, groups: str, homogeneous: float, complete: float, pure: float
) -> None:
    """One group for all is complete, a group for each is homogeneous."""
    assert homogeneity(classes, groups) == pytest.approx(homogeneous)
    assert homogeneity(groups, classes) == pytest.approx(complete)
    assert purity(classes, groups) == pure


def test_each_site_has_missions_and_causes() -> None:
    """At least twenty causes, and two missions for each site."""
    assert MISSIONS.keys() == CAUSES.keys()
    assert min(map(len, MISSIONS.values())) == 2
    assert sum(map(len, CAUSES.values())) == 26
