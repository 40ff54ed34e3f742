"""Groups that preempt: whole gangs go, the lowest first; nobody goes in vain; places are kept until they are gone."""

from __future__ import annotations

import json

from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    RecordUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.record_kinds import BUDGET_RECORD
from firmament.core.results import DeltaKind, GangPhase
from tests.cost_models.tree_groups.scene import (
    CPU,
    accept,
    cluster,
    counts,
    evicted,
    group,
    job,
    machines,
    phases,
    racks,
    rules,
    running,
    singles,
    tree,
)
from tests.support.core import messages, task_class, uids

HARD = {"rack": {"hard": True}}


def kep(*more: Event) -> list[Event]:
    """Two gangs of six on four machines of four places: the lower one on the first two, the other on the rest."""
    given = racks(r=(4, 4, 4, 4))
    return [
        *machines(given),
        tree(given),
        job("a-0", 6),
        rules("a-0"),
        job("a-1", 6),
        rules("a-1"),
        *running("a-0", {"r-0": uids("a-0", 4), "r-1": ("a-0-4", "a-0-5")}),
        *running("a-1", {"r-2": uids("a-1", 4), "r-3": ("a-1-4", "a-1-5")}, priority=1),
        *more,
    ]


def test_the_lowest_gang_goes_as_a_whole_the_other_stays_and_it_returns_later():
    core = cluster(kep())
    assert phases(core.run_round()) == {"a-0": GangPhase.BOUND, "a-1": GangPhase.BOUND}
    core.apply(group("a-3", 6, priority=3))
    result = core.run_round()
    assert evicted(result) == list(uids("a-0", 6))
    assert set(counts(result, "a-3")) <= {"r-0", "r-1", "r-3"}
    assert phases(result) == {"a-0": GangPhase.PREEMPTED, "a-3": GangPhase.PREEMPTING}
    assert core.run_round().deltas == ()

    core.apply([TaskRemoved(uid) for uid in uids("a-0", 6)])
    accept(core, result)
    core.apply(group("a-0", 6))
    later = core.run_round()
    assert later.deltas == ()
    assert phases(later) == {"a-0": GangPhase.WAITING, "a-3": GangPhase.BOUND}
    core.apply([TaskRemoved(uid) for uid in uids("a-1", 6)])
    assert len(core.run_round().deltas) == 6


def test_equal_priority_evicts_nobody():
    core = cluster(kep(*group("a-3", 6, priority=0)))
    assert core.run_round().deltas == ()


def test_nobody_goes_for_room_that_is_of_no_use():
    """Enough would go in all, but never enough in one rack."""
    given = racks(a=(2, 2), b=(2, 2))
    core = cluster(
        machines(given),
        tree(given),
        running("", {"a-0": ("x", "y"), "b-0": ("z", "w")}),
        running("", {"a-1": ("p", "q"), "b-1": ("r", "s")}, priority=9),
        group("g", 4, HARD, priority=5),
    )
    result = core.run_round()
    assert result.deltas == ()
    assert "0 of 4 pods fit; without less important pods: level rack" in messages(result)["g-0"]


def test_those_go_whose_rack_takes_the_group():
    """The lower ones are in a rack that cannot take the group even without them."""
    given = racks(a=(2, 2), b=(2, 2))
    core = cluster(
        machines(given),
        tree(given),
        running("", {"a-0": ("a", "b")}),
        running("", {"a-1": ("p", "q")}, priority=9),
        running("", {"b-0": ("x", "y")}, priority=2),
        group("g", 4, HARD, priority=5),
    )
    result = core.run_round()
    assert evicted(result) == ["x", "y"]
    assert counts(result) == {"b-0": 2, "b-1": 2}


def test_few_go_where_some_will_do():
    given = racks(a=(4,), b=(4,))
    core = cluster(
        machines(given),
        tree(given),
        running("", {"a-0": uids("a", 4), "b-0": uids("b", 2)}),
        group("g", 4, HARD, priority=5),
    )
    result = core.run_round()
    assert evicted(result) == ["b-0", "b-1"]
    assert counts(result) == {"b-0": 4}


def test_a_machine_with_one_large_task_is_emptied_rather_than_one_with_many_small_ones():
    given = racks(a=(4,), b=(4,))
    core = cluster(
        machines(given),
        tree(given),
        running("", {"a-0": uids("a", 4)}),
        [ClassDefined(7, task_class(4 * CPU)), TasksBound("b-0", 7, ("large",))],
        group("g", 4, HARD, priority=5),
    )
    assert evicted(core.run_round()) == ["large"]


def budget(name: str, app: str, allowed: int) -> RecordUpserted:
    selector = [{"key": "app", "operator": "In", "values": [app]}]
    payload = {"namespace": "", "selector": selector, "allowed": allowed}
    return RecordUpserted(BUDGET_RECORD, name, json.dumps(payload).encode())


