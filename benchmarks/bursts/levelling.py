"""How even use can be made by whoever knows estimates alone: what a burst's outcome is to be compared with."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


def spread(values: NDArray[np.float64]) -> float:
    """Return the 99th percentile less the median."""
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


def level(
    base: NDArray[np.float64], free: NDArray[np.float64], pods: Batch, *, largest_first: bool = True
) -> NDArray[np.float64]:
    """Return what nodes use in truth beyond ``base`` once all pods are placed by what is expected of them:
    float64[nodes].

    ``base``: float64[nodes], what is taken to be used already. ``free``: float64[nodes], what is left for requests;
    pods that fit no node stay out. All pods are known beforehand and go, largest first, where least is expected to be
    used and their requests fit. Where everything fits, that is within a pod's size of the most even that whole pods
    allow (Graham 1969); batches that come one after another, and late reports, make it harder. Without
    ``largest_first`` they are placed in their order, as by a scheduler that places them one by one.
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
