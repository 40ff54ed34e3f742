"""Builds the network of moves, which contains only differences to the present placement.

    machine ──price for moving, minus the cost on this machine──► row of tasks ──cost there──► group of machines
    group of machines ──► machine
    machine ──crowding, in steps──► node for everything else ──crowding that is saved, in steps──► machine

A flow is a set of moves: no flow is the present placement, and a unit of flow around the last two arcs makes one
machine fuller and another emptier. The flow is a circulation, so its cost is minus what the moves save. The network
contains only what a gain may involve: machines that a task might leave, and arcs to machines that a task might go to.

Source: Firmament (OSDI 2016), section 4, has a node for each running task; in this network, alike tasks on one machine
share an arc.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.network.network import Arcs, StepArcs, Steps, join_arcs
from firmament.core.flow.shortest_paths import ArcBlock, shorten
from firmament.core.rescheduling.move_network.problem import MoveColumns, MoveProblem, Moves
from firmament.solvers.base import FlowProblem


@dataclass(frozen=True, slots=True)
class MoveNetwork:
    """A network of moves, and what its arcs mean.

    The arcs of ``flow`` come in blocks: homes that may be left (``homes``: int64[H], indices of the problem's homes),
    ``columns``, groups to their members (``members``: int64[N], machines), steps by which machines become fuller
    (``step_machine``: int64[F], machines), and steps by which they become emptier. The nodes are the R rows, the G
    groups, the ``machines`` that occur (int64[M'], in order), and one node for everything else.
    """

    flow: FlowProblem
    homes: Int64
    columns: MoveColumns
    members: Int64
    step_machine: Int64
    machines: Int64

    @property
    def rest(self) -> int:
        """The node that stands for everything outside the network."""
        return len(self.flow.supplies) - 1

    def moves(self, problem: MoveProblem, flows: Int64) -> Moves:
        """Return the moves that a flow stands for; departures and places are matched by row, then by machine."""
        left, came, reached = np.split(
            flows, np.cumsum([len(self.homes), len(self.columns), len(self.members)])
        )[:3]
        row, source = _units(problem.home_row[self.homes], problem.home_machine[self.homes], left)
        _, group = _units(self.columns.row, self.columns.group, came)
        by_group = np.argsort(group, kind="stable")
        _, machine = _units(problem.group[self.members], self.members, reached)
        target = np.empty_like(machine)
        target[by_group] = machine
        moving = source != target
        keys = np.stack([row[moving], source[moving], target[moving]])
        unique, count = np.unique(keys, axis=1, return_counts=True)
        return Moves(unique[0], unique[1], unique[2], count.astype(np.int64))

    def find_exhausted(self, flows: Int64) -> Int64:
        """Return the machines, each once, that have used up all the steps by which they may become fuller."""
        first = len(self.homes) + len(self.columns) + len(self.members)
        steps = slice(first, first + len(self.step_machine))
        left = np.bincount(self.step_machine, weights=self.flow.capacities[steps] - flows[steps], minlength=1)
        given = np.unique(self.step_machine)
        return given[left[given] == 0]


def build_move_network(
    problem: MoveProblem,
    homes: Int64,
    columns: MoveColumns,
    extra_price: int,
    most_on: Int64,
    steps: Int64,
) -> MoveNetwork:
    """Build the network of some homes (int64[H]) and columns; each move costs ``extra_price`` besides the row's price.

    ``most_on``: int64[M], as in the problem; ``steps``: int64[M], number of tasks by which each machine may become
    fuller.
    """
    row, machine = problem.home_row[homes], problem.home_machine[homes]
    count = problem.home_count[homes]
    reached = np.zeros(problem.group_count, dtype=np.bool_)
    reached[columns.group] = True
    members = np.flatnonzero(reached[problem.group])
    machines = np.union1d(machine, members)
    node = np.full(problem.machine_count, -1, dtype=np.int64)
    first = problem.row_count + problem.group_count
    node[machines] = first + np.arange(len(machines))
    rest = first + len(machines)
    there = problem.tasks_on()[machines]
    leaving = np.bincount(machine, weights=count, minlength=problem.machine_count).astype(np.int64)[machines]
    of_row = np.bincount(row, weights=count, minlength=problem.row_count).astype(np.int64)
    fuller = _steps(problem, machines, there, np.minimum(most_on[machines] - there, steps[machines]))
    emptier = _steps(problem, machines, there - leaving, leaving)
    moving = problem.price[row] + extra_price - problem.home_cost[homes]
    going = problem.cost[columns.row, columns.group].astype(np.int64)
    flow = join_arcs(
        np.zeros(rest + 1, dtype=np.int64),  # a circulation
        Arcs(node[machine], row, count, moving),
        Arcs(columns.row, problem.row_count + columns.group, of_row[columns.row], going),
        Arcs(problem.row_count + problem.group[members], node[members], most_on[members], 0),
        Arcs(first + fuller.machine, rest, fuller.capacity, fuller.cost),
        Arcs(rest, first + emptier.machine, emptier.capacity, -emptier.cost),
    )
    return MoveNetwork(flow, homes, columns, members, machines[fuller.machine], machines)


def _steps(problem: MoveProblem, machines: Int64, start: Int64, number: Int64) -> StepArcs:
    """Return what the ``number[i]`` tasks after the first ``start[i]`` cost on ``machines[i]``: int64[M'] each.

    Steps of equal cost are merged.
    """
    steps = Steps(problem.crowd[machines], start, np.ones_like(start), number, number + 1, problem.step)
    return steps.arcs().drop_empty()


def _units(rows: Int64, machines: Int64, flows: Int64) -> tuple[Int64, Int64]:
    """Return the rows and the machines of the units of flow, sorted by row, then by machine: int64[F] each."""
    order = np.lexsort((machines, rows))
    times = flows[order]
    return np.repeat(rows[order], times), np.repeat(machines[order], times)


# --- Prices of machines at an optimal set of moves: the cost of one more task on each machine.
#
# The prices are distances from and to the node for everything else, in the residual network. Relaxing all arcs at
# once finds these distances. As the flow is optimal, there is no negative cycle.


FAR = np.int64(2**50)
"""Distance between nodes without a path."""

_MOST_SWEEPS = 2_000


def machine_prices(network: MoveNetwork, flows: Int64) -> tuple[Int64, Int64]:
    """Return the least and the greatest valid price of each machine: int64[M'] each.

    A greatest price without a limit is at least ``FAR``; a least price without a limit is at most minus ``FAR``. All
    least prices are valid together; so are all greatest prices, and the same mixture of both for all machines.
    """
    problem = network.flow
    open_, used = flows < problem.capacities, flows > 0
    tails = np.concatenate([problem.tails[open_], problem.heads[used]])
    heads = np.concatenate([problem.heads[open_], problem.tails[used]])
    costs = np.concatenate([problem.costs[open_], -problem.costs[used]])
    nodes = len(problem.supplies)
    first = nodes - 1 - len(network.machines)
    least = -_shortest(tails, heads, costs, nodes, network.rest)[first:-1]
    greatest = _shortest(heads, tails, costs, nodes, network.rest)[first:-1]
    return least, greatest


def _shortest(tails: Int64, heads: Int64, costs: Int64, nodes: int, source: int) -> Int64:
    """Return the distance from ``source`` to each node, ``FAR`` if there is no path: int64[N]."""
    length = np.full(nodes, FAR)
    length[source] = 0
    shorten(length, [ArcBlock.sort_by_end(heads, tails, costs, nodes)], _MOST_SWEEPS)
    return np.where(length > FAR // 2, FAR, length)
