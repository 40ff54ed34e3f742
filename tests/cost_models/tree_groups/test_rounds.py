"""Groups in rounds, by hand: the proposal's examples, other tasks beside them, messages, replacements, edits."""

from __future__ import annotations

import pytest

from cost_models.group_terms import NOT_IN_TREE
from firmament.core.events import ClassDefined, Event, MachineRemoved, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import Requirement, TaskSelector, TaskTerm
from firmament.core.results import GangPhase
from tests.cost_models.tree_groups.scene import (
    CPU,
    Constraints,
    accept,
    cluster,
    counts,
    group,
    job,
    machines,
    phases,
    racks,
    rules,
    running,
    singles,
    told,
    tree,
    without_rules,
)
from tests.support.core import GIB, machine, messages, placed, scheduler, task_class, uids

SPREAD_2 = {"rack": {"type": "spread", "partitions": 2}}


def test_a_group_packs_on_few_racks_and_machines():
    given = racks(a=(4, 4), b=(4, 4))
    result = cluster(machines(given), tree(given), group("g", 6)).run_round()
    assert sorted(counts(result).values()) == [2, 4]
    assert len({name[0] for name in counts(result)}) == 1
    assert phases(result) == {"g": GangPhase.PLACED}


@pytest.mark.parametrize(("resources", "rack"), [(["cpu"], "a"), (["memory"], "b")])
def test_named_resources_say_which_rack_is_the_tightest(resources: list[str], rack: str):
    given = racks(a=(4,), b=(8,))
    made = [machine("a-0", cpu=4 * CPU, memory=64 * GIB), machine("b-0", cpu=8 * CPU, memory=16 * GIB)]
    asked = ClassDefined(2, task_class(CPU, 4 * GIB))
    result = cluster(made, tree(given, resources=resources), [asked], group("g", 4, cls=2)).run_round()
    assert {name[0] for name in counts(result)} == {rack}


def test_partitions_spread_over_racks_and_pack_within():
    given = racks(a=(4, 4), b=(4, 4), c=(4, 4))
    result = cluster(machines(given), tree(given), group("g", 8, SPREAD_2)).run_round()
    assert sorted(counts(result).values()) == [4, 4]
    assert len({name[0] for name in counts(result)}) == 2


def test_range_and_spread_on_machines():
    given = {"s0": {"s0-0": 4, "s0-1": 4}, "s1": {"s1-0": 4, "s1-1": 4}}
    rules_: Constraints = {"server": {"type": "pack"}, "node": {"type": "spread", "min": 2, "max": 4}}
    result = cluster(machines(given), tree(given, ("server", "node")), group("g", 6, rules_)).run_round()
    assert sorted(counts(result).values()) == [3, 3]
    assert len({name[:2] for name in counts(result)}) == 1


def test_consecutive_indices_are_next_to_each_other():
    given = racks(a=(3, 3), b=(3, 3))
    result = cluster(machines(given), tree(given), group("g", 12)).run_round()
    where = placed(result)
    order = [where[f"g-{index}"] for index in range(12)]
    assert order == sorted(order)


def test_without_the_overlay_it_is_a_gang():
    given = racks(a=(2,), b=(2,))
    core = scheduler(machines(given), tree(given), group("g", 4, {"rack": {"hard": True}}), policy="trivial")
    assert len(core.run_round().deltas) == 4


def test_what_is_not_possible_is_told_with_level_and_rule_and_leaves_its_room_to_others():
    given = racks(a=(2, 2), b=(2, 2))
    core = cluster(
        machines(given), tree(given), group("g", 6, {"rack": {"hard": True}}), singles(*uids("x", 7))
    )
    result = core.run_round()
    assert len(placed(result)) == 7
    assert "rack" in told(result)["g"]
    why = "at most 4 of 6 pods fit by this rule. 0/4 nodes are available: 3 Insufficient cpu. "
    assert why in told(result)["g"]  # and why it evicts nobody either
    assert told(result)["g"].split(why)[0] == messages(result)["g-0"].split(why)[0]
    assert messages(result)["g-0"].startswith("group ns/g needs 6 places at once: ")
    assert phases(result) == {"g": GangPhase.WAITING}
    assert core.next_round_in() is None


def test_more_important_singles_come_before_a_group():
    given = racks(a=(2, 2))
    core = cluster(machines(given), tree(given), group("g", 3), singles("x", "y", priority=5))
    assert placed(core.run_round()).keys() == {"x", "y"}


def test_a_more_important_group_comes_before_singles():
    given = racks(a=(2, 2))
    core = cluster(machines(given), tree(given), group("g", 3, priority=5), singles("x", "y"))
    assert set(uids("g", 3)) < placed(core.run_round()).keys()


def test_rules_that_nothing_could_keep_are_told_as_such():
    given = racks(a=(9, 9), b=(9,))
    core = cluster(machines(given), tree(given), group("g", 4, {"rack": {"partitions": 3}}))
    expected = "group ns/g needs 4 places at once: level rack: 3 partitions wanted, the tree has 2 units."
    assert told(core.run_round())["g"].startswith(expected)


