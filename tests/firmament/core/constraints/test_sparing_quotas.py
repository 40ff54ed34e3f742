"""Which flavors tasks of a sparing quota take, against a definition that counts task by task."""

from __future__ import annotations

import random

import numpy as np

from firmament.core.constraints.quota_terms import Draw, DrawGroup, QuotaTerms
from firmament.core.constraints.remaining_quota import RemainingQuota
from tests.firmament.core.constraints.test_quota_tree import Node, build, draw_trees
from tests.support.effort import examples


def _terms(trees: list[list[Node]], node: int, amount: int, *, sparing: bool) -> QuotaTerms:
    """Flavors without labels, one per tree, of one resource of which a task of ``node`` takes ``amount``."""
    nodes, flavors = len(trees[0]), len(trees)
    none = np.zeros(nodes, dtype=np.int64)
    group = DrawGroup(tuple(range(flavors)), tuple((column,) for column in range(flavors)), (amount,))
    return QuotaTerms(
        tree=build(trees),
        names=tuple(map(str, range(nodes))),
        columns=tuple((str(flavor), "cpu") for flavor in range(flavors)),
        flavor=np.arange(flavors),
        resource=np.zeros(flavors, dtype=np.int64),
        own=np.array([[tree[row].own for tree in trees] for row in range(nodes)], dtype=np.int64),
        weight=np.ones(nodes),
        fair=np.zeros(nodes, dtype=np.bool_),
        strict=np.zeros(nodes, dtype=np.bool_),
        within=none,
        reclaim=none,
        borrows=np.zeros(nodes, dtype=np.bool_),
        threshold=none,
        kind=np.zeros(1, dtype=np.int64),
        covers=np.ones((1, flavors), dtype=np.bool_),
        draws=(Draw(node, (group,)),),
        draw=np.zeros(1, dtype=np.int64),
        sparing=(sparing,) * nodes,
    )


def _height(node: Node) -> int:
    """How far up the way of a node leads until somebody uses no more than what it brings in."""
    found, height = node, 0
    while found.used() > found.subtree() and found.parent is not None:
        found, height = found.parent, height + 1
    return height


def _take(trees: list[list[Node]], node: int, amount: int, *, sparing: bool) -> int | None:
    """The flavor that the next task takes, by trying each; it is booked. None: there is not enough of any."""
    heights = {}
    for flavor, nodes in enumerate(trees):
        if nodes[node].available() >= amount:
            nodes[node].own += amount
            heights[flavor] = _height(nodes[node])
            nodes[node].own -= amount
    if not heights:
        return None
    found = min(heights, key=heights.__getitem__) if sparing else min(heights)
    trees[found][node].own += amount
    return found


def test_tasks_take_the_flavor_in_which_they_borrow_least_and_of_equal_ones_the_first():
    borrowed = 0
    for seed in range(examples(5_000, least=300)):
        draw = random.Random(seed)
        trees, sparing = draw_trees(draw), draw.random() < 0.8
        for nodes in trees:
            for node in nodes:
                node.own = draw.choice((0, 0, draw.randint(0, 4)))
        at, amount, count = draw.randrange(len(trees[0])), draw.randint(1, 3), draw.randint(1, 8)
        room = RemainingQuota(_terms(trees, at, amount, sparing=sparing))
        most = min(count, int(room.units_by_kind(0)[0]))
        room.draw_on(0, 0, most)
        taken = [_take(trees, at, amount, sparing=sparing) for _ in range(most)]
        assert None not in taken, seed
        assert room.use.own.tolist() == [
            [nodes[row].own for nodes in trees] for row in range(len(trees[0]))
        ], seed
        borrowed += len(set(taken)) > 1
        room.draw_on(0, 0, -most)
        assert room.use.own.tolist() == room.terms.own.tolist(), seed
    assert borrowed
