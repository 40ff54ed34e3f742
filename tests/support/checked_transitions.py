"""Checks that run along: tasks change only as they may, and the books are in order after all that a scheduler does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np
import pytest

from firmament.core.scheduler import Scheduler
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase
from tests.support.invariants import validate

MOST_TASKS = 500
"""Books of more are not looked through each time."""


@contextmanager
def checked() -> Iterator[None]:
    """Within this all transitions are checked, and the books of all schedulers."""
    with pytest.MonkeyPatch.context() as patch:
        for name, (before, after) in transitions.MOVES.items():
            patch.setattr(transitions, name, _checked(getattr(transitions, name), before, after))
        for name in ("apply", "report", "close_round"):
            patch.setattr(Scheduler, name, _validated(getattr(Scheduler, name)))
        yield


def _checked(change: Callable, before: frozenset[TaskPhase], after: TaskPhase | None) -> Callable:
    @wraps(change)
    def check(cluster: Cluster, concerned: Any, *others: Any, **named: Any) -> Any:
        rows = concerned.task if isinstance(concerned, transitions.Lifted) else concerned
        found = {TaskPhase(state) for state in set(np.atleast_1d(cluster.tasks.state[rows]).tolist())}
        assert found <= before, f"{change.__name__} of tasks that are {found}"
        result = change(cluster, concerned, *others, **named)
        if after is not None:
            assert (cluster.tasks.state[rows] == after).all(), f"{change.__name__} leads elsewhere"
        return result

    return check


def _validated(act: Callable) -> Callable:
    @wraps(act)
    def check(scheduler: Scheduler, *others: Any, **named: Any) -> Any:
        result = act(scheduler, *others, **named)
        if len(scheduler._cluster.tasks) <= MOST_TASKS:
            validate(scheduler._cluster)
        return result

    return check
