"""Decides which machines' kubelets would admit a task now, and why others would not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Int64
from cost_models.numa.kubelet_simulation import ZoneRoom
from cost_models.numa.requests import Requests

INVALID = "invalid node topology data"
UNKNOWN = "no node topology data"
NO_POD = "cannot align pod"


@dataclass(frozen=True, slots=True)
class FilterRows:
    """For each shape, the machines that would admit its tasks.

    ``feasible``: bool[S, M]; ``causes``: int16[S, M], where not feasible the index into ``reasons``.
    """

    feasible: Bool
    causes: NDArray[np.int16]
    reasons: tuple[str, ...]

    @property
    def unaligned(self) -> Bool:
        """Whether a machine is refused because its zones have too little room: bool[S, M]."""
        return self.causes > self.reasons.index(UNKNOWN)


def filter_rows(
    room: ZoneRoom, shapes: int, known: Bool, invalid: Bool, *, refuse_unknown: bool
) -> FilterRows:
    """Return which machines admit each of the first ``shapes`` shapes of ``room``, and why the other machines refuse.

    ``known``: bool[M], machines with data; ``invalid``: bool[M], machines whose data are unreliable. Tasks that are
    not checked pass everywhere. A machine without data refuses tasks if ``refuse_unknown`` is set, or if the task
    itself demands it.
    """
    requests = room.requests
    machines = room.left.shape[1]
    reasons = {INVALID: 0, UNKNOWN: 1}
    feasible = np.ones((shapes, machines), dtype=np.bool_)
    causes = np.zeros((shapes, machines), dtype=np.int16)
    unaligned: dict[bytes, Int64] = {}
    for shape in np.flatnonzero(requests.checked[:shapes]).tolist():
        key = _key(requests, shape)
        if key not in unaligned:
            unaligned[key] = room.find_failing_unit(shape)
        failing = unaligned[key]
        for unit in np.unique(failing[failing >= 0]).tolist():
            reason = _reason(requests, shape, unit)
            causes[shape, failing == unit] = reasons.setdefault(reason, len(reasons))
        refused = failing >= 0
        if refuse_unknown or requests.hint[shape] > 0:
            causes[shape, ~known] = 1
            refused |= ~known
        causes[shape, invalid] = 0
        feasible[shape] = ~(refused | invalid)
    return FilterRows(feasible, causes, tuple(reasons))


def _key(requests: Requests, shape: int) -> bytes:
    """Return a key that is equal for shapes whose units have equal requests."""
    parts = (
        requests.threshold[shape],
        requests.taken[shape],
        requests.init_threshold[shape],
        requests.apps[shape],
        requests.hint[shape],
    )
    return b"".join(part.tobytes() for part in parts)


def _reason(requests: Requests, shape: int, unit: int) -> str:
    units = requests.threshold.shape[1]
    if unit == 0:
        return NO_POD
    if unit < units:
        return f"cannot align container: {requests.names[shape][unit]}"
    return f"cannot align {requests.init_names[shape][unit - units]}"
