"""The context of a failure in a large test module."""

from __future__ import annotations

from pathlib import Path

from eikon_engine.fix.models import Analysis, ContextQuery, Frame, TestFailure
from eikon_engine.fix.retrieval.find_context import ContextFinder
from tests.fix.loop.projects import write


def test_other_tests_leave_room_for_the_code(tmp_path: Path) -> None:
    """Of a module with many tests, only the failing one precedes the code that it uses."""
    tests = "\n\n".join(f"def test_{number}():\n    assert total([{number}]) == {number}" for number in range(60))
    write(tmp_path, {"tests/test_price.py": f"from shop.price import total\n\n\n{tests}\n"})
    write(
        tmp_path, {"shop/price.py": "from shop.tax import add\n\n\ndef total(prices):\n    return add(sum(prices))\n"}
    )
    write(tmp_path, {"shop/tax.py": "def add(net):\n    return net * 2\n"})
    failure = TestFailure(
        id="tests/test_price.py::test_1",
        kind="pytest",
        message="assert 2 == 1",
        file="tests/test_price.py",
        line=9,
        frames=(Frame(file="tests/test_price.py", line=9),),
        excerpt="    def test_1():\n>       assert total([1]) == 1\nE       assert 2 == 1\n\ntests/test_price.py:9",
    )
    analysis = Analysis(passed=False, first=failure, summary="failed")

    context = ContextFinder().find(
        ContextQuery(analysis=analysis, targets=(), tree=tmp_path, history=None, token_budget=400)
    )

    assert context.files[:3] == ("tests/test_price.py", "shop/price.py", "shop/tax.py")
