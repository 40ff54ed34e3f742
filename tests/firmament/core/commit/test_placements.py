"""Deltas as columns, the order of placements, who waits for whom on a machine, and which limits are asked again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cost_models.interface import Assessment, JointRows
from firmament.core.commit.current_limits import (
    find_disturbed,
    has_row_per_machine,
    list_records_changed_since,
    states_limits,
)
from firmament.core.commit.gang_reservations import keep_room
from firmament.core.commit.placements import (
    PlacementDeltas,
    find_predecessors,
    in_delta_order,
    list_decided_rows,
)
from firmament.core.constraints.ruleset import ClassRules, RuleSet
from firmament.core.events import ClassDefined, Event, MachineRemoved, TaskRemoved, TasksSubmitted
from firmament.core.flow.problem import Assignments
from firmament.core.intake.events import apply_events
from firmament.core.model import ClaimAllocation
from firmament.core.queue.gang_reservations import KeptPart
from firmament.core.results import Delta, DeltaKind
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from tests.firmament.core.placement.rules import proposed
from tests.support.core import machine, problem, task_class, tasks
from tests.support.histories.holding import SeatLedger
from tests.support.rules import counter, ints

GIVEN = (ClaimAllocation("c", "", "{}"),)


def deltas() -> PlacementDeltas:
    return PlacementDeltas(["t", "u", "v"], ["m", "n", "m"], {1: ("t",)}, {2: GIVEN})


EXPECTED = (
    Delta(DeltaKind.PLACE, "t", "m"),
    Delta(DeltaKind.PLACE, "u", "n", depends_on=("t",)),
    Delta(DeltaKind.PLACE, "v", "m", allocations=GIVEN),
)


def test_deltas_read_as_a_sequence():
    found = deltas()
    assert len(found) == 3
    assert tuple(found) == EXPECTED
    assert (found[0], found[1], found[-1]) == EXPECTED
    assert found[-2].depends_on == ("t",)
    assert found[1:] == EXPECTED[1:]
    assert found[::-2] == EXPECTED[::-2]
    assert found == EXPECTED
    assert found == deltas()
    assert found != EXPECTED[:2]
    assert found != (*EXPECTED[:2], EXPECTED[0])
    assert found != 3
    assert repr(found) == f"PlacementDeltas({list(EXPECTED)!r})"
    with pytest.raises(IndexError):
        found[3]


def test_deltas_without_anything_else():
    plain = PlacementDeltas(["t"], ["m"])
    assert list(plain) == [Delta(DeltaKind.PLACE, "t", "m")]
    assert plain[0] == Delta(DeltaKind.PLACE, "t", "m")
    assert len(PlacementDeltas([], [])) == 0


# --- order -----------------------------------------------------------------------------------------------------------


def ordered(placed: Assignments, **changes: Any) -> list[tuple[int, int, int]]:
    posed = problem(tasks=[9, 9], requests=[[1], [1]], free=[[9]] * 3)
    return list(in_delta_order(replace(posed, **changes), placed).entries())


def test_placements_come_by_class_and_machine():
    placed = proposed((1, 0, 2), (0, 2), (1, 2), (0, 1, 3))
    assert ordered(placed) == [(0, 1, 3), (0, 2, 1), (1, 0, 2), (1, 2, 1)]
    rules = RuleSet([counter([0, 0, 0])], {0: ClassRules(adds=(0,))})
    assert ordered(placed, rules=rules) == list(placed.entries())
    seats = SeatLedger(np.array([9, 9, 9]), np.array([True, True]))
    assert ordered(placed, ledgers=(seats,)) == list(placed.entries())


def test_which_tasks_are_decided():
    members = (ints(5, 6, 7), ints(8, 9), ints(1))
    placed = proposed((0, 0), (1, 1, 2), (0, 2))
    assert list_decided_rows(members, placed).tolist() == [5, 6, 8, 9]
    assert list_decided_rows(members, Assignments.empty()).tolist() == []


# --- who waits for whom ----------------------------------------------------------------------------------------------


def cluster_of(*uids: str) -> Cluster:
    cluster = Cluster()
    events: list[Event] = [
        machine("m"),
        machine("n"),
        ClassDefined(1, task_class(1)),
        TasksSubmitted(1, uids),
    ]
    apply_events(cluster, events, 0.0)
    return cluster


def test_each_waits_for_the_one_before_it_on_its_machine():
    cluster = cluster_of("a", "b", "c", "d", "e")
    rows = [cluster.tasks.row_of[uid] for uid in "abcde"]
    transitions.assume(cluster, ints(*rows[:2]), ints(0, 0))
    cluster.number_arrivals(ints(*rows[:2]))
    arrival_number = cluster.last_arrival_number
    transitions.assume(cluster, ints(*rows[2:]), ints(0, 0, 1))
    cluster.number_arrivals(ints(*rows[2:]))
    every = np.ones(3, dtype=np.bool_)
    assert find_predecessors(cluster, ints(*rows[2:]), every, arrival_number) == {0: "b", 1: "c"}
    some = np.array([False, True, True])
    assert find_predecessors(cluster, ints(*rows[2:]), some, arrival_number) == {1: "b"}
    assert find_predecessors(cluster, ints(*rows[2:]), ~every, arrival_number) == {}


# --- limits ----------------------------------------------------------------------------------------------------------


def rows_of(row_of: list[int], limit: list[int]) -> JointRows:
    return JointRows(ints(*row_of), ints(1), ints(*limit), "full")


@pytest.mark.parametrize(
    ("row_of", "limit", "alone"),
    [
        ([0, 1, 2], [5, 5, 5], True),
        ([0, -1, 2], [5, 5, 5], True),
        ([0, 0, 2], [5, 5, 5], False),
        ([1, 0, 2], [5, 5, 5], False),
        ([0, 1, -1], [5, 5], False),
    ],
)
def test_rows_of_single_machines(row_of: list[int], limit: list[int], alone: bool):
    assert has_row_per_machine(rows_of(row_of, limit)) is alone


def test_which_answers_limit_anything():
    raw = np.zeros((1, 1))
    assert not states_limits(Assessment(raw))
    assert states_limits(Assessment(raw, feasible=np.ones((1, 1), dtype=np.bool_), reason="no"))
    assert states_limits(Assessment(raw, joint=(rows_of([0], [1]),)))
    assert states_limits(Assessment(raw, ledger=SeatLedger(ints(1), np.array([True]))))


def test_which_kinds_of_records_have_changed():
    cluster = Cluster()
    for kind in ("a", "b", "c", "d"):
        cluster.keep_record(kind, "m", b"{}")
    known = cluster.records
    snapshot: Any = type("Seen", (), {})()
    snapshot.removals = {kind: known.removals[kind] for kind in "ab"}
    snapshot.changes = {kind: known.changes[kind] for kind in "cd"}
    snapshot.arrival_number = cluster.last_arrival_number
    assert list_records_changed_since(cluster, snapshot) == frozenset()
    cluster.keep_record("a", "n", b"{}")
    cluster.keep_record("c", "n", b"{}")
    assert list_records_changed_since(cluster, snapshot) == frozenset({"a", "c"})
    cluster.drop_record("b", "m")
    cluster.drop_record("d", "m")
    assert list_records_changed_since(cluster, snapshot) == frozenset("abcd")
    snapshot.removals["new"] = 0
    assert "new" not in list_records_changed_since(cluster, snapshot)


def test_which_machines_have_changed():
    """Gone, described anew, come to by a task or a record since; not: only left by a task, or told of its use."""
    cluster = Cluster()
    names = [f"m{number}" for number in range(8)]
    apply_events(cluster, [*(machine(name) for name in names), *tasks(1, "before", "after", "moves")], 0.0)
    row = cluster.tasks.row_of
    transitions.assume(cluster, ints(row["before"]), ints(0))
    cluster.keep_record("of machines", "m1", b"{}")
    cluster.keep_record("unread", "m6", b"{}")
    snapshot: Any = type("Seen", (), {})()
    snapshot.described, snapshot.machine_names = tuple(cluster.machines.specs), tuple(names)
    snapshot.changes, snapshot.removals = {"beside": 0}, {"of machines": 0}
    snapshot.arrival_number = cluster.last_arrival_number

    def disturbed() -> list[str]:
        found = find_disturbed(cluster, snapshot)
        assert len(found) == 8
        return [names[each] for each in np.flatnonzero(found)]

    assert disturbed() == []
    apply_events(cluster, [TaskRemoved("before"), machine("new"), machine("m7")], 0.0)
    cluster.keep_record("unread", "m6", b"{}")
    assert disturbed() == []
    apply_events(cluster, [MachineRemoved("m2"), machine("m3", cpu=1)], 0.0)
    transitions.assume(cluster, ints(row["after"]), ints(cluster.machines.row_of["m4"]))
    cluster.keep_record("of machines", "m5", b"{}")
    assert disturbed() == ["m2", "m3", "m4", "m5"]
    cluster.keep_record("beside", "anything", b"{}")
    assert disturbed() == names
    snapshot.changes = {}
    assert disturbed() == ["m2", "m3", "m4", "m5"]
    cluster.drop_record("of machines", "m1")
    assert disturbed() == names


# --- kept room -------------------------------------------------------------------------------------------------------


def test_the_room_of_gangs_is_kept_by_names():
    cluster, kept = cluster_of(), []
    reservations: Any = type("Kept", (), {"keep": lambda _, *given: kept.append(given)})()
    snapshot: Any = type("Seen", (), {"gangs": ("g", "h"), "machine_names": ("m", "n"), "cls": ints(7, 8)})()
    keep_room(cluster, reservations, None, {}, 5.0)
    keep_room(cluster, reservations, snapshot, {1: proposed((0, 1, 2), (1, 0))}, 6.0)
    assert kept == [
        (cluster, {}, 5.0),
        (cluster, {"h": [KeptPart("n", 7, 2), KeptPart("m", 8, 1)]}, 6.0),
    ]
