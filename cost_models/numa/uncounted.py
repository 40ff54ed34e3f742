"""Which tasks are on a machine, but not in its record's figures yet.

A record counts the tasks that the scheduler knew to be on the machine when the record arrived, unless times say
otherwise: one that got its machine after the record's ``updated`` time, less ``settleSeconds`` for how long kubelet and
exporter take, is not counted. A record whose driver compared fingerprints says itself which ones are ``missing``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cost_models.interface import Arrivals
from cost_models.numa.arguments import NumaOptions
from cost_models.numa.zones import ZoneTable


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
