"""Trees of groups: placed as a whole, each group in one domain of its labels, or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from cost_models.group_terms import LevelRule
from firmament.core.configuration import RoundOptions
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    JobDefined,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job, JobGroup, TaskClass
from firmament.core.results import DeltaKind
from firmament.core.tree_solver.nested.lacking import count_missing
from tests.support.core import machine, scheduler

ZONE, RACK = "zone", "rack"


def racks(*sizes: int, per_zone: int = 2) -> list[Event]:
    """Return machines of one cpu, so many in each rack, and so many racks in each zone."""
    return [
        machine(f"m-{rack}-{number}", cpu=1, labels={RACK: f"r{rack}", ZONE: f"z{rack // per_zone}"})
        for rack, size in enumerate(sizes)
        for number in range(size)
    ]


def tree(
    groups: Iterable[JobGroup], counts: Mapping[str, int], *, job: str = "j", first: int = 1
) -> list[Event]:
    """Return a job with a tree of groups, and tasks of one cpu in them."""
    groups = tuple(groups)
    least = count_missing(groups, {})[""]
    found: list[Event] = [JobDefined(Job(job, min_members=least, groups=groups))]
    for number, (name, count) in enumerate(counts.items(), start=first):
        found.append(ClassDefined(number, TaskClass(requests=(("cpu", 1),), group=name)))
        found.append(TasksSubmitted(number, tuple(f"{job}-{name}-{n}" for n in range(count)), job=job))
    return found


def group(name: str, parent: str = "", least: int = 0, *within: str, apart: bool = False) -> JobGroup:
    return JobGroup(name, parent, least, within, apart=apart)


SERVING = (
    group("root", "", 2, ZONE),
    group("prefill", "root", 2, RACK),
    group("decode", "root", 3, RACK),
)


def place(events: Iterable[Event]) -> tuple[dict[str, str], str]:
    """Return the machines of one round's tasks, and what is told to one that found none."""
    core = scheduler([*events])
    result = core.run_round()
    placed = {each.uid: each.machine for each in result.deltas if each.kind is DeltaKind.PLACE}
    return placed, next((each.message for each in result.unscheduled), "")


def rack_of(placed: Mapping[str, str], name: str) -> set[str]:
    return {machine.split("-")[1] for uid, machine in placed.items() if f"-{name}-" in uid}


def test_a_tree_takes_the_one_zone_that_holds_all_of_it():
    placed, _ = place([*racks(3, 1, 2, 3), *tree(SERVING, {"prefill": 2, "decode": 3})])
    assert len(placed) == 5
    assert rack_of(placed, "prefill") == {"2"}
    assert rack_of(placed, "decode") == {"3"}


def test_nothing_of_a_tree_is_placed_if_one_of_its_groups_finds_no_domain():
    placed, told = place([*racks(3, 1, 2, 2), *tree(SERVING, {"prefill": 2, "decode": 3})])
    assert not placed
    assert (
        "level 1 (zone): group root needs one domain with room for its 5 pods, the roomiest takes 4" in told
    )


def test_the_message_counts_the_domains_of_groups_that_must_be_apart():
    spread = (
        group("root", "", 2, apart=True),
        *(group(name, "root", 1, ZONE) for name in ("prefill", "decode")),
    )
    demand = tree(spread, {"prefill": 1, "decode": 1})
    placed, told = place([*racks(3, 3), *demand])
    assert not placed
    assert "level 2 (zone): 2 groups of root must each have a domain of its own, and there is 1" in told
    placed, told = place([*racks(2, 0, 0, 0), *racks(0, 0, 2), *tree(spread, {"prefill": 1, "decode": 2})])
    assert not told
    assert rack_of(placed, "prefill") | rack_of(placed, "decode") == {"0", "2"}


def test_the_message_says_so_if_only_the_other_groups_leave_a_group_no_domain():
    spread = (
        group("root", "", 2, apart=True),
        *(group(name, "root", 2, ZONE) for name in ("prefill", "decode")),
    )
    placed, told = place(
        [*racks(2, 0, 1, 0), *racks(0, 0, 0, 0, 1), *tree(spread, {"prefill": 2, "decode": 2})]
    )
    assert not placed
    assert "roomiest takes 2" not in told
    assert "needs one domain with room for its 2 pods, but other groups leave it none" in told


def test_the_message_names_the_level_that_stands_in_the_way():
    placed, told = place([*racks(2, 2, 2, per_zone=3), *tree(SERVING, {"prefill": 2, "decode": 3})])
    assert not placed
    assert (
        "level 2 (rack): group decode needs one domain with room for its 3 pods, the roomiest takes 2" in told
    )


