"""Work as columns: the arrival, kind and run time of each task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

ALONE = -1
"""Gang number of tasks without a gang."""


class WorkTemplate(NamedTuple):
    """A kind of task: ``name`` appears in reports, ``manifest`` holds the metadata and spec of a Pod."""

    name: str
    manifest: dict[str, Any]
    within: str = ""
    """Node label: all tasks of a gang get nodes with the same value of this label; "": any nodes."""
    rather_within: str = ""
    """Node label, used like ``within``, but only as a preference."""


@dataclass(frozen=True, slots=True)
class Work:
    """N tasks, in the order of their arrival."""

    templates: Sequence[WorkTemplate]
    """The kinds of the tasks."""
    arrival: Float64
    """float64[N]: arrival of each task, ascending, in seconds from the beginning."""
    duration: Float64
    """float64[N]: run time of each task in seconds."""
    template: Int64
    """int64[N]: position of each task's kind in ``templates``."""
    gang: Int64
    """int64[N]: number of each task's gang, which is placed together or not at all.

    Tasks without a gang have the number ``ALONE``.
    """

    def __len__(self) -> int:
        return len(self.arrival)

    def take_first(self, count: int | None) -> Work:
        """Return the first ``count`` tasks; the last gang may lose some of its tasks."""
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
        """Return the tasks that arrive before ``horizon``, in seconds since the beginning."""
        return self.take_first(int(np.searchsorted(self.arrival, horizon, side="left")))


def no_work() -> Work:
    """Return work without tasks."""
    nothing = np.zeros(0)
    numbers = np.zeros(0, dtype=np.int64)
    return Work((), nothing, nothing, numbers, numbers)


def order_work(
    templates: Sequence[WorkTemplate], arrival: Float64, duration: Float64, template: Int64, gang: Int64
) -> Work:
    """Return work sorted by arrival; tasks with equal arrival keep their order."""
    order = np.argsort(arrival, kind="stable")
    return Work(templates, arrival[order], duration[order], template[order], gang[order])


def plain_template(
    name: str, requests: dict[str, Any], metadata: dict[str, Any] | None = None
) -> WorkTemplate:
    """Return the template of a pod with one container and these requests: numbers, or texts in Kubernetes' units."""
    container = {"name": "main", "image": "work", "resources": {"requests": requests}}
    return WorkTemplate(name, {"metadata": metadata or {}, "spec": {"containers": [container]}})
