"""Random problems of moving tasks, and who solves them slowly: a network with a node per task, and trying all."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from firmament.core.rescheduling.move_network.problem import BARRED, MoveProblem


@dataclass(frozen=True)
class Task:
    """A task of a row on a machine."""

    row: int
    home: int


@dataclass(frozen=True)
class World:
    """Costs by row and machine (None: barred), prices of rows, sizes of rows and machines, crowding, and tasks."""

    cost: tuple[tuple[int | None, ...], ...]
    price: tuple[int, ...]
    size: tuple[tuple[int, ...], ...]
    room: tuple[tuple[int, ...], ...]
    crowd: tuple[int, ...]
    step: int
    tasks: tuple[Task, ...]

    def problem(self) -> MoveProblem:
        """The same as columns; every machine is a group of its own."""
        machines = len(self.crowd)
        keys, count = np.unique(
            np.array([task.row * machines + task.home for task in self.tasks], dtype=np.int64),
            return_counts=True,
        )
        row, machine = keys // machines, keys % machines
        cost = np.array(
            [[BARRED if each is None else each for each in line] for line in self.cost], dtype=np.int32
        )
        free = np.array(self.room, dtype=np.int64)
        size = np.array(self.size, dtype=np.int64)
        for task in self.tasks:
            free[task.home] -= size[task.row]
        return MoveProblem(
            cost=cost,
            group=np.arange(machines),
            price=np.array(self.price, dtype=np.int64),
            requests=size,
            free=free,
            crowd=np.array(self.crowd, dtype=np.int64),
            home_row=row,
            home_machine=machine,
            home_count=count.astype(np.int64),
            home_cost=cost[row, machine].astype(np.int64),
            step=self.step,
        )

    def cost_of(self, places: tuple[int, ...], extra: int) -> int | None:
        """What a placement costs with its moves; None if it is not allowed."""
        total = 0
        left = [list(room) for room in self.room]
        on = [0] * len(self.crowd)
        for task, machine in zip(self.tasks, places, strict=True):
            charge = self.cost[task.row][machine]
            if charge is None:
                return None
            total += charge + (0 if machine == task.home else self.price[task.row] + extra)
            total += self.crowd[machine] * (on[machine] // self.step * self.step)
            on[machine] += 1
            for resource, amount in enumerate(self.size[task.row]):
                left[machine][resource] -= amount
        return None if any(each < 0 for room in left for each in room) else total

    def cheapest(self, extra: int) -> int:
        """The least that any placement costs, its moves included: all are tried."""
        costs = [
            self.cost_of(places, extra) for places in product(range(len(self.crowd)), repeat=len(self.tasks))
        ]
        return min(each for each in costs if each is not None)

    def savings(self) -> list[int]:
        """By number of moves: the most that so many save, the rows' prices deducted."""
        now = self.cost_of(tuple(task.home for task in self.tasks), 0)
        assert now is not None
        best = [0] * (len(self.tasks) + 1)
        for places in product(range(len(self.crowd)), repeat=len(self.tasks)):
            cost = self.cost_of(places, 0)
            if cost is not None:
                moved = sum(place != task.home for place, task in zip(places, self.tasks, strict=True))
                best[moved] = max(best[moved], now - cost)
        return best

    def by_task(self, extra: int) -> int:
        """The least cost where each task takes one slot: a network with a node per task, solved by networkx."""
        graph: nx.DiGraph[object] = nx.DiGraph()
        graph.add_node("sink", demand=len(self.tasks))
        for index, task in enumerate(self.tasks):
            graph.add_node(index, demand=-1)
            for machine, charge in enumerate(self.cost[task.row]):
                if charge is not None:
                    moving = 0 if machine == task.home else self.price[task.row] + extra
                    graph.add_edge(index, f"machine {machine}", weight=charge + moving, capacity=1)
        for machine, room in enumerate(self.room):
            for nth in range(room[0]):
                slot = f"slot {machine} {nth}"
                charge = self.crowd[machine] * (nth // self.step * self.step)
                graph.add_edge(f"machine {machine}", slot, weight=charge, capacity=1)
                graph.add_edge(slot, "sink", weight=0, capacity=1)
        return int(nx.network_simplex(graph)[0])


@st.composite
def worlds(draw: st.DrawFn, *, slots: bool, most_tasks: int, most_machines: int) -> World:
    """``slots``: every task takes one of one resource; else two resources, and sizes differ."""
    machines = draw(st.integers(2, most_machines))
    rows = draw(st.integers(1, 3))
    resources = 1 if slots else 2
    size = [(1,) if slots else draw(st.tuples(st.integers(1, 3), st.integers(0, 3))) for _ in range(rows)]
    tasks = [
        Task(draw(st.integers(0, rows - 1)), draw(st.integers(0, machines - 1)))
        for _ in range(draw(st.integers(1, most_tasks)))
    ]
    room = [[draw(st.integers(0, 3)) for _ in range(resources)] for _ in range(machines)]
    for task in tasks:
        for resource, amount in enumerate(size[task.row]):
            room[task.home][resource] += amount
    homes = {(task.row, task.home) for task in tasks}
    cost = [
        tuple(
            None
            if (row, machine) not in homes and draw(st.integers(0, 5)) == 0
            else draw(st.integers(0, 40)) * 5
            for machine in range(machines)
        )
        for row in range(rows)
    ]
    return World(
        tuple(cost),
        tuple(draw(st.integers(0, 30)) for _ in range(rows)),
        tuple(size),
        tuple(map(tuple, room)),
        tuple(draw(st.integers(0, 20)) for _ in range(machines)),
        draw(st.integers(1, 3)),
        tuple(tasks),
    )