def test_a_tree_with_fewer_pods_than_a_group_needs_waits_and_says_which():
    placed, told = place([*racks(3, 3), *tree(SERVING, {"prefill": 2, "decode": 2})])
    assert not placed
    assert "group decode has 2 of 3 pods" in told


def test_only_as_many_groups_are_placed_as_are_needed_if_there_is_no_room_for_more():
    groups = (group("root", "", 1), *(group(f"part{n}", "root", 2, RACK) for n in range(3)))
    placed, _ = place([*racks(2, 1), *tree(groups, {f"part{n}": 2 for n in range(3)})])
    assert len(placed) == 2
    assert len({uid.split("-")[1] for uid in placed}) == 1


PARTS = (group("root", "", 2), *(group(f"part{n}", "root", 2, RACK) for n in range(3)))


def loose(events: list[Event], least: int) -> list[Event]:
    """Return the events of a tree of which so many pods are enough."""
    return [
        replace(each, job=replace(each.job, min_members=least)) if isinstance(each, JobDefined) else each
        for each in events
    ]


def test_a_group_that_lacks_pods_waits_while_the_others_make_the_tree_whole():
    """A tree that needs two of three groups is placed without the third, of which no part is."""
    core = scheduler([*racks(4, 4), *loose(tree(PARTS, {"part0": 2, "part1": 2, "part2": 1}), 4)])
    result = core.run_round()
    placed = {each.uid: each.machine for each in result.deltas}
    assert sorted(placed) == ["j-part0-0", "j-part0-1", "j-part1-0", "j-part1-1"]
    assert [(each.uids, each.message) for each in result.unscheduled] == [
        (("j-part2-0",), "gang j waits for members: group part2 has 1 of 2 pods")
    ]
    core.report([BindingReport(uid, at, bound=True) for uid, at in placed.items()])
    core.apply([TasksSubmitted(3, ("j-part2-1",), job="j")])
    again = {each.uid: each.machine for each in core.run_round().deltas}
    assert sorted(again) == ["j-part2-0", "j-part2-1"]
    assert len(rack_of(again, "part2")) == 1


def test_a_group_without_pods_does_not_count_as_one_that_has_what_it_needs():
    groups = (*PARTS[:2], group("empty", "root", 2), PARTS[2])
    placed, told = place([*racks(2, 1, 1), *loose(tree(groups, {"part0": 2, "part1": 2}), 4)])
    assert not placed
    assert "level 2 (rack)" in told


def test_pods_that_make_a_running_group_whole_again_come_together():
    core = scheduler([*racks(2, 3), *loose(tree(PARTS, {"part0": 2, "part1": 3}), 4)])
    placed = {each.uid: each.machine for each in core.run_round().deltas}
    core.report([BindingReport(uid, at, bound=True) for uid, at in placed.items()])
    core.apply([TasksSubmitted(1, ("j-part0-2",), job="j")])
    assert not core.run_round().deltas
    core.apply([TaskRemoved("j-part0-0"), TaskRemoved("j-part0-1")])
    assert not core.run_round().deltas
    core.apply([TasksSubmitted(1, ("j-part0-3",), job="j")])
    again = {each.uid: each.machine for each in core.run_round().deltas}
    assert sorted(again) == ["j-part0-2", "j-part0-3"]


def test_pods_beyond_what_a_group_needs_join_it_in_its_domain():
    placed, _ = place([*racks(3, 1), *tree((group("only", "", 2, RACK),), {"only": 4})])
    assert len(placed) == 3
    assert rack_of(placed, "only") == {"0"}


def test_a_tree_may_need_more_pods_than_its_groups_do():
    """One group of two is enough for the tree, but four pods are to go together."""
    groups = (group("root", "", 1), *(group(f"part{n}", "root", 2, RACK) for n in range(3)))
    counts = {f"part{n}": 2 for n in range(3)}
    placed, _ = place([*racks(2, 2, 1), *loose(tree(groups, counts), 4)])
    assert len(placed) == 4
    placed, told = place([*racks(2, 1, 1), *loose(tree(groups, counts), 4)])
    assert not placed
    assert told.startswith("gang j has 4 groups to be placed together")
    placed, told = place([*racks(2, 2, 2), *loose(tree(groups, {"part0": 2, "part1": 1}), 4)])
    assert not placed
    assert "3 of 4 can be tried now" in told


