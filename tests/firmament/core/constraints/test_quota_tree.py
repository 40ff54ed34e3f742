"""What a tree of quotas has available, against its definition written down node by node."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest

from firmament.core.constraints.quota_tree import UNBOUNDED, QuotaTree, TreeUse


@dataclass
class Node:
    """A quota of one flavor and resource; ``None``: no limit."""

    parent: Node | None
    nominal: int
    lending: int | None
    borrowing: int | None
    limit: int | None
    guarantee: int
    children: list[Node] = field(default_factory=list)
    own: int = 0

    def subtree(self) -> int:
        return self.nominal + sum(each.subtree() - each.local() for each in self.children)

    def local(self) -> int:
        kept = 0 if self.lending is None else max(0, self.subtree() - self.lending)
        return max(kept, min(self.guarantee, self.subtree()))

    def used(self) -> int:
        return self.own + sum(max(0, each.used() - each.local()) for each in self.children)

    def total(self) -> int:
        return self.own + sum(each.total() for each in self.children)

    def within(self) -> int:
        if self.parent is None:
            return self.subtree() - self.used()
        found = self.parent.within()
        if self.borrowing is not None:
            stored = self.subtree() - self.local()
            found = min(found, stored - max(0, self.used() - self.local()) + self.borrowing)
        return found + max(0, self.local() - self.used())

    def available(self) -> int:
        found = self.within()
        node: Node | None = self
        while node is not None:
            found = found if node.limit is None else min(found, node.limit - node.total())
            node = node.parent
        return found


def draw_trees(draw: random.Random) -> list[list[Node]]:
    """One tree per column, of one form; nodes come after their parents."""
    parents = [
        -1 if not number or draw.random() < 0.2 else draw.randrange(number)
        for number in range(draw.randint(1, 8))
    ]
    trees = []
    for _ in range(draw.randint(1, 3)):
        nodes: list[Node] = []
        for parent in parents:
            node = Node(
                nodes[parent] if parent >= 0 else None,
                nominal=draw.choice((0, draw.randint(0, 9))),
                lending=draw.choice((None, draw.randint(0, 9))),
                borrowing=draw.choice((None, draw.randint(0, 9))),
                limit=draw.choice((None, None, draw.randint(0, 20))),
                guarantee=draw.choice((0, 0, draw.randint(0, 9))),
            )
            if node.parent is not None:
                node.parent.children.append(node)
            nodes.append(node)
        trees.append(nodes)
    return trees


def build(trees: list[list[Node]]) -> QuotaTree:
    number = {id(node): index for index, node in enumerate(trees[0])}
    parent = np.array(
        [-1 if node.parent is None else number[id(node.parent)] for node in trees[0]], dtype=np.int64
    )

    def column(name: str) -> np.ndarray:
        stated = [[getattr(node, name) for node in nodes] for nodes in trees]
        return np.array(
            [[UNBOUNDED if each is None else each for each in nodes] for nodes in stated], dtype=np.int64
        ).T.copy()

    names = ("nominal", "lending", "borrowing", "limit", "guarantee")
    return QuotaTree.build(parent, *map(column, names))


def check(seed: int) -> None:
    draw = random.Random(seed)
    trees = draw_trees(draw)
    use = TreeUse(build(trees), np.zeros((len(trees[0]), len(trees)), dtype=np.int64))

    def compare() -> None:
        expected = [[nodes[row].available() for nodes in trees] for row in range(len(trees[0]))]
        assert use.compute_available().tolist() == expected
        assert [
            [use.get_left(row, col) for col in range(len(trees))] for row in range(len(trees[0]))
        ] == expected
        assert use.used.tolist() == [[nodes[row].used() for nodes in trees] for row in range(len(trees[0]))]

    compare()
    for _ in range(draw.randint(1, 4)):
        node, column = draw.randrange(len(trees[0])), draw.randrange(len(trees))
        amount = draw.randint(-min(5, trees[column][node].own), 9)
        before = use.get_left(node, column)
        trees[column][node].own += amount
        if draw.random() < 0.5:
            use.add(node, column, amount)
        else:
            use.add_at(np.array([node]), np.array([column]), np.array([amount]))
        assert amount < 0 or use.get_left(node, column) == before - amount
        compare()


def test_random_trees_have_available_what_the_definition_says():
    for seed in range(1_500):
        check(seed)


@pytest.mark.full
def test_a_hundred_thousand_random_trees_have_available_what_the_definition_says():
    for seed in range(1_500, 100_000):
        check(seed)


def test_many_unlimited_quotas_do_not_overflow():
    children = 5_000
    parent = np.array([-1, *[0] * children], dtype=np.int64)
    amounts = np.full((children + 1, 1), 2**53, dtype=np.int64)
    unbounded = np.full_like(amounts, UNBOUNDED)
    tree = QuotaTree.build(parent, amounts, unbounded, unbounded)
    assert tree.subtree[0, 0] == UNBOUNDED
    assert TreeUse(tree, np.zeros_like(amounts)).get_left(1, 0) == UNBOUNDED
