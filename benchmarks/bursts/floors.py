"""Computes how evenly a scheduler that knows only estimates could have spread a burst, for comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.bursts.levelling import Batch, place_by_expected_use, spread
from benchmarks.bursts.scenario import (
    CORES,
    FACTORS,
    RUNNING_ESTIMATE,
    RUNNING_PER_NODE,
    estimate_of,
    running_request,
)
from benchmarks.processes.parts.one_process import SteppedCluster

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Floors(NamedTuple):
    """Spreads of use after levelling by estimates: on nodes with metrics, on all nodes, and in order of arrival."""

    reporting: float
    everywhere: float
    one_by_one: float


def floors_of(cluster: SteppedCluster, names: list[str], dark: NDArray[np.bool_]) -> Floors:
    """Level the new pods by estimates: on nodes that are not ``dark``, and on all nodes."""
    unit = 100 / (CORES * 1000)
    running = np.zeros(len(names))
    new: list[list[str]] = []
    truth: dict[str, float] = {}
    for row, name in enumerate(names):
        pods = list(cluster.use.pods_on(name))
        came = {pod.name: pod.mean.cpu for pod in pods if pod.name.startswith("new-")}
        running[row] = (sum(pod.mean.cpu for pod in pods) - sum(came.values())) * unit
        new.append(list(came))
        truth |= came

    def spread_of(rows: NDArray[np.bool_], *, largest_first: bool = True) -> float:
        chosen = sorted(
            (pod for row in np.flatnonzero(rows).tolist() for pod in new[row]),
            key=lambda pod: int(pod.removeprefix("new-")),
        )
        batch = Batch(
            expected=np.array([estimate_of(pod) for pod in chosen]) * unit,
            truth=np.array([truth[pod] for pod in chosen]) * unit,
            requested=np.array([estimate_of(pod) / FACTORS["cpu"] for pod in chosen]),
        )
        base = np.where(dark, 100 * RUNNING_ESTIMATE, running)[rows]
        free = np.full(len(base), float(CORES * 1000 - RUNNING_PER_NODE * running_request()))
        return spread(running[rows] + place_by_expected_use(base, free, batch, largest_first=largest_first))

    everywhere = np.ones_like(dark)
    return Floors(spread_of(~dark), spread_of(everywhere), spread_of(everywhere, largest_first=False))
