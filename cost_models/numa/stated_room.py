"""The room in zones as the records state it, before anything is booked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool
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
