"""Computes how even the use of nodes can be if only estimates are known, for comparison with a burst's outcome."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


def spread(values: NDArray[np.float64]) -> float:
    """Return the 99th percentile of the use of nodes minus the median."""
    median, high = np.percentile(values, [50, 99]).tolist()
    return float(high - median)


@dataclass(frozen=True, slots=True)
class Batch:
    """The pods to be placed. Each field is float64[pods]: the ``expected`` use, the true use (``truth``), and what is
    ``requested``. Units are up to the caller.
    """

    expected: NDArray[np.float64]
    truth: NDArray[np.float64]
    requested: NDArray[np.float64]


def place_by_expected_use(
    base: NDArray[np.float64], free: NDArray[np.float64], pods: Batch, *, largest_first: bool = True
) -> NDArray[np.float64]:
    """Return true use beyond ``base`` after all pods are placed where their expected use fits best: float64[nodes].

    ``base``: float64[nodes], use to begin with. ``free``: float64[nodes], free amounts for requests; pods that fit on
    no node are left out. All pods are known beforehand; largest first, each goes to the node with the least expected
    use on which its request fits. If all pods fit, the result is within a pod's size of the most even one (Graham
    1969); successive batches and late reports make this harder. Without ``largest_first`` the pods are placed in the
    given order, as by a scheduler that places them one by one.
    """
    added, room = np.zeros_like(base), free.copy()
    smallest = float(pods.requested.min(initial=np.inf))
    queue = [(value, node) for node, value in enumerate(base.tolist())]
    heapq.heapify(queue)
    order = np.argsort(-pods.expected, kind="stable") if largest_first else np.arange(len(pods.expected))
    for pod in order.tolist():
        full = []
        while queue and room[queue[0][1]] < pods.requested[pod]:
            full.append(heapq.heappop(queue))
        if queue:
            value, node = queue[0]
            heapq.heapreplace(queue, (value + float(pods.expected[pod]), node))
            added[node] += pods.truth[pod]
            room[node] -= pods.requested[pod]
        for each in full:
            if room[each[1]] >= smallest:
                heapq.heappush(queue, each)
    return added
