"""Random cases against exhaustive search; ``python -m tests.firmament.core.tree_solver`` runs as many as wanted."""

from __future__ import annotations

import pytest

from tests.firmament.core.tree_solver.checking import check
from tests.support.effort import examples

CASES = 100


@pytest.mark.parametrize("first", range(0, examples(8, least=1) * CASES, CASES))
def test_finds_the_best_placement_whenever_there_is_one(first: int) -> None:
    answers = [check(number) for number in range(first, first + CASES)]
    assert [wrong for _, wrong in answers if wrong is not None] == []
    assert CASES // 4 < sum(solvable for solvable, _ in answers) < CASES
