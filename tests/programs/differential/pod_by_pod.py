"""A rival in kube-scheduler's manner: one pod at a time, in a random order, on the least allocated node it may use."""

from __future__ import annotations

import random
from dataclasses import dataclass
from statistics import median

from tests.programs.differential.board import Board, Layout
from tests.programs.differential.world import Case

SCORED = ("cpu", "memory")


@dataclass(frozen=True)
class Rivals:
    """How many pods each of some random orders placed."""

    placed: tuple[int, ...]

    @property
    def median(self) -> float:
        """Of all orders."""
        return median(self.placed)

    @property
    def best(self) -> int:
        """Of all orders."""
        return max(self.placed)


def orders(case: Case, count: int) -> Rivals:
    """Place the case in ``count`` random orders, which depend on its seed."""
    layout = Layout(case.cluster, list({spec.name: spec for spec in case.waiting.values()}.values()))
    start = Board(layout)
    return Rivals(
        tuple(
            len(one_order(case, layout, start.copy(), random.Random(f"{case.seed} {order}")))
            for order in range(count)
        )
    )


def one_order(case: Case, layout: Layout, board: Board, draw: random.Random) -> list[tuple[str, str]]:
    """Place one pod after another; those that found no node try again as long as others found one."""
    number = {spec.name: index for index, spec in enumerate(layout.specs)}
    queue = [(uid, number[spec.name]) for uid, spec in case.waiting.items()]
    draw.shuffle(queue)
    placed: list[tuple[str, str]] = []
    while True:
        unplaced = []
        for uid, spec in queue:
            nodes = board.accepting(spec)
            if not nodes:
                unplaced.append((uid, spec))
                continue
            at = _least_allocated(layout, board, spec, nodes, draw)
            board.place(spec, at)
            placed.append((uid, layout.nodes[at].name))
        if len(unplaced) in (0, len(queue)):
            return placed
        queue = unplaced


def _least_allocated(layout: Layout, board: Board, spec: int, nodes: int, draw: random.Random) -> int:
    """Of some nodes (bits) the one with the largest share of cpu and memory left; ties by lot."""
    ranked = []
    while nodes:
        at = nodes.bit_length() - 1
        nodes &= ~(1 << at)
        allocatable, free = layout.nodes[at].allocatable, board.free(at)
        requests = layout.specs[spec].requests
        score = 0.0
        for index, resource in enumerate(layout.resources):
            if resource in SCORED and allocatable.get(resource, 0):
                score += (free[index] - requests.get(resource, 0)) / allocatable[resource]
        ranked.append((score, draw.random(), at))
    return max(ranked)[2]