def on(machine: str, *names: str, app: str, priority: int = 0) -> list[Event]:
    number = 50 + sum(map(ord, app))
    content = task_class(CPU, labels=(("app", app),))
    return [ClassDefined(number, content), TasksBound(machine, number, names, priority=priority)]


def test_budgets_hold_where_there_is_another_choice():
    given = racks(a=(2,), b=(2,))
    core = cluster(
        machines(given),
        tree(given),
        budget("p", "kept", 1),
        on("a-0", "k-0", "k-1", app="kept"),
        on("b-0", "f-0", "f-1", app="free", priority=3),
        group("g", 2, HARD, priority=5),
    )
    assert evicted(core.run_round()) == ["f-0", "f-1"]


def test_budgets_give_way_where_nothing_else_helps():
    given = racks(a=(2,))
    core = cluster(
        machines(given),
        tree(given),
        budget("p", "kept", 1),
        on("a-0", "k-0", "k-1", app="kept"),
        group("g", 2, HARD, priority=5),
    )
    result = core.run_round()
    assert evicted(result) == ["k-0", "k-1"]
    beyond = [delta.beyond_budget for delta in result.deltas if delta.kind is DeltaKind.PREEMPT]
    assert sorted(beyond) == [False, True]


def test_the_place_is_kept_until_victims_are_gone_and_given_back_if_one_stays():
    core = cluster(kep())
    core.run_round()
    core.apply(group("a-3", 6, priority=3))
    result = core.run_round()
    core.apply(singles(*uids("thief", 8), priority=1))
    stolen = core.run_round()
    assert counts(stolen) == {"r-1": 2, "r-3": 2}  # what is free, and will be beside the group
    waiting = {delta.uid: delta for delta in result.deltas if delta.kind is DeltaKind.PLACE}
    assert all(delta.depends_on for delta in waiting.values() if delta.machine in {"r-0", "r-1"})
    core.report([BindingReport("a-0-0", "r-0", bound=False, reason="a budget")])
    states = {state.uid: state.state for state in core.task_states()}
    assert states["a-0-0"] == "BOUND"


def test_rules_decide_who_goes():
    """Two racks of two each: one rack's tenants go, and the other rack has room."""
    given = racks(a=(2, 2), b=(2, 2), c=(2, 2))
    core = cluster(
        machines(given),
        tree(given),
        running("", {"a-0": ("x",), "a-1": ("y",), "b-0": ("u", "v"), "b-1": ("w",)}, priority=1),
        running("", {"c-0": ("p",), "c-1": ("q",)}, priority=9),
        group("g", 4, {"rack": {"type": "spread", "partitions": 2}}, priority=5),
    )
    result = core.run_round()
    assert len(evicted(result)) <= 1
    assert len({name[0] for name in counts(result)}) == 2


def test_a_replacement_evicts_in_the_domain_of_its_group():
    given = racks(a=(2,), b=(2,))
    core = cluster(machines(given), tree(given), job("g", 2), rules("g", HARD))
    core.apply(running("g", {"a-0": ("g-0",)}, priority=5))
    core.apply([*running("", {"a-0": ("thief",)}), TasksSubmitted(1, ("g-2",), job="g", priority=5)])
    result = core.run_round()
    assert evicted(result) == ["thief"]
    assert counts(result) == {"a-0": 1}


def test_if_one_victim_stays_none_of_the_group_comes():
    given = racks(a=(2, 2))
    core = cluster(
        machines(given), tree(given), running("", {"a-0": ("x",), "a-1": ("y",)}), group("g", 4, priority=5)
    )
    result = core.run_round()
    assert evicted(result) == ["x", "y"]
    assert len(counts(result)) == 2
    core.report([BindingReport("x", "a-0", bound=False, reason="a budget")])
    assert {state.uid for state in core.task_states() if state.state == "ASSUMED"} == set()


def test_a_group_that_loses_a_member_takes_nobodys_place_in_the_same_round():
    """Another task, less important than the group, gets the place instead."""
    given = racks(a=(2,), b=(1,))
    core = cluster(
        machines(given),
        tree(given),
        running("", {"a-0": ("x",), "b-0": ("y",)}),
        job("g", 2),
        rules("g"),
        running("g", {"a-0": ("g-0",)}, priority=5),
        [TasksSubmitted(1, ("g-1",), job="g", priority=5)],
        group("h", 2, HARD, priority=9),
        singles("p", priority=1),
    )
    result = core.run_round()
    assert evicted(result) == ["g-0", "x", "y"]
    assert counts(result) == {"a-0": 2, "b-0": 1}
    assert counts(result, "p") == {"b-0": 1}
