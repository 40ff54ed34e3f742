"""Room on machines that other schedulers keep for tasks of theirs: those that are nominated, and not bound yet.

As kube-scheduler has it (``RunFilterPluginsWithNominatedPods``), it counts as taken for tasks of their priority or
less; of what a nominated task asks for, its resources alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from cost_models.interface import Int64
from firmament.core.resources import ResourceIndex

_MOST = 2**53
"""No machine offers more of anything; sums of a thousand such fit 64 bits."""


class Nomination(NamedTuple):
    """A task of another scheduler, and the machine that it waits for. ``requests``: by resource, in base units."""

    machine: str
    priority: int
    requests: Mapping[str, int]


class ForeignNominations:
    """Nominations, ``by_uid`` of their tasks. ``resources``: the columns of machines."""

    def __init__(self, resources: ResourceIndex) -> None:
        self._resources = resources
        self.by_uid: dict[str, Nomination] = {}

    def keep(self, uid: str, payload: bytes | None) -> tuple[str, ...]:
        """Take what a record says, None if it is gone; returns the machines concerned.

        One that cannot be read counts nothing.
        """
        former = self.by_uid.pop(uid, None)
        found = _read(payload) if payload else None
        if found is not None:
            self.by_uid[uid] = found
        return tuple([each.machine for each in (former, found) if each is not None])

    def amounts(self, rows: Mapping[str, int], capacity: Int64, least: int | None) -> Int64 | None:
        """Return what is kept for tasks of at least the priority ``least``, shaped as ``capacity``, int64[M, K].

        ``rows`` are those of machines by name; None: nothing is kept.
        """
        found: Int64 | None = None
        for each in self.by_uid.values():
            row = rows.get(each.machine)
            if row is None or (least is not None and each.priority < least):
                continue
            if found is None:
                found = np.zeros_like(capacity)
            request = self._resources.vector(each.requests)
            found[row, : len(request)] += request
        return found

    def highest_below(self, priority: int) -> int | None:
        """Return the highest priority of a nominated task that is less than this, None if there is none."""
        return max((each.priority for each in self.by_uid.values() if each.priority < priority), default=None)


def _read(payload: bytes) -> Nomination | None:
    """Read ``{"machine": M, "priority": P, "requests": {RESOURCE: AMOUNT, ...}}``; None if it says something else."""
    try:
        content = json.loads(payload)
        requests = {
            str(name): min(max(int(amount), 0), _MOST) for name, amount in content["requests"].items()
        }
        return Nomination(str(content["machine"]), int(content["priority"]), requests)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None
