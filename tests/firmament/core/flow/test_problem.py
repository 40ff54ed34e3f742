"""What a problem says of its classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.core import problem


@pytest.mark.parametrize(
    ("gang", "gangs", "found"),
    [
        ([], 0, []),
        ([-1, -1, -1], 0, []),
        ([1, -1, 0], 2, [[2], [0]]),
        ([1, 0, 1], 3, [[1], [0, 2], []]),
        ([2, 2, 2], 3, [[], [], [0, 1, 2]]),
    ],
)
def test_each_gang_has_its_classes_in_order(gang: list[int], gangs: int, found: list[list[int]]):
    plain = problem(tasks=[1] * 3, requests=[[1]] * 3, free=[[4]], cost=[[0]] * 3, crowd=[0])
    posed = replace(plain, gang=np.array(gang, dtype=np.int64), gang_need=np.ones(gangs, dtype=np.int64))
    assert [each.tolist() for each in posed.split_by_gang()] == found
