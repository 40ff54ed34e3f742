"""Transitions that check, whenever they are called, that tasks are in one of the states that they may start from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps

import numpy as np
import pytest

from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import State


@contextmanager
def checked() -> Iterator[None]:
    """Within this every transition is checked."""
    with pytest.MonkeyPatch.context() as patch:
        for name, (before, after) in transitions.MOVES.items():
            patch.setattr(transitions, name, _checked(getattr(transitions, name), before, after))
        yield


def _checked(change: Callable, before: frozenset[State], after: State | None) -> Callable:
    @wraps(change)
    def check(cluster: Cluster, concerned: object, *others: object, **named: object) -> object:
        rows = concerned.task if isinstance(concerned, transitions.Lifted) else concerned
        found = {State(state) for state in np.atleast_1d(cluster.tasks.state[rows]).tolist()}
        assert found <= before, f"{change.__name__} of tasks that are {found}"
        result = change(cluster, concerned, *others, **named)
        if after is not None:
            assert (cluster.tasks.state[rows] == after).all(), f"{change.__name__} leads to {after.name}"
        return result

    return check
