"""Keeps strict queues in order: a task of a strict queue may only start after all tasks that come before it.

Among tasks that are placed together, `quota_parts` gives out quota in order. Between one group of tasks and the next,
this module remembers closed queues: a strict queue is closed as soon as one of its tasks or gangs has found no place.
Once a queue is closed, all its later tasks wait.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.problem import PlacementProblem


class StrictQueues:
    """The strict queues of a problem, and which of them are closed; ``closed``: quota nodes of the closed queues."""

    def __init__(self, problem: PlacementProblem, closed: Iterable[int] = ()) -> None:
        self._problem = problem
        terms = problem.quotas
        self._node = terms.find_nodes(problem.shape) if terms is not None and terms.strict.any() else None
        self.closed = {*closed}

    def close(self, classes: Int64) -> None:
        """Close the strict queues of classes that have tasks for which no place was found."""
        terms = self._problem.quotas
        if self._node is None or terms is None:
            return
        draw = terms.draw[self._problem.shape[classes]].tolist()
        self.closed.update(
            node
            for node, number in zip(self._node[classes].tolist(), draw, strict=True)
            if node >= 0 and terms.strict[node] and not terms.draws[number].refused
        )

    def are_passed(self, waiting: Int64, placed: Int64) -> bool:
        """Return whether a class of ``placed`` is in a strict queue where a more important class still waits."""
        if self._node is None:
            return False
        priority = self._problem.priority
        for rank in np.unique(priority[waiting]).tolist():
            strict = StrictQueues(self._problem)
            strict.close(waiting[priority[waiting] == rank])
            if (strict.find_closed()[placed] & (priority[placed] < rank)).any():
                return True
        return False

    def find_closed(self) -> Bool:
        """Return which classes are in a closed queue: bool[C]."""
        if self._node is None or not self.closed:
            return np.zeros(self._problem.classes, dtype=np.bool_)
        return np.isin(self._node, sorted(self.closed))