def test_each_of_several_groups_may_be_too_large_for_every_domain():
    """None of them stands alone in the way, but one of them is reason enough."""
    groups = (group("root", "", 2, ZONE), group("one", "root", 3, RACK), group("two", "root", 3, RACK))
    placed, told = place([*racks(2, 2, 2, 2, per_zone=4), *tree(groups, {"one": 3, "two": 3})])
    assert not placed
    assert "level 2 (rack): group one needs one domain with room for its 3 pods, the roomiest takes 2" in told


def need(least: int, waiting: int) -> list[Event]:
    """Let a group need so many pods, of which so many more come."""
    groups = (group("root", "", 1), group("a", "root", least, RACK))
    names = tuple(f"j-a-more-{number}" for number in range(waiting))
    changed = JobDefined(Job("j", min_members=least, groups=groups))
    return [changed, TasksSubmitted(1, names, job="j")] if waiting else [changed]


def test_a_running_group_that_comes_to_need_more_grows_in_its_domain_as_a_whole():
    groups = (group("root", "", 1), group("a", "root", 2, RACK))
    core = scheduler([*racks(4, 5), *tree(groups, {"a": 2})])
    placed = {each.uid: each.machine for each in core.run_round().deltas}
    core.report([BindingReport(uid, at, bound=True) for uid, at in placed.items()])
    core.apply(need(4, 1))
    result = core.run_round()
    assert not result.deltas
    assert "group a has 3 of 4 pods" in result.unscheduled[0].message
    core.apply([TasksSubmitted(1, ("j-a-last",), job="j")])
    more = {each.uid: each.machine for each in core.run_round().deltas}
    assert sorted(more) == ["j-a-last", "j-a-more-0"]
    assert rack_of(more, "a") == rack_of(placed, "a") == {"0"}


def test_a_group_that_cannot_grow_where_it_runs_says_where_that_is():
    groups = (group("root", "", 1), group("a", "root", 2, RACK))
    core = scheduler([*racks(2, 9), *tree(groups, {"a": 2})])
    placed = {each.uid: each.machine for each in core.run_round().deltas}
    core.report([BindingReport(uid, at, bound=True) for uid, at in placed.items()])
    core.apply(need(4, 2))
    result = core.run_round()
    assert not result.deltas, "the other rack has room, but the group is here"
    assert (
        "level 2 (rack): group a runs in r0, and needs room there for its 2 pods, which takes 0"
        in result.unscheduled[0].message
    )


def test_a_waiting_group_that_comes_to_need_fewer_is_placed():
    groups = (group("root", "", 1), group("a", "root", 4, RACK))
    core = scheduler([*racks(3, 2), *tree(groups, {"a": 4})])
    assert not core.run_round().deltas
    core.apply(need(3, 0))
    placed = {each.uid: each.machine for each in core.run_round().deltas}
    assert len(placed) == 3
    assert rack_of(placed, "a") == {"0"}


def test_groups_that_are_to_be_apart_take_different_domains():
    groups = (group("root", "", 2, apart=True), group("one", "root", 2, RACK), group("two", "root", 2, RACK))
    placed, _ = place([*racks(4, 2), *tree(groups, {"one": 2, "two": 2})])
    assert rack_of(placed, "one") != rack_of(placed, "two")
    assert len(placed) == 4


def divided(name: str, parent: str, needs: int, **rule: Any) -> JobGroup:
    return replace(group(name, parent, needs), divided=((RACK, LevelRule(**rule)),))


def test_pods_are_divided_over_racks_by_a_rule_and_a_lost_one_comes_back_where_it_keeps_the_rule():
    groups = (group("root", "", 1, ZONE), divided("work", "root", 4, kind="spread", partitions=2, factor=2))
    core = scheduler([*racks(3, 1, 3, 3), *tree(groups, {"work": 4})])
    placed = {each.uid: each.machine for each in core.run_round().deltas}
    assert Counter(at.split("-")[1] for at in placed.values()) == {"2": 2, "3": 2}
    core.report([BindingReport(uid, at, bound=True) for uid, at in placed.items()])
    core.apply([TaskRemoved("j-work-0"), TasksSubmitted(1, ("j-work-new",), job="j")])
    (again,) = core.run_round().deltas
    assert rack_of({again.uid: again.machine}, "work") == rack_of({"-work-": placed["j-work-0"]}, "work")


def test_a_divided_group_grows_as_far_as_its_rule_allows():
    groups = (group("root", "", 1), divided("work", "root", 2, factor=2))
    placed, _ = place([*racks(3, 3), *loose(tree(groups, {"work": 5}), 2)])
    assert Counter(at.split("-")[1] for at in placed.values()) == {"0": 2, "1": 2}


