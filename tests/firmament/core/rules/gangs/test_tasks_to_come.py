"""Groups of trees whose tasks do not exist yet: the first ones go where there is room for all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.configuration import RoundOptions
from firmament.core.events import BindingReport, ClassDefined, Event, TasksBound, TasksSubmitted
from firmament.core.model import TaskClass
from firmament.core.results import DeltaKind
from tests.firmament.core.rules.gangs.test_trees_of_groups import (
    RACK,
    ZONE,
    group,
    place,
    rack_of,
    racks,
    tree,
)
from tests.support.core import scheduler, tasks
from tests.support.effort import examples


def leader(expected: int, *, alike: bool = True, tasks: int = 1) -> list[Event]:
    """Return a group that expects so many tasks in one rack, of which some exist."""
    whole = replace(group("all", "", 1, RACK), expected=expected, expected_alike=alike)
    return tree([whole], {"all": tasks})


def slices(*expected: int) -> list[Event]:
    """Return a group of groups in one zone, each of which expects tasks in a rack of its own; the first has one."""
    root = group("root", "", 1, ZONE, apart=True)
    inside = [
        replace(group(f"part{number}", "root", 1, RACK), expected=count)
        for number, count in enumerate(expected)
    ]
    return tree([root, *inside], {"part0": 1})


def test_the_first_task_goes_where_there_is_room_for_those_to_come():
    placed, _ = place([*racks(2, 3, 4), *leader(3)])
    assert rack_of(placed, "all") == {"1"}


def test_without_room_for_all_none_is_placed_if_they_are_alike():
    placed, told = place([*racks(2, 2), *leader(3)])
    assert not placed
    assert "group all needs one domain with room for its 3 pods, the roomiest takes 2" in told


def test_if_they_may_differ_the_first_one_is_placed_nevertheless():
    placed, _ = place([*racks(2, 2), *leader(3, alike=False)])
    assert len(placed) == 1
    placed, _ = place([*racks(2, 3), *leader(3, alike=False)])
    assert rack_of(placed, "all") == {"1"}


def test_once_one_has_a_place_the_others_follow_it_one_by_one():
    core = scheduler([*racks(3, 4), *leader(3)])
    (first,) = core.run_round().deltas
    core.report([BindingReport(first.uid, first.machine, bound=True)])
    core.apply([TasksSubmitted(1, ("j-all-8",), job="j")])
    found = [each for each in core.run_round().deltas if each.kind is DeltaKind.PLACE]
    assert [each.uid for each in found] == ["j-all-8"]
    assert rack_of({each.uid: str(each.machine) for each in (first, *found)}, "all") == {"0"}


@pytest.mark.parametrize(("sizes", "zone"), [((2, 2, 3, 3), 1), ((3, 3, 2, 2), 0), ((3, 2, 4, 2, 3, 3), 2)])
def test_groups_without_any_task_yet_need_racks_of_their_own_in_the_same_zone(sizes, zone):
    placed, _ = place([*racks(*sizes), *slices(3, 3)])
    assert {int(rack) // 2 for rack in rack_of(placed, "part0")} == {zone}


def test_what_is_to_come_takes_no_room_from_what_is_there():
    other = tree([group("all", "", 3, RACK)], {"all": 3}, job="k", first=2)
    placed, _ = place([*racks(4), *leader(4, alike=False), *other])
    assert len(placed) == 4


@settings(max_examples=examples(60))
@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=5),
    expected=st.integers(1, 6),
    waiting=st.integers(1, 4),
)
def test_tasks_of_a_kind_are_placed_if_and_only_if_all_have_room_in_one_rack(sizes, expected, waiting):
    placed, _ = place([*racks(*sizes), *leader(expected, tasks=waiting)])
    if max(sizes) < max(expected, waiting):
        # More than are expected may go one by one.
        assert len(placed) == (max(sizes) if expected <= max(sizes) else 0)
        return
    (rack,) = rack_of(placed, "all")
    assert len(placed) == waiting
    assert sizes[int(rack)] >= expected


def test_all_that_exist_begin_together_even_if_those_to_come_may_differ():
    placed, _ = place([*racks(1, 1), *leader(3, alike=False, tasks=2)])
    assert not placed
    placed, _ = place([*racks(1, 2), *leader(3, alike=False, tasks=2)])
    assert rack_of(placed, "all") == {"1"}
    assert len(placed) == 2


def test_groups_that_begin_together_do_so_or_not_at_all():
    """Two parts of two tasks each, in racks of their own; for the second one there is room, or not."""
    root = replace(group("root", "", 1, ZONE, apart=True), expected=2, expected_alike=True)
    parts = [replace(group(f"part{number}", "root", 1, RACK), expected=2) for number in range(2)]
    for room, begin in ((1, 0), (2, 4)):
        placed, told = place([*racks(2, room), *tree([root, *parts], {"part0": 2, "part1": 2})])
        assert len(placed) == begin
        assert bool(told) != bool(begin)


def test_it_evicts_for_what_is_there_alone_but_where_all_could_have_room():
    core = scheduler(racks(2, 3), options=RoundOptions(preemption=True))
    core.apply(tasks(9, *(f"low-{number}" for number in range(5)), content=TaskClass(requests=(("cpu", 1),))))
    placed = [each for each in core.run_round().deltas if each.kind is DeltaKind.PLACE]
    core.report([BindingReport(each.uid, each.machine, bound=True) for each in placed])
    at = {each.uid: each.machine for each in placed}
    core.apply(
        [replace(each, priority=5) if isinstance(each, TasksSubmitted) else each for each in leader(3)]
    )
    (evicted,) = (each.uid for each in core.run_round().deltas if each.kind is DeltaKind.PREEMPT)
    assert at[evicted].startswith("m-1-")


def test_it_evicts_nobody_where_not_all_could_have_room():
    core = scheduler(racks(2, 2), options=RoundOptions(preemption=True))
    core.apply([ClassDefined(9, TaskClass(requests=(("cpu", 1),)))])
    core.apply([TasksBound(f"m-{rack}-{n}", 9, (f"low-{rack}-{n}",)) for rack in range(2) for n in range(2)])
    core.apply(
        [replace(each, priority=5) if isinstance(each, TasksSubmitted) else each for each in leader(3)]
    )
    assert not core.run_round().deltas
