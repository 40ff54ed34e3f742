"""Work as columns: when tasks come, what they are, and how long they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

ALONE = -1
"""The gang of a task that is in none."""


class WorkTemplate(NamedTuple):
    """What tasks of a kind are: ``name`` stands in reports, ``manifest`` is a Pod's metadata and spec."""

    name: str
    manifest: dict[str, Any]
    within: str = ""
    """Label of nodes: all tasks of a gang go to nodes with one value of it; "" for any."""
    rather_within: str = ""
    """The same as a wish."""


@dataclass(frozen=True, slots=True)
class Work:
    """N tasks in the order in which they come."""

    templates: Sequence[WorkTemplate]
    """What tasks are."""
    arrival: Float64
    """float64[N]: seconds from the beginning, ascending."""
    duration: Float64
    """float64[N]: seconds that each runs."""
    template: Int64
    """int64[N]: places in ``templates``."""
    gang: Int64
    """int64[N]: tasks of one number are placed together or not at all; ``ALONE`` for none."""

    def __len__(self) -> int:
        return len(self.arrival)

    def take_first(self, count: int | None) -> Work:
        """Return the first tasks; a gang is cut where the count ends within it."""
        if count is None or count >= len(self):
            return self
        return Work(
            self.templates,
            self.arrival[:count],
            self.duration[:count],
            self.template[:count],
            self.gang[:count],
        )

    def come_before(self, horizon: float) -> Work:
        """Return the tasks that come before a time, in seconds from the beginning."""
        return self.take_first(int(np.searchsorted(self.arrival, horizon, side="left")))


def no_work() -> Work:
    """Return work of no tasks."""
    nothing = np.zeros(0)
    numbers = np.zeros(0, dtype=np.int64)
    return Work((), nothing, nothing, numbers, numbers)


def order_work(
    templates: Sequence[WorkTemplate], arrival: Float64, duration: Float64, template: Int64, gang: Int64
) -> Work:
    """Return work in the order of arrival; tasks of one time stay in the order that they are given in."""
    order = np.argsort(arrival, kind="stable")
    return Work(templates, arrival[order], duration[order], template[order], gang[order])


def plain_template(
    name: str, requests: dict[str, Any], metadata: dict[str, Any] | None = None
) -> WorkTemplate:
    """Return a pod of one container that requests so much, as text or numbers of Kubernetes' units."""
    container = {"name": "main", "image": "work", "resources": {"requests": requests}}
    return WorkTemplate(name, {"metadata": metadata or {}, "spec": {"containers": [container]}})