def test_groups_in_a_group_are_divided_each_as_a_whole():
    inside = [group(name, "root", 1) for name in "abcd"]
    groups = (divided("root", "", 4, least=2, most=2), *inside)
    placed, _ = place([*racks(3, 2, 2), *tree(groups, {"a": 1, "b": 1, "c": 1, "d": 1})])
    assert sorted(Counter(at.split("-")[1] for at in placed.values()).values()) == [2, 2]
    placed, told = place([*racks(3, 1), *tree(groups, {"a": 1, "b": 1, "c": 1, "d": 1})])
    assert not placed
    assert (
        "group root must have its 4 groups in domains with 2 in each; the roomiest domains take 3, 1" in told
    )


def test_a_divided_group_evicts_what_is_in_its_way_and_no_more():
    core = scheduler(racks(2, 2, 2), options=RoundOptions(preemption=True))
    core.apply([ClassDefined(1, TaskClass(requests=(("cpu", 1),)))])
    core.apply([TasksBound(f"m-{rack}-0", 1, (f"low-{rack}",)) for rack in range(3)])
    groups = (group("root", "", 1), divided("work", "root", 4, partitions=2, factor=2))
    events = tree(groups, {"work": 4}, first=2)
    core.apply([replace(each, priority=5) if isinstance(each, TasksSubmitted) else each for each in events])
    deltas = core.run_round().deltas
    evicted = {each.uid for each in deltas if each.kind is DeltaKind.PREEMPT}
    placed = Counter(each.machine.split("-")[1] for each in deltas if each.kind is DeltaKind.PLACE)
    assert sorted(placed.values()) == [2, 2]
    assert evicted == {f"low-{rack}" for rack in placed}


def test_a_pod_that_replaces_another_goes_to_the_domain_of_its_group():
    core = scheduler([*racks(3, 4), *tree(SERVING, {"prefill": 2, "decode": 3})])
    placed = {each.uid: each.machine for each in core.run_round().deltas}
    assert len(placed) == 5
    core.report([BindingReport(uid, at, bound=True) for uid, at in placed.items()])
    core.apply([TaskRemoved("j-prefill-0"), TasksSubmitted(1, ("j-prefill-new",), job="j")])
    again = {each.uid: each.machine for each in core.run_round().deltas}
    assert rack_of(again, "prefill") == rack_of(placed, "prefill")


def test_two_trees_that_fit_only_one_way_are_both_placed():
    small = tree((group("a", "", 2, RACK),), {"a": 2}, job="small")
    large = tree((group("b", "", 3, RACK),), {"b": 3}, job="large", first=5)
    placed, _ = place([*racks(3, 2), *small, *large])
    assert len(placed) == 5


def test_a_tree_evicts_less_important_tasks_of_one_domain_and_no_others():
    core = scheduler(racks(3, 3), options=RoundOptions(preemption=True))
    core.apply([ClassDefined(1, TaskClass(requests=(("cpu", 1),)))])
    core.apply([TasksBound(f"m-{rack}-{n}", 1, (f"low-{rack}-{n}",)) for rack in range(2) for n in range(2)])
    groups = (group("root", "", 1), group("work", "root", 3, RACK))
    events = tree(groups, {"work": 3}, first=2)
    core.apply([replace(each, priority=5) if isinstance(each, TasksSubmitted) else each for each in events])
    deltas = core.run_round().deltas
    evicted = {each.uid for each in deltas if each.kind is DeltaKind.PREEMPT}
    placed = {each.uid: each.machine for each in deltas if each.kind is DeltaKind.PLACE}
    (rack,) = rack_of(placed, "work")
    assert len(placed) == 3
    assert evicted == {f"low-{rack}-0", f"low-{rack}-1"}


def test_a_pod_beyond_the_need_of_its_group_evicts_nobody_in_another_domain():
    core = scheduler(racks(2, 1), options=RoundOptions(preemption=True))
    core.apply([ClassDefined(1, TaskClass(requests=(("cpu", 1),)))])
    core.apply([TasksBound("m-1-0", 1, ("low",))])
    events = loose(tree((group("root", "", 1), group("work", "root", 2, RACK)), {"work": 3}, first=2), 2)
    core.apply([replace(each, priority=5) if isinstance(each, TasksSubmitted) else each for each in events])
    deltas = core.run_round().deltas
    assert [each.kind for each in deltas] == [DeltaKind.PLACE, DeltaKind.PLACE]
    placed = {each.uid: each.machine for each in deltas}
    assert {*placed.values()} == {"m-0-0", "m-0-1"}
    core.report([BindingReport(uid, at, bound=True) for uid, at in placed.items()])
    assert not core.run_round().deltas
