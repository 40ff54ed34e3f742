"""The room in zones as the records state it, and the tasks that they do not count yet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Arrivals, Bool
from cost_models.numa.arguments import NumaOptions
from cost_models.numa.division import UNLIMITED, UNLISTED
from cost_models.numa.requests import Requests, is_always_allocatable, is_host_level
from cost_models.numa.room import ZoneRoom
from cost_models.numa.zones import ZoneTable


def zone_room(table: ZoneTable, requests: Requests, policy: NDArray[np.int8], absent: Bool) -> ZoneRoom:
    """The room that the records state. ``table`` has the resources of ``requests``, in their order.

    ``policy``: int8[M] under which machines align; ``absent``: bool[R, M], machines that do not have a resource at all.
    """
    listed = table.listed
    left = np.where(listed, table.amounts[0], np.int64(UNLISTED))
    there = np.arange(table.listed.shape[2]) < table.zones[:, None]
    for row, name in enumerate(requests.resources):
        if is_host_level(name):
            nowhere = ~listed[row].any(axis=1)
            left[row][nowhere[:, None] & there] = UNLIMITED
        if not is_always_allocatable(name):
            left[row][absent[row]] = UNLISTED
    total = table.amounts[1].copy()
    for row, name in enumerate(requests.resources):
        if name == "cpu" or "/" in name:
            total[row] = table.amounts[
                2, row
            ]  # the managers of cpus and devices count what is reserved as well
    return ZoneRoom(requests, policy, table.pod_scope, total, left)


# --- Which tasks are on a machine, but not in its record's figures yet.
#
# A record counts the tasks that the scheduler knew to be on the machine when the record arrived, unless times say
# otherwise: one that got its machine after the record's ``updated`` time, less ``settleSeconds`` for how long kubelet
# and exporter take, is not counted. A record whose driver compared fingerprints says itself which ones are
# ``missing``.


def uncounted(arrivals: Arrivals | None, table: ZoneTable, options: NumaOptions) -> Arrivals | None:
    """The tasks to replay, in the order in which they came to their machines; None if there are none."""
    if arrivals is None or len(arrivals.machine) == 0:
        return None
    machine = arrivals.machine
    known = table.known[machine]
    with np.errstate(invalid="ignore"):
        later = arrivals.time > table.updated[machine] - options.settle  # False where a time is not known
    settled = np.zeros(table.machines, dtype=np.bool_)
    settled[list(table.missing)] = True
    listed = np.zeros(len(machine), dtype=np.bool_)
    for index in np.flatnonzero(settled[machine]).tolist():
        listed[index] = arrivals.uids[int(arrivals.task[index])] in table.missing[int(machine[index])]
    rows = np.flatnonzero(known & (arrivals.after | listed | (later & ~settled[machine])))
    if len(rows) == 0:
        return None
    return replace(
        arrivals,
        machine=machine[rows],
        kind=arrivals.kind[rows],
        task=arrivals.task[rows],
        after=arrivals.after[rows],
        displacing=arrivals.displacing[rows],
        time=arrivals.time[rows],
    )
