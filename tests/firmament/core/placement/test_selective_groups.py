"""Groups whose tasks may use different machines, against a search through all ways to share these out."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import product

import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import ClassDefined, Event, TasksSubmitted
from tests.cost_models.tree_groups.scene import CPU, NONE, cluster, counts, group, racks, tree
from tests.support.core import machine, task_class
from tests.support.effort import examples

QUIET = RoundOptions(reserve_after_rounds=10**9, preemption=False)


def fits(room: Mapping[str, int], need: Sequence[int], allowed: Sequence[Sequence[str]]) -> bool:
    """Whether each class finds room for its tasks on the machines that it may use."""
    if not need:
        return True
    for shares in product(*(range(min(need[0], room[name]) + 1) for name in allowed[0])):
        taken = dict(zip(allowed[0], shares, strict=True))
        left = {name: have - taken.get(name, 0) for name, have in room.items()}
        if sum(shares) == need[0] and fits(left, need[1:], allowed[1:]):
            return True
    return False


@pytest.mark.parametrize("seed", range(examples(300)))
def test_a_group_of_classes_that_may_use_few_machines_is_placed_if_there_is_any_way(seed):
    draw = random.Random(seed)
    given = racks(**{rack: [draw.randint(1, 5) for _ in range(draw.randint(2, 3))] for rack in "ab"})
    rack_of = {name: rack for rack, below in given.items() for name in below}
    room = {name: count for below in given.values() for name, count in below.items()}
    one_rack = draw.random() < 0.7
    need = [draw.randint(1, 3) for _ in range(draw.choice((2, 2, 3)))]
    allowed = [sorted(draw.sample(sorted(room), draw.randint(1, 3))) for _ in need]
    events: list[Event] = [
        machine(
            name,
            cpu=CPU * count,
            labels={f"class-{at}": "yes" for at, names in enumerate(allowed) if name in names},
        )
        for name, count in room.items()
    ]
    events += [tree(given), *group("g", sum(need), {"rack": {"hard": True}} if one_rack else NONE, members=0)]
    for at, count in enumerate(need):
        names = tuple(f"g-{at}-{task}" for task in range(count))
        content = task_class(CPU, node_selector=((f"class-{at}", "yes"),))
        events += [ClassDefined(at + 2, content), TasksSubmitted(at + 2, names, job="g", names=names)]
    placed = counts(cluster(events, options=QUIET).run_round())
    places = [{name for name in room if not one_rack or rack_of[name] == rack} for rack in "ab"]
    ways = [
        fits(room, need, [[name for name in each if name in inside] for each in allowed]) for inside in places
    ]
    assert bool(placed) == any(ways)
    if placed:
        assert sum(placed.values()) == sum(need)
        assert all(count <= room[name] for name, count in placed.items())
        assert not one_rack or len({rack_of[name] for name in placed}) == 1
