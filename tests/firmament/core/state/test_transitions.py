"""What happens to tasks: each change starts from the states that it says, and the books are in order afterwards."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from firmament.core.events import ClassDefined, JobDefined, MachineRemoved, TasksBound, TasksSubmitted
from firmament.core.intake.events import apply_events
from firmament.core.model import Job
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase
from tests.support.checked_transitions import checked
from tests.support.core import machine, task_class
from tests.support.invariants import validate

NOW = 10.0
TASK = 0


def cluster_with(state: TaskPhase, *, gang: bool = False) -> Cluster:
    """A cluster with two machines and two tasks, the first of which is in ``state``."""
    cluster = Cluster()
    job = (JobDefined(Job("j", min_members=2)),) if gang else ()
    apply_events(
        cluster,
        [
            machine("m"),
            machine("n"),
            ClassDefined(1, task_class(cpu=100)),
            *job,
            submitted("t"),
            submitted("u"),
        ],
        NOW,
    )
    if state is TaskPhase.ASSUMED:
        transitions.assume(cluster, rows(TASK), rows(0))
        transitions.date_assumptions(cluster, NOW)
    if state is TaskPhase.BOUND:
        apply_events(cluster, [TasksBound("m", 1, ("t",), job="j")], NOW)
    cluster.jobs.changed.clear()
    return cluster


def submitted(uid: str) -> TasksSubmitted:
    return TasksSubmitted(1, (uid,), job="j")


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def lift_and_put_back(cluster: Cluster) -> None:
    transitions.put_back(cluster, transitions.lift(cluster, TASK))


HAPPENINGS: dict[str, Callable[[Cluster], object]] = {
    "assume": lambda cluster: transitions.assume(cluster, rows(TASK), rows(1)),
    "wait_for_room": lambda cluster: transitions.wait_for_room(cluster, rows(TASK), ordered=np.array([True])),
    "owe": lambda cluster: transitions.owe(cluster, TASK),
    "confirm": lambda cluster: transitions.confirm(cluster, TASK, NOW),
    "find_bound": lambda cluster: transitions.find_bound(cluster, TASK, NOW),
    "arrive_bound": lambda cluster: transitions.arrive_bound(cluster, TASK, 0, "n", NOW),
    "await_bindings": lambda cluster: transitions.await_bindings(cluster, rows(TASK)),
    "arrive_bound_all": lambda cluster: transitions.arrive_bound_all(cluster, rows(TASK), ["n"], [1], NOW),
    "back_off": lambda cluster: transitions.back_off(cluster, TASK, NOW, first=1.0, last=60.0),
    "release": lambda cluster: transitions.release(cluster, TASK, promised=True),
    "give_up_place": lambda cluster: transitions.give_up_place(cluster, TASK),
    "refuse": lambda cluster: transitions.refuse(cluster, TASK, retry=False),
    "defer": lambda cluster: transitions.defer(cluster, TASK, NOW + 1),
    "forget": lambda cluster: transitions.forget(cluster, TASK),
    "lift": lambda cluster: transitions.lift(cluster, TASK),
    "put_back": lambda cluster: transitions.put_back(
        cluster, transitions.Lifted(TASK, 0, cluster.last_arrival_number, displacing=False, assigned=NOW)
    ),
    "lift_running": lambda cluster: transitions.lift_running(cluster, rows(TASK)),
    "set_back": lambda cluster: transitions.set_back(cluster, rows(TASK), rows(1)),
    "ask_to_leave": lambda cluster: transitions.ask_to_leave(cluster, TASK),
    "let_stay": lambda cluster: transitions.let_stay(cluster, TASK),
}
TOGETHER = {"lift", "put_back"}
"""In between the room of a task that is pending is booked."""
QUESTIONS = {"lift_running", "set_back"}
"""A question that leaves all as it was touches no gang."""
ALLOWED = [(name, state) for name, (states, _) in transitions.MOVES.items() for state in sorted(states)]
REFUSED = [
    (name, state)
    for name in transitions.MOVES
    for state in (TaskPhase.PENDING, TaskPhase.ASSUMED, TaskPhase.BOUND)
    if (name, state) not in ALLOWED
]


def test_every_change_is_tried():
    assert HAPPENINGS.keys() == transitions.MOVES.keys()
    assert all(callable(getattr(transitions, name)) for name in transitions.MOVES)


@pytest.mark.parametrize(("name", "state"), ALLOWED)
def test_a_change_leads_where_it_says(name, state):
    cluster = cluster_with(state)
    validate(cluster)
    HAPPENINGS[name](cluster)
    after = transitions.MOVES[name][1]
    assert cluster.tasks.state[TASK] == (state if after is None else after)
    assert cluster.tasks.state[1] == TaskPhase.PENDING
    if name not in {*TOGETHER, "set_back"}:
        validate(cluster)


@pytest.mark.parametrize(("name", "state"), REFUSED)
def test_tests_refuse_a_change_from_another_state(name, state):
    cluster = cluster_with(state)
    with checked(), pytest.raises(AssertionError, match=f"{name} of tasks that are"):
        HAPPENINGS[name](cluster)


@pytest.mark.parametrize(("name", "state"), ALLOWED)
def test_a_gang_is_touched_by_whatever_changes_a_state(name, state):
    cluster = cluster_with(state, gang=True)
    HAPPENINGS[name](cluster)
    alone = cluster.tasks.state[TASK] == state or name in {
        *TOGETHER,
        *QUESTIONS,
        "find_bound",
        "arrive_bound_all",
    }
    assert alone or cluster.jobs.changed == {"j"}


def test_who_is_lifted_and_put_back_is_as_before():
    cluster = cluster_with(TaskPhase.ASSUMED)
    transitions.wait_for_room(cluster, rows(TASK), ordered=np.array([True]))
    before = {column: getattr(cluster.tasks, column).tolist() for column in cluster.tasks.COLUMNS}
    used = cluster.machines.used.tolist()
    lift_and_put_back(cluster)
    assert {column: getattr(cluster.tasks, column).tolist() for column in cluster.tasks.COLUMNS} == before
    assert cluster.machines.used.tolist() == used
    validate(cluster)


def test_who_is_lifted_while_running_takes_no_room_and_is_set_back_as_before():
    cluster = cluster_with(TaskPhase.BOUND)
    before = {column: getattr(cluster.tasks, column).tolist() for column in cluster.tasks.COLUMNS}
    used = cluster.machines.used.tolist()
    machines = transitions.lift_running(cluster, rows(TASK))
    assert not cluster.machines.used.any()
    transitions.set_back(cluster, rows(TASK), machines)
    assert {column: getattr(cluster.tasks, column).tolist() for column in cluster.tasks.COLUMNS} == before
    assert cluster.machines.used.tolist() == used
    validate(cluster)


def test_who_is_lifted_and_placed_elsewhere_leaves_nothing_behind():
    cluster = cluster_with(TaskPhase.ASSUMED)
    lifted = transitions.lift(cluster, TASK)
    transitions.assume(cluster, rows(TASK), rows(1))
    transitions.leave_former(cluster, lifted)
    assert cluster.where(TASK) == "n"
    assert cluster.machines.running.tolist() == [0, 1]
    validate(cluster)


def test_room_is_promised_to_who_loses_it_while_its_machine_is_there():
    cluster = cluster_with(TaskPhase.ASSUMED)
    transitions.release(cluster, TASK, promised=True)
    assert len(cluster.promises.machine_of) == 1
    cluster = cluster_with(TaskPhase.ASSUMED)
    apply_events(cluster, [MachineRemoved("m")], NOW)
    transitions.release(cluster, TASK, promised=True)
    assert len(cluster.promises.machine_of) == 0
    validate(cluster)


def test_who_waited_for_victims_got_its_machine_when_it_is_seen_there():
    cluster = cluster_with(TaskPhase.ASSUMED)
    transitions.wait_for_room(cluster, rows(TASK), ordered=np.array([True]))
    cluster.tasks.dated[TASK] = False
    arrived = cluster.tasks.arrival_number[TASK]
    transitions.find_bound(cluster, TASK, NOW + 5)
    assert (cluster.tasks.assigned[TASK], cluster.tasks.dated[TASK]) == (NOW + 5, True)
    assert cluster.tasks.arrival_number[TASK] > arrived


def test_who_waited_for_nobody_got_its_machine_when_it_was_given():
    cluster = cluster_with(TaskPhase.ASSUMED)
    arrived = cluster.tasks.arrival_number[TASK]
    transitions.find_bound(cluster, TASK, NOW + 5)
    assert (cluster.tasks.assigned[TASK], cluster.tasks.dated[TASK]) == (NOW, True)
    assert cluster.tasks.arrival_number[TASK] == arrived


# --- the books ------------------------------------------------------------------------------------------------------


def _book_twice(cluster: Cluster) -> None:
    cluster.book(0, 0, 1)


def _write(column: str, value: object) -> Callable[[Cluster], None]:
    def write(cluster: Cluster) -> None:
        getattr(cluster.tasks, column)[TASK] = value

    return write


@pytest.mark.parametrize(
    ("state", "spoil", "said"),
    [
        (TaskPhase.PENDING, _write("machine", 0), "task t, PENDING, is on a machine"),
        (TaskPhase.PENDING, _write("orphan_of", "m"), "task t, PENDING, is kept aside for a machine"),
        (
            TaskPhase.PENDING,
            _write("refused", value=True),
            "task t, PENDING, is refused for good, and not unschedulable",
        ),
        (TaskPhase.PENDING, _write("leaving", value=True), "task t, PENDING, is leaving"),
        (TaskPhase.PENDING, _write("sequence", 1), "two tasks are in one place of the order of arrival"),
        (TaskPhase.PENDING, _write("spread", 3), "group 3 has 1 tasks, and counts 0"),
        (TaskPhase.PENDING, _write("job", "k"), "job "),
        (TaskPhase.PENDING, _write("uid", "x"), "task t is not in row 0, as the index says"),
        (TaskPhase.PENDING, _write("state", TaskPhase.UNUSED), "1 rows have a task, and 2 tasks a row"),
        (TaskPhase.PENDING, _book_twice, "machine m, column 0: 0 tasks run, 1 is counted"),
        (TaskPhase.ASSUMED, _write("machine", -1), "task t, ASSUMED, has no machine"),
        (TaskPhase.ASSUMED, _write("machine", 1), "machine m, column 0: 0 tasks run, 1 is counted"),
        (TaskPhase.ASSUMED, _write("machine", 2), "task t, ASSUMED, is on a machine that is not there"),
        (TaskPhase.ASSUMED, _write("unschedulable", value=True), "task t, ASSUMED, is unschedulable"),
        (TaskPhase.ASSUMED, _write("message", "wait"), "task t, ASSUMED, is told why it waits"),
        (TaskPhase.BOUND, _write("arrival_number", 9), "a task came to its machine later than the last"),
        (TaskPhase.BOUND, _write("owed", value=True), "task t, BOUND, is owed room"),
    ],
)
def test_what_does_not_hold_is_said(state, spoil, said):
    cluster = cluster_with(state)
    spoil(cluster)
    with pytest.raises(AssertionError) as raised:
        validate(cluster)
    assert str(raised.value).startswith(said)
    assert "\n" not in str(raised.value)