def test_two_groups_race_for_a_rack_and_one_gets_it_whole():
    given = racks(a=(2, 2), b=(1, 1))
    hard = {"rack": {"hard": True}}
    core = cluster(machines(given), tree(given), group("g", 4, hard), group("h", 4, hard))
    first = core.run_round()
    assert placed(first).keys() == set(uids("g", 4))
    accept(core, first)
    core.apply([TaskRemoved(uid) for uid in uids("g", 4)])
    assert placed(core.run_round()).keys() == set(uids("h", 4))


def test_the_other_tasks_prices_break_ties_between_racks():
    """Of two equally good racks the group takes the one that nobody else can use."""
    given = racks(a=(2, 2), b=(2, 2))
    pinned = task_class(CPU, node_selector=(("only", "a"),))
    events = [machine(name, cpu=2 * CPU, labels={"only": name[0]}) for name in ("a-0", "a-1", "b-0", "b-1")]
    others: list[Event] = [ClassDefined(2, pinned), TasksSubmitted(2, uids("x", 4))]
    result = cluster(events, tree(given), others, group("g", 4)).run_round()
    assert counts(result, "g") == {"b-0": 2, "b-1": 2}
    assert counts(result, "x") == {"a-0": 2, "a-1": 2}


def test_machines_outside_of_the_tree_get_no_tasks_of_groups():
    given = racks(a=(2,))
    core = cluster(machines(given), machine("far", cpu=10 * CPU), tree(given), group("g", 3))
    result = core.run_round()
    assert result.deltas == ()
    assert f"1 {NOT_IN_TREE}" in messages(result)["g-0"]
    core.apply([tree(racks(a=(2,), f=(1,)) | {"f": {"far": 10}})])
    assert core.next_round_in() == 0
    assert counts(core.run_round()) == {"far": 3}


def test_filters_come_before_domains():
    given = racks(a=(4, 4), b=(2, 2))
    events = [
        machine(name, cpu=CPU * 4, labels={"ok": str(name[0] == "b")})
        for name in ("a-0", "a-1", "b-0", "b-1")
    ]
    chosen = task_class(CPU, node_selector=(("ok", "True"),))
    core = cluster(events, tree(given), job("g", 4), rules("g", {"rack": {"hard": True}}))
    core.apply([ClassDefined(2, chosen), TasksSubmitted(2, uids("g", 4), job="g")])
    assert set(counts(core.run_round())) <= {"b-0", "b-1"}


def test_tasks_of_unlike_requests_are_refused():
    given = racks(a=(4,))
    core = cluster(machines(given), tree(given), group("g", 2, members=1))
    core.apply([ClassDefined(2, task_class(2 * CPU)), TasksSubmitted(2, ("g-1",), job="g")])
    result = core.run_round()
    assert result.deltas == ()
    assert "its pods ask for unlike amounts of cpu (1000 and 2000)" in told(result)["g"]


def test_several_classes_of_equal_requests_share_the_counted_places():
    given = racks(a=(2, 2), b=(2, 2))
    events = [machine(name, cpu=CPU * 2, labels={"name": name}) for rack in given.values() for name in rack]
    leader = task_class(CPU, node_selector=(("name", "b-1"),))
    core = cluster(events, tree(given), group("g", 4, {"rack": {"hard": True}}, members=3))
    core.apply([ClassDefined(2, leader), TasksSubmitted(2, ("g-master",), job="g")])
    result = core.run_round()
    assert placed(result)["g-master"] == "b-1"
    assert counts(result) == {"b-0": 2, "b-1": 2}


def test_tasks_that_keep_each_other_away_take_a_machine_each():
    given = racks(a=(3, 3), b=(3, 3, 3))
    apart = task_class(
        CPU,
        labels=(("app", "x"),),
        anti_affinity=(TaskTerm("host", TaskSelector((Requirement("app", "In", ("x",)),))),),
    )
    events = [machine(name, cpu=CPU * 3, labels={"host": name}) for rack in given.values() for name in rack]
    core = cluster(events, tree(given), job("g", 3), rules("g", {"rack": {"hard": True}}))
    core.apply([ClassDefined(2, apart), TasksSubmitted(2, uids("g", 3), job="g")])
    assert counts(core.run_round()) == {"b-0": 1, "b-1": 1, "b-2": 1}


def test_tasks_that_keep_each_other_out_of_zones_across_racks():
    given = racks(a=(3, 3), b=(3, 3), c=(3,))
    apart = task_class(
        CPU,
        labels=(("app", "x"),),
        anti_affinity=(TaskTerm("zone", TaskSelector((Requirement("app", "In", ("x",)),))),),
    )
    events = [
        machine(name, cpu=CPU * 3, labels={"zone": name[0]}) for rack in given.values() for name in rack
    ]
    core = cluster(events, tree(given), job("g", 3), rules("g"))
    core.apply([ClassDefined(2, apart), TasksSubmitted(2, uids("g", 3), job="g")])
    assert sorted(name[0] for name in counts(core.run_round())) == ["a", "b", "c"]


