"""A flow on a network that has been widened since."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.network.network import Network


def carried_over(old: Network, flows: Int64, new: Network, machines: int) -> Int64:
    """The flow of ``old`` on the arcs of ``new``, which has all its columns and room; ``machines`` is M.

    Steps may be merged in one and not in the other.
    """
    result = np.zeros(len(new.problem.tails), dtype=np.int64)
    old_blocks, new_blocks = old.blocks, new.blocks
    result[np.searchsorted(new.columns.keys(machines), old.columns.keys(machines))] = flows[old_blocks[0]]
    for block in (1, 2):
        result[new_blocks[block]] = flows[old_blocks[block]]
    # Steps are in order of cost, so what a machine takes fills the first ones, however many of them are merged.
    taken = np.zeros(machines, dtype=np.int64)
    np.add.at(taken, old.machines[old.step_machine], flows[old_blocks[3]])
    capacity = new.problem.capacities[new_blocks[3]]
    before = np.cumsum(capacity) - capacity
    first = np.cumsum(new.step_count) - new.step_count
    before -= np.repeat(before[first[new.step_count > 0]], new.step_count[new.step_count > 0])
    result[new_blocks[3]] = np.clip(taken[new.machines][new.step_machine] - before, 0, capacity)
    return result
