"""Many tasks at once draw on quotas as they do one after another; a task's standing is the same either way."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from firmament.core.constraints import remaining_quota
from firmament.core.constraints.quota_order import QuotaOrder
from firmament.core.constraints.quota_terms import Draw, DrawGroup, QuotaTerms
from firmament.core.constraints.remaining_quota import RemainingQuota
from tests.firmament.core.constraints.test_quota_tree import build, draw_trees
from tests.support.effort import examples


def _draw_terms(draw: random.Random) -> QuotaTerms:
    """A few quotas with a flavor per kind of machines, and what twelve shapes of tasks take."""
    trees = draw_trees(draw)
    nodes, flavors = len(trees[0]), len(trees)
    group = [DrawGroup(tuple(range(flavors)), tuple((each,) for each in range(flavors)), (1,))]
    draws = [
        Draw(draw.randrange(nodes), (replace(group[0], amounts=(draw.randint(1, 3),)),)) for _ in range(12)
    ]
    none, never = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.bool_)
    return QuotaTerms(
        tree=build(trees),
        names=tuple(map(str, range(nodes))),
        columns=tuple((str(flavor), "cpu") for flavor in range(flavors)),
        flavor=np.arange(flavors),
        resource=np.zeros(flavors, dtype=np.int64),
        own=np.zeros((nodes, flavors), dtype=np.int64),
        weight=np.ones(nodes),
        fair=never,
        strict=never,
        within=none,
        reclaim=none,
        borrows=never,
        threshold=none,
        kind=np.arange(flavors),
        covers=np.eye(flavors, dtype=np.bool_),
        draws=tuple(draws),
        draw=np.arange(len(draws)),
    )


def test_what_fits_and_what_is_left_is_the_same_at_once_and_one_by_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(remaining_quota, "MANY", 0)
    fits = 0
    for seed in range(examples(2000, least=300)):
        draw = random.Random(seed)
        terms = _draw_terms(draw)
        tasks = draw.randint(1, 6)
        shapes = np.array([draw.randrange(12) for _ in range(tasks)])
        machines = np.array([draw.randrange(len(terms.kind)) for _ in range(tasks)])
        counts = np.array([draw.randint(1, 2) for _ in range(tasks)])
        single, enough = RemainingQuota(terms), True
        for shape, machine, count in zip(shapes.tolist(), machines.tolist(), counts.tolist(), strict=True):
            enough &= int(single.units_by_kind(shape)[machine]) >= count
            single.add(shape, machine, count)
        room = RemainingQuota(terms)
        assert room.has_room_for(shapes, machines, counts) == enough, seed
        room.book(shapes, machines, counts)
        for shape in range(12):
            assert room.units_by_kind(shape).tolist() == single.units_by_kind(shape).tolist(), seed
        fits += enough
    assert fits > 30


def test_the_standing_of_one_kind_of_tasks_is_what_it_is_after_they_have_drawn():
    for seed in range(examples(2000, least=300)):
        draw = random.Random(seed)
        room = RemainingQuota(_draw_terms(draw))
        for _ in range(draw.randint(0, 6)):
            room.add(draw.randrange(12), draw.randrange(len(room.terms.kind)), 1)
        shape, kind, count = draw.randrange(12), draw.randrange(len(room.terms.kind)), draw.randint(1, 3)
        found = QuotaOrder(room).find_standing([(shape, kind, count)])
        after = room.copy()
        after.draw_on(shape, kind, count)
        column = room.terms.draws[shape].groups[0].columns[kind]
        node = room.terms.draws[shape].node
        assert found.borrows == QuotaOrder(after).find_height(node, column), seed
