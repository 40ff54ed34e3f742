"""In which order the tasks on a machine are offered as victims."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.preemption.victims.order import sort_victims
from tests.support.rules import ints


@pytest.mark.parametrize(
    ("machine", "rank", "started", "order"),
    [
        ([1, 0], [0, 0], [0.0, 0.0], [8, 5]),
        ([0, 0], [2, 1], [9.0, 1.0], [8, 5]),
        ([0, 0], [1, 1], [3.0, 4.0], [8, 5]),
        ([0, 0], [1, 1], [3.0, 3.0], [5, 8]),
        ([0, 1], [9, 0], [0.0, 9.0], [5, 8]),
    ],
)
def test_by_machine_then_rank_then_latest_start(
    machine: list[int], rank: list[int], started: list[float], order: list[int]
):
    found = sort_victims(ints(5, 8), ints(*machine), ints(*rank), np.array(started))
    assert found.tolist() == order
