"""How even use can be made by whoever knows estimates alone: what a burst's outcome is to be compared with."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def spread(values: NDArray[np.float64]) -> float:
    """The 99th percentile less the median."""
    median, high = np.percentile(values, [50, 99]).tolist()
    return float(high - median)


def levelled(
    base: NDArray[np.float64], expected: NDArray[np.float64], truth: NDArray[np.float64]
) -> NDArray[np.float64]:
    """True use of nodes once all pods are placed by what is expected of them: float64[nodes].

    ``base``: float64[nodes], what is used already. ``expected``, ``truth``: float64[pods]. All pods are known
    beforehand and go, largest first, where least is expected to be used. That is within a pod's size of the most even
    that whole pods allow (Graham 1969); batches that come one after another, and late reports, make it harder.
    """
    used = base.copy()
    queue = [(value, node) for node, value in enumerate(base.tolist())]
    heapq.heapify(queue)
    for pod in np.argsort(-expected, kind="stable").tolist():
        value, node = queue[0]
        heapq.heapreplace(queue, (value + float(expected[pod]), node))
        used[node] += truth[pod]
    return used