# --- groups that run -------------------------------------------------------------------------------------------------


def test_a_replacement_returns_to_the_domain_of_its_group():
    given = racks(a=(2, 2), b=(4, 4))
    hard = {"rack": {"hard": True}}
    on = {"a-0": ("g-0", "g-1"), "a-1": ("g-2", "g-3")}
    core = cluster(machines(given), tree(given), job("g", 4), rules("g", hard), running("g", on))
    core.run_round()
    core.apply([TaskRemoved("g-1"), TasksSubmitted(1, ("g-4",), job="g")])
    assert placed(core.run_round()) == {"g-4": "a-0"}


def test_a_replacement_waits_while_its_domain_is_full_and_comes_when_it_is_not():
    given = racks(a=(2, 2), b=(4, 4))
    hard = {"rack": {"hard": True}}
    on = {"a-0": ("g-0", "g-1"), "a-1": ("g-2", "g-3")}
    core = cluster(machines(given), tree(given), job("g", 4), rules("g", hard), running("g", on))
    core.run_round()
    core.apply([TaskRemoved("g-1"), TasksBound("a-0", 1, ("thief",)), TasksSubmitted(1, ("g-4",), job="g")])
    result = core.run_round()
    assert result.deltas == ()
    assert messages(result)["g-4"].startswith("group ns/g needs 1 place: level rack: hard pack")
    assert core.next_round_in() is None
    core.apply([TaskRemoved("thief")])
    assert placed(core.run_round()) == {"g-4": "a-0"}


def test_members_beyond_the_size_wait_and_join_when_one_leaves():
    given = racks(a=(4, 4))
    core = cluster(machines(given), tree(given), group("g", 2, members=3))
    result = core.run_round()
    assert placed(result).keys() == {"g-0", "g-1"}
    assert "beyond size: group ns/g has its" in messages(result)["g-2"]
    accept(core, result)
    core.apply([TaskRemoved("g-0")])
    assert placed(core.run_round()).keys() == {"g-2"}


@pytest.mark.parametrize("edit", ["tree", "size", "rules", "rules gone"])
def test_an_edit_wakes_a_group_that_waits(edit: str):
    given = racks(a=(2, 2), b=(2, 2))
    core = cluster(machines(given), tree(given), group("g", 6, {"rack": {"hard": True}}))
    assert core.run_round().deltas == ()
    assert core.next_round_in() is None
    change: dict[str, Event] = {
        "tree": tree({"a": {**given["a"], **given["b"]}}),
        "size": job("g", 4),
        "rules": rules("g"),
        "rules gone": without_rules("g"),
    }
    core.apply([change[edit]])
    assert core.next_round_in() == 0
    assert len(core.run_round().deltas) == (4 if edit == "size" else 6)


def test_labels_give_a_tree_and_a_change_of_them_wakes_groups():
    def at(name: str, zone: str):
        return machine(name, cpu=2 * CPU, labels={"topology.kubernetes.io/zone": zone})

    hard = {"zone": {"hard": True}}
    core = cluster(
        at("m", "a"), at("n", "b"), group("g", 4, hard), nodeLabels=["topology.kubernetes.io/zone"]
    )
    assert core.run_round().deltas == ()
    core.apply([at("n", "a")])
    assert core.next_round_in() == 0
    assert counts(core.run_round()) == {"m": 2, "n": 2}


def test_without_any_tree_all_machines_stand_side_by_side():
    core = cluster(machine("m", cpu=2 * CPU), machine("n", cpu=3 * CPU), group("g", 4, {"node": {"most": 2}}))
    assert sorted(counts(core.run_round()).values()) == [1, 3]


def test_a_group_whose_size_changes_during_the_solve_is_decided_anew():
    given = racks(a=(4, 4))
    core = cluster(machines(given), tree(given), group("g", 4))
    opened = core.open_round()
    placement = opened.solve()
    core.apply([job("g", 2)])
    assert core.close_round(opened, placement).deltas == ()
    assert len(core.run_round().deltas) == 2


def test_a_machine_that_goes_during_the_solve_takes_the_whole_group_with_it():
    given = racks(a=(2, 2), b=(2,))
    core = cluster(machines(given), tree(given), group("g", 4))
    opened = core.open_round()
    placement = opened.solve()
    core.apply([MachineRemoved("a-0")])
    assert core.close_round(opened, placement).deltas == ()
    assert counts(core.run_round()) == {"a-1": 2, "b-0": 2}


def test_what_makes_no_sense_in_a_record_is_noted_once_and_stops_nobody_else():
    given = racks(a=(2, 2))
    bad = rules("g", {"blade": {"type": "pack"}})
    core = cluster(machines(given), tree(given), group("g", 2), bad, group("h", 2))
    result = core.run_round()
    assert len(result.deltas) == 4
    assert result.notes == (
        "TopologyGroup ns/g: constraints: there is no level blade; it is ignored (levels: rack, node)",
    )
