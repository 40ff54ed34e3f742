"""A strict queue is closed once one of its tasks has found no place; nobody of it passes that task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from firmament.core.constraints.quota_terms import Draw
from firmament.core.flow.problem import PlacementProblem
from firmament.core.placement.strict_queues import StrictQueues
from tests.firmament.core.constraints.quota_terms import one_of, pose
from tests.support.core import problem
from tests.support.rules import ints


def made(priority: Sequence[int] = (0, 0, 0, 0), strict: Sequence[bool] = (True, False)) -> PlacementProblem:
    """Class 0 and 2 are of queue 0, class 1 of queue 1; class 3 draws on nothing. Queue 0 is strict."""
    draws = [Draw(0, (one_of(0),)), Draw(1, (one_of(0),)), Draw(0, (one_of(0, amount=2),)), Draw(-1)]
    terms = pose([[9], [9]], draws, strict=np.array(strict))
    posed = problem(
        tasks=[1] * 4, requests=[[number] for number in range(1, 5)], free=[[9]], priority=priority
    )
    return replace(posed, quotas=terms)


@pytest.mark.parametrize(
    ("lost", "closed"),
    [
        ([0], [True, False, True, False]),  # all classes of the queue
        ([1], [False] * 4),  # a queue that is not strict
        ([3], [False] * 4),  # no queue
        ([1, 2, 3], [True, False, True, False]),
        ([], [False] * 4),
    ],
)
def test_a_strict_queue_is_closed_once_a_task_of_it_has_no_place(lost: list[int], closed: list[bool]):
    queues = StrictQueues(made())
    queues.close(ints(*lost))
    assert queues.find_closed().tolist() == closed
    queues.close(ints())
    assert queues.find_closed().tolist() == closed, "for good"


def test_what_is_closed_may_be_taken_over():
    assert StrictQueues(made(), closed=[0]).find_closed().tolist() == [True, False, True, False]


def test_a_task_that_is_not_admitted_at_all_keeps_nobody_off():
    posed = made()
    assert posed.quotas is not None
    refused = (replace(posed.quotas.draws[0], refused="no such flavor"), *posed.quotas.draws[1:])
    queues = StrictQueues(replace(posed, quotas=replace(posed.quotas, draws=refused)))
    queues.close(ints(0))
    assert not queues.find_closed().any()


@pytest.mark.parametrize(
    ("priority", "waiting", "placed", "passed"),
    [
        ([5, 5, 1, 5], [0], [2], True),
        ([5, 5, 5, 5], [0], [2], False),  # an equal one may pass
        ([1, 5, 5, 5], [0], [2], False),  # so may a more important one
        ([5, 5, 1, 5], [1], [2], False),  # of another queue
        ([5, 1, 1, 1], [0], [1, 3], False),
        ([5, 1, 1, 9], [3, 0], [1, 2], True),
        ([5, 5, 1, 5], [], [2], False),
    ],
)
def test_a_placed_task_passes_a_more_important_one_of_its_queue(
    priority: list[int], waiting: list[int], placed: list[int], passed: bool
):
    assert StrictQueues(made(priority)).are_passed(ints(*waiting), ints(*placed)) is passed


def test_without_strict_queues_nothing_is_closed():
    for posed in (made([5, 5, 1, 5], strict=[False, False]), replace(made([5, 5, 1, 5]), quotas=None)):
        queues = StrictQueues(posed)
        queues.close(ints(0))
        assert not queues.find_closed().any()
        assert not queues.are_passed(ints(0), ints(2))
