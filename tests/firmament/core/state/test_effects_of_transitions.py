"""All that each change of a task does, and nothing else: every column, the books, promises, marks and the version."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase
from firmament.core.state.transitions import MOVES
from tests.firmament.core.state.test_transitions import HAPPENINGS, NOW, TASK, cluster_with

UNUSED, PENDING, ASSUMED, BOUND = TaskPhase.UNUSED, TaskPhase.PENDING, TaskPhase.ASSUMED, TaskPhase.BOUND

WORN: dict[str, Any] = {
    "unschedulable": True, "refused": True, "passed_over": 3, "failures": 2, "not_before": 4.0, "owed": True,
    "leaving": True, "displacing": True, "assigned": 1.0, "dated": True, "arrival_number": 7,
}  # fmt: skip
"""What a task may carry that has been through a lot; ``FRESH`` is one that has not."""
FRESH: dict[str, Any] = {name: type(value)() for name, value in WORN.items()}


def happen(name: str, state: TaskPhase, carried: dict[str, Any]) -> dict[str, Any]:
    """What differs after a change: columns of the task by name, and what else there is in words."""
    cluster = cluster_with(state)
    tasks = cluster.tasks
    for column, value in carried.items():
        getattr(tasks, column)[TASK] = value
    tasks.message[TASK] = "why" if carried is WORN else ""
    cluster.last_arrival_number = 7
    cluster.dirty.clear()
    cluster.undated.clear()
    before = look(cluster)
    HAPPENINGS[name](cluster)
    after = look(cluster)
    after["version"] -= before["version"]
    before["version"] = 0
    return {key: after[key] for key in after if after[key] != before[key]}


def look(cluster: Cluster) -> dict[str, Any]:
    tasks = cluster.tasks
    columns = {name: getattr(tasks, name)[TASK].item() for name in sorted({*WORN, "state", "machine"})}
    machines = cluster.machines
    return {
        **columns,
        "message": tasks.message[TASK],
        "uid": tasks.uid[TASK],
        "used": [int(each) for each in machines.used[:, cluster.resources.names.index("cpu")]],
        "marked": [machines.names[row] for row in sorted(cluster.dirty.machines)],
        "touched": sorted(cluster.dirty.touched),
        "promised": dict(cluster.promises.machine_of),
        "version": cluster.version,
        "last_arrival_number": cluster.last_arrival_number,
        "undated": [each.tolist() for each in cluster.undated],
        "other": [getattr(tasks, name)[1].item() for name in sorted(WORN)],
        "members": sorted(cluster.jobs.members("j")),
    }


LEFT: dict[str, Any] = {"machine": -1, "used": [0, 0], "marked": ["m"], "touched": [0]}
CAME: dict[str, Any] = {"arrival_number": 8, "machine": 1, "used": [0, 100], "last_arrival_number": 8}

# fmt: off
TABLE: list[tuple[str, TaskPhase, dict[str, Any], dict[str, Any]]] = [
    ("assume", PENDING, {**CAME, "passed_over": 0, "state": ASSUMED, "unschedulable": False, "message": "",
      "undated": [[0]]},
     {**CAME, "state": ASSUMED, "undated": [[0]]}),
    ("wait_for_room", ASSUMED, {}, {"displacing": True}),
    ("owe", ASSUMED, {}, {"owed": True}),
    ("confirm", ASSUMED, {"assigned": 10.0, "arrival_number": 8, "failures": 0, "owed": False, "state": BOUND,
                         "last_arrival_number": 8},
     {"state": BOUND}),
    ("find_bound", ASSUMED, {"assigned": 10.0, "arrival_number": 8, "owed": False, "state": BOUND,
                            "last_arrival_number": 8},
     {"state": BOUND}),
    ("find_bound", BOUND, {"owed": False}, {}),
    ("arrive_bound", PENDING, {**CAME, "assigned": 10.0, "dated": False, "displacing": False, "leaving": False,
      "owed": False, "refused": False, "state": BOUND, "unschedulable": False, "message": "", "touched": [0]},
     {**CAME, "assigned": 10.0, "state": BOUND, "touched": [0]}),
    ("arrive_bound", ASSUMED, {**CAME, "assigned": 10.0, "dated": False, "displacing": False, "leaving": False,
      "owed": False, "refused": False, "state": BOUND, "unschedulable": False, "message": "", "marked": ["m"],
      "touched": [0]},
     {**CAME, "assigned": 10.0, "state": BOUND, "marked": ["m"], "touched": [0]}),
    ("arrive_bound", BOUND, {**CAME, "assigned": 10.0, "dated": False, "displacing": False, "leaving": False,
      "owed": False, "refused": False, "unschedulable": False, "message": "", "marked": ["m"], "touched": [0]},
     {**CAME, "assigned": 10.0, "marked": ["m"], "touched": [0]}),
    ("await_bindings", BOUND, {"state": ASSUMED}, {"state": ASSUMED}),
    ("arrive_bound_all", PENDING, {**CAME, "assigned": 10.0, "leaving": False, "state": BOUND, "touched": [0]},
     {**CAME, "assigned": 10.0, "state": BOUND, "touched": [0]}),
    ("back_off", ASSUMED, {"failures": 3, "not_before": 14.0}, {"failures": 1, "not_before": 11.0}),
    ("release", ASSUMED, {**LEFT, "displacing": False, "leaving": False, "state": PENDING, "promised": {"t": "m"}},
     {**LEFT, "state": PENDING, "promised": {"t": "m"}}),
    ("give_up_place", ASSUMED, {**LEFT, "displacing": False, "leaving": False, "state": PENDING,
      "unschedulable": False, "version": 1},
     {**LEFT, "state": PENDING, "version": 1}),
    ("refuse", PENDING, {"owed": False, "version": 1}, {"refused": True, "unschedulable": True, "version": 1}),
    ("defer", PENDING, {"not_before": 11.0}, {"not_before": 11.0}),
    ("forget", PENDING, {"displacing": False, "leaving": False, "state": UNUSED, "unschedulable": False,
      "message": "", "uid": "", "members": [1]},
     {"state": UNUSED, "uid": "", "members": [1]}),
    ("forget", ASSUMED, {**LEFT, "displacing": False, "leaving": False, "state": UNUSED, "unschedulable": False,
      "message": "", "uid": "", "members": [1]},
     {**LEFT, "state": UNUSED, "uid": "", "members": [1]}),
    ("forget", BOUND, {**LEFT, "displacing": False, "leaving": False, "state": UNUSED, "unschedulable": False,
      "message": "", "uid": "", "members": [1]},
     {**LEFT, "state": UNUSED, "uid": "", "members": [1]}),
    ("lift", ASSUMED, {"displacing": False, "machine": -1, "state": PENDING}, {"machine": -1, "state": PENDING}),
    ("put_back", PENDING, {"assigned": 10.0, "displacing": False, "machine": 0, "state": ASSUMED,
      "unschedulable": False},
     {"assigned": 10.0, "arrival_number": 7, "machine": 0, "state": ASSUMED}),
    ("lift_running", BOUND, {"machine": -1, "state": PENDING, "used": [0, 0]},
     {"machine": -1, "state": PENDING, "used": [0, 0]}),
    ("set_back", PENDING, {"machine": 1, "state": BOUND, "used": [0, 100]},
     {"machine": 1, "state": BOUND, "used": [0, 100]}),
    ("ask_to_leave", BOUND, {}, {"leaving": True}),
    ("let_stay", BOUND, {"leaving": False, "version": 1}, {"version": 1}),
]
"""By change and state before: what becomes of a task that has been through a lot, and of one that has not."""
# fmt: on


@pytest.mark.parametrize(("name", "state", "worn", "fresh"), TABLE)
def test_a_change_does_what_it_says_and_nothing_else(
    name: str, state: TaskPhase, worn: dict[str, Any], fresh: dict[str, Any]
):
    assert happen(name, state, WORN) == worn
    assert happen(name, state, FRESH) == fresh


def test_all_changes_are_in_the_table():
    listed = {(name, state) for name, state, *_ in TABLE}
    assert listed == {(name, state) for name, (states, _) in MOVES.items() for state in states}


@pytest.mark.parametrize(("failures", "wait"), [(0, 2.0), (1, 4.0), (3, 16.0), (4, 20.0), (99, 20.0)])
def test_waits_double_up_to_the_longest(failures: int, wait: float):
    cluster = cluster_with(ASSUMED)
    cluster.tasks.failures[TASK] = failures
    transitions.back_off(cluster, TASK, NOW, first=2.0, last=20.0)
    assert cluster.tasks.not_before[TASK] == NOW + wait
    assert cluster.tasks.failures[TASK] == failures + 1


def test_who_is_seen_on_its_own_machine_and_was_to_leave_still_has_to():
    cluster = cluster_with(BOUND)
    cluster.tasks.leaving[TASK] = True
    transitions.arrive_bound(cluster, TASK, 0, "m", NOW)
    assert cluster.tasks.leaving[TASK]


def test_a_refusal_that_may_be_retried_keeps_what_is_owed():
    cluster = cluster_with(PENDING)
    cluster.tasks.owed[TASK] = cluster.tasks.unschedulable[TASK] = cluster.tasks.refused[TASK] = True
    transitions.refuse(cluster, TASK, retry=True)
    assert cluster.tasks.owed[TASK]
    assert not cluster.tasks.unschedulable[TASK]
    assert not cluster.tasks.refused[TASK]


def test_who_was_not_refused_for_good_takes_part_after_it_was_deferred():
    cluster = cluster_with(PENDING)
    cluster.tasks.unschedulable[TASK] = True
    transitions.defer(cluster, TASK, NOW)
    assert not cluster.tasks.unschedulable[TASK]


def test_assumptions_are_dated_once():
    cluster = cluster_with(PENDING)
    transitions.assume(cluster, np.array([TASK]), np.array([0]))
    cluster.tasks.dated[TASK] = False
    transitions.date_assumptions(cluster, NOW + 1)
    assert (cluster.tasks.assigned[TASK], bool(cluster.tasks.dated[TASK])) == (NOW + 1, True)
    transitions.date_assumptions(cluster, NOW + 2)
    assert cluster.tasks.assigned[TASK] == NOW + 1


def test_room_is_promised_only_where_that_is_said():
    cluster = cluster_with(ASSUMED)
    transitions.release(cluster, TASK)
    assert not cluster.promises.machine_of


def test_who_moved_leaves_room_and_a_mark():
    cluster = cluster_with(ASSUMED)
    lifted = transitions.lift(cluster, TASK)
    assert (lifted.task, lifted.machine, lifted.arrival_number) == (TASK, 0, cluster.last_arrival_number)
    transitions.assume(cluster, np.array([TASK]), np.array([1]))
    cluster.dirty.clear()
    transitions.leave_former(cluster, lifted)
    found = look(cluster)
    assert (found["used"], found["marked"], found["touched"]) == ([0, 100], ["m"], [0])
