"""Users of a quota: what is told from marks along their list is what going through all of them says."""

from __future__ import annotations

import random

import numpy as np

from firmament.core.constraints.quota_order import QuotaOrder
from firmament.core.constraints.quota_terms import Draw, DrawGroup, QuotaTerms, list_amounts
from firmament.core.constraints.quota_tree import UNBOUNDED, QuotaTree
from firmament.core.constraints.remaining_quota import RemainingQuota
from firmament.core.preemption.quota_users import QuotaFilling, QuotaUser, QuotaUsers
from tests.support.effort import examples


def make_terms(draw: random.Random, parent: list[int], columns: int) -> QuotaTerms:
    """Quotas of one resource in as many flavors as there are columns, and draws of one or two flavors on each."""
    rows = len(parent)

    def table(most: int, absent: int = UNBOUNDED, chance: float = 1.0) -> np.ndarray:
        drawn = [
            [draw.randint(0, most) if draw.random() < chance else absent for _ in range(columns)]
            for _ in parent
        ]
        return np.array(drawn, dtype=np.int64)

    draws = tuple(
        Draw(
            node,
            (DrawGroup(flavors, tuple((flavor,) for flavor in flavors), (amount,)),),
        )
        for node in range(rows)
        for amount in (1, 2, 3)
        for flavors in ((0,), tuple(range(columns)))
    )
    zeros = np.zeros(rows, dtype=np.int64)
    return QuotaTerms(
        tree=QuotaTree.build(
            np.array(parent, dtype=np.int64), table(8), table(5, chance=0.4), table(5, chance=0.3)
        ),
        names=tuple(f"q{row}" for row in range(rows)),
        columns=tuple((f"f{column}", "cpu") for column in range(columns)),
        flavor=np.arange(columns),
        resource=np.zeros(columns, dtype=np.int64),
        own=np.zeros((rows, columns), dtype=np.int64),
        weight=np.ones(rows),
        fair=np.zeros(rows, dtype=np.bool_),
        strict=np.zeros(rows, dtype=np.bool_),
        within=zeros,
        reclaim=zeros,
        borrows=np.zeros(rows, dtype=np.bool_),
        threshold=zeros,
        kind=np.zeros(1, dtype=np.int64),
        covers=np.ones((2, columns), dtype=np.bool_),
        draws=draws,
        draw=np.arange(len(draws)),
    )


class World:
    """The users of the middle quota of a tree, and those of the ones below it."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.terms = make_terms(self.draw, [-1, 0, 1, 1], self.draw.randint(1, 2))
        self.node, self.number = 1, 0
        self.present = [self.make() for _ in range(self.draw.randint(0, 40))]
        self.users = QuotaUsers(self.terms, self.begin, self.present)

    def begin(self) -> QuotaFilling:
        paths = {1: (1, 0), 2: (2, 1, 0), 3: (3, 1, 0)}
        return QuotaFilling(self.terms, lambda node: paths[node], self.node)

    def make(self) -> QuotaUser:
        self.number += 1
        importance = self.draw.randint(0, 2), -self.number
        drawn = self.draw.choice([n for n, each in enumerate(self.terms.draws) if each.node >= self.node])
        return QuotaUser(importance, drawn, 0, self.number)

    def list_covered(self, users: list[QuotaUser]) -> list[tuple[int, int]]:
        """Go through all, from the beginning."""
        filling, found = self.begin(), []
        for user in sorted(users, key=lambda user: user.importance, reverse=True):
            draw, kind = self.terms.draws[user.draw], self.terms.kind[user.machine]
            asked = list_amounts(draw, self.terms.covers[kind])
            used = filling.add(user, asked)
            if all(used[column] <= self.terms.tree.subtree[self.node, column] for column, _ in asked):
                found.append(user.importance)
            else:
                filling.take_back()
        return found

    def check(self) -> None:
        gone = self.draw.sample(self.present, min(len(self.present), self.draw.randint(0, 3)))
        without = [user for user in gone if self.draw.random() < 0.3]
        come = [self.make()._replace(victim=-1) for _ in range(self.draw.randint(0, 2))]
        staying = [user for user in self.present if user not in gone]
        then = self.list_covered([user for user in self.present if user not in without])
        now = self.list_covered([*staying, *come])
        assert self.users.compare(without, gone, come) == (now > then) - (now < then)
        if self.draw.random() < 0.5:
            stay = [user._replace(victim=self.number * 100 + n) for n, user in enumerate(come)]
            self.users.change(gone, stay)
            self.present = [*staying, *stay]


def test_comparisons_are_what_going_through_all_users_says():
    for seed in range(examples(400, least=80)):
        world = World(seed)
        for _ in range(6):
            world.check()


def test_finding_a_standing_leaves_quotas_as_they_were():
    for seed in range(examples(400, least=80)):
        draw = random.Random(seed)
        terms = make_terms(draw, [-1, 0, 0], 2)
        room, both = (
            RemainingQuota(terms),
            [n for n, each in enumerate(terms.draws) if len(each.groups[0].flavors) > 1],
        )
        for _ in range(draw.randint(1, 6)):
            room.draw_on(draw.choice(both), 0, draw.choice((1, 2, -1)))
        room.restrict_draws({both[0]: draw.randint(0, 2)})
        before = room.use.own.copy(), dict(room.booked), dict(room.most), room.units_by_kind(both[0]).tolist()
        QuotaOrder(room).find_standing([(each, 0, draw.randint(1, 3)) for each in draw.sample(both, 2)])
        after = room.use.own, room.booked, room.most, room.units_by_kind(both[0]).tolist()
        assert (before[0] == after[0]).all()
        assert before[1:] == after[1:]
        again = RemainingQuota(room.as_terms())
        assert (again.use.used == room.use.used).all()
        assert (again.use.total == room.use.total).all()
