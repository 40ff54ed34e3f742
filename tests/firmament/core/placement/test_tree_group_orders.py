"""Groups that stand in each other's way only because of the order in which they choose."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence

import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import ClassDefined, Event, TasksSubmitted
from firmament.core.model import Requirement, TaskSelector, TaskTerm
from firmament.core.results import GangPhase
from tests.cost_models.tree_groups.history import some_constraints
from tests.cost_models.tree_groups.oracle import broken
from tests.cost_models.tree_groups.scene import (
    CPU,
    LEVELS,
    Constraints,
    Racks,
    accept,
    cluster,
    counts,
    group,
    machines,
    overlay,
    phases,
    racks,
    singles,
    told,
    tree,
)
from tests.cost_models.tree_groups.test_shared_limits import limited
from tests.support.core import Clock, machine, placed, scheduler, task_class, uids
from tests.support.effort import examples

QUIET = RoundOptions(reserve_after_rounds=10**9, preemption=False)
ONE_RACK: Constraints = {"rack": {"hard": True}}
ONE_NODE: Constraints = {"rack": {"hard": True}, "node": {"hard": True}}


# --- by hand -----------------------------------------------------------------------------------------------------


def test_a_group_moves_out_of_the_only_domain_of_a_later_one():
    given = racks(a=(2, 2), b=(4,))
    events: list[Event] = [*group("g", 4), *group("h", 4, ONE_NODE)]
    result = cluster(machines(given), tree(given), events, options=QUIET).run_round()
    assert counts(result, "g-") == {"a-0": 2, "a-1": 2}
    assert counts(result, "h-") == {"b-0": 4}
    assert phases(result) == {"g": GangPhase.PLACED, "h": GangPhase.PLACED}


def test_a_more_important_group_moves_for_a_less_important_one_but_keeps_a_place():
    given = racks(a=(2, 3), b=(4,))
    events = [*group("g", 4, priority=3), *group("h", 4, ONE_NODE), *group("k", 1, priority=1)]
    result = cluster(machines(given), tree(given), events, options=QUIET).run_round()
    assert set(counts(result, "g-")) == {"a-0", "a-1"}
    assert len(placed(result)) == 9


def test_a_row_of_groups_moves_up():
    given = racks(a=(2, 2), b=(4,), c=(5,))
    events = [*group("g", 3, ONE_RACK), *group("h", 4, ONE_NODE), *group("k", 5, ONE_NODE)]
    result = cluster(machines(given), tree(given), events, options=QUIET).run_round()
    assert [next(iter(counts(result, f"{name}-")))[0] for name in "ghk"] == ["a", "b", "c"]


def test_where_only_one_has_a_place_the_older_one_keeps_it():
    given = racks(a=(4,), b=(1,))
    clock = Clock()
    core = cluster(machines(given), tree(given), clock=clock, options=QUIET)
    core.apply(group("h", 3, ONE_RACK))
    clock.advance(5)
    core.apply(group("g", 4, ONE_RACK))
    result = core.run_round()
    assert placed(result).keys() == set(uids("h", 3))
    assert "of 4 pods fit" in told(result)["g"]


def test_limits_that_machines_share_hold_in_the_new_order():
    given = racks(a=(2, 2), b=(4,), c=(2, 2))
    core = scheduler(
        machines(given),
        tree(given),
        group("g", 4),
        group("h", 4, ONE_NODE),
        policy="trivial",
        overlays=[overlay(), limited(3, "a-0", "a-1")],
        options=QUIET,
    )
    result = core.run_round()
    assert counts(result, "h-") == {"b-0": 4}
    assert counts(result, "g-") == {"c-0": 2, "c-1": 2}


def test_tasks_of_a_group_that_share_no_place_get_those_that_each_may_use():
    given = racks(a=(2, 2), b=(2, 2))
    made = [
        machine(name, cpu=CPU * room, labels={"name": name})
        for rack in given.values()
        for name, room in rack.items()
    ]
    events: list[Event] = [*group("g", 4, ONE_RACK, members=0)]
    for cls, only in ((2, "b-0"), (3, "b-1")):
        names = uids(f"g-{only}", 2)
        content = task_class(CPU, node_selector=(("name", only),))
        events += [ClassDefined(cls, content), TasksSubmitted(cls, names, job="g", names=names)]
    result = cluster(made, tree(given), events, options=QUIET).run_round()
    assert counts(result, "g-") == {"b-0": 2, "b-1": 2}


def test_rules_between_tasks_hold_in_the_new_order():
    alone = TaskTerm("host", TaskSelector(labels=(Requirement("app", "In", ("shy",)),)))
    shy = task_class(CPU, labels=(("app", "shy"),), anti_affinity=(alone,))
    given = racks(a=(2, 2), b=(4, 2))
    made = [
        machine(name, cpu=CPU * room, labels={"host": name})
        for rack in given.values()
        for name, room in rack.items()
    ]
    core = cluster(
        made,
        tree(given),
        [ClassDefined(2, shy)],
        group("g", 2, ONE_RACK, cls=2, priority=1),
        group("k", 4),
        group("h", 4, ONE_NODE),
        options=QUIET,
    )
    result = core.run_round()
    assert set(counts(result, "g-").values()) == {1}
    assert counts(result, "h-") == {"b-0": 4}


def test_others_are_placed_in_what_the_new_order_leaves():
    given = racks(a=(2, 2), b=(4, 1))
    core = cluster(
        machines(given),
        tree(given),
        group("g", 4),
        group("h", 4, ONE_NODE),
        singles("x", "y"),
        options=QUIET,
    )
    result = core.run_round()
    assert counts(result, "x") | counts(result, "y") == {"b-1": 1}
    assert len(placed(result)) == 9


def test_groups_that_run_stay_where_they_are():
    given = racks(a=(2, 2), b=(4,))
    core = cluster(machines(given), tree(given), group("g", 4), options=QUIET)
    accept(core, core.run_round())
    core.apply(group("h", 4, ONE_NODE))
    assert counts(core.run_round()) == {}


# --- against all arrangements ------------------------------------------------------------------------------------


class Scene:
    """Racks that are soon full, and groups with rules and priorities."""

    def __init__(self, seed: int) -> None:
        source = random.Random(seed)
        self.racks: Racks = {
            rack: {f"{rack}-{index}": source.randint(2, 4) for index in range(2)}
            for rack in "abc"[: source.randint(2, 3)]
        }
        self.size: dict[str, int] = {}
        self.rules: dict[str, Constraints] = {}
        self.events: list[Event] = [*machines(self.racks), tree(self.racks)]
        for number in range(source.randint(3, 6)):
            name = f"g{number}"
            self.size[name] = source.randint(2, 5)
            self.rules[name] = some_constraints(source) if source.random() < 0.4 else ONE_RACK
            self.events += group(name, self.size[name], self.rules[name], priority=source.choice((0, 0, 1)))
        self.paths = [(rack, name) for rack, below in self.racks.items() for name in below]
        self.room = [self.racks[rack][name] for rack, name in self.paths]

    def ways(self, name: str) -> list[tuple[int, ...]]:
        """Every way to share a group out over empty machines."""
        each = [range(min(room, self.size[name]) + 1) for room in self.room]
        return [
            shares
            for shares in itertools.product(*each)
            if sum(shares) == self.size[name]
            and not broken(dict(zip(self.paths, shares, strict=True)), LEVELS, self.rules[name])
        ]

    def together(self, names: Iterator[str] | Sequence[str]) -> bool:
        """Whether all of some groups can have places at once."""
        return _together(self.room, [self.ways(name) for name in names])


def _together(room: Sequence[int], ways: Sequence[Sequence[tuple[int, ...]]]) -> bool:
    if not ways:
        return True
    for shares in ways[0]:
        left = [have - share for have, share in zip(room, shares, strict=True)]
        if min(left) >= 0 and _together(left, ways[1:]):
            return True
    return False


def _whole(scene: Scene) -> tuple[set[str], Mapping[str, str]]:
    """The groups that a round places, and where their tasks are."""
    where = placed(cluster(scene.events, options=QUIET).run_round())
    return {uid.rpartition("-")[0] for uid in where}, where


@pytest.mark.parametrize("seed", range(examples(80)))
def test_rules_and_room_are_kept_and_no_group_is_left_out_that_could_join_the_others(seed: int):
    scene = Scene(seed)
    groups, where = _whole(scene)
    used = [list(where.values()).count(name) for _, name in scene.paths]
    assert all(count <= room for count, room in zip(used, scene.room, strict=True))
    for name in groups:
        mine = [at for uid, at in where.items() if uid.startswith(f"{name}-")]
        assert len(mine) == scene.size[name]
        assert broken({path: mine.count(path[1]) for path in scene.paths}, LEVELS, scene.rules[name]) == []
    for name in scene.size.keys() - groups:
        assert not scene.together([name, *sorted(groups)]), f"{name} could have had a place beside {groups}"


def test_the_same_round_gives_the_same_arrangement():
    scene = Scene(7)
    assert _whole(scene) == _whole(scene)
