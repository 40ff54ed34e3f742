"""Tasks come in as columns; it must not show how many events, or calls, they came in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    MachineRemoved,
    MachineUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.intake.events import apply_events
from firmament.core.model import Job, Machine
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskTable
from tests.support.core import machine, task_class

NOW = 1000.0
BEGIN: tuple[Event, ...] = (
    ClassDefined(1, task_class(cpu=100)),
    ClassDefined(2, task_class(cpu=1, memory=7)),
    ClassDefined(3, task_class(cpu=1, terminating=True)),
    machine("m0"),
    machine("m1"),
)

task_uids = st.lists(
    st.sampled_from([f"t{number}" for number in range(9)]), min_size=1, max_size=5, unique=True
)
classes = st.integers(1, 3)
jobs = st.sampled_from(["", "j", "gang"])
times = st.sampled_from([0.0, 1.0, 2.5])


@st.composite
def submitted(draw: st.DrawFn) -> TasksSubmitted:
    uids = tuple(draw(task_uids))
    names = tuple(f"n-{uid}" for uid in uids) if draw(st.booleans()) else ()
    created = tuple(draw(times) for _ in uids) if draw(st.booleans()) else ()
    return TasksSubmitted(draw(classes), uids, draw(jobs), draw(st.integers(0, 2)), names, created)


@st.composite
def bound(draw: st.DrawFn) -> TasksBound:
    uids = tuple(draw(task_uids))
    names = tuple(f"n-{uid}" for uid in uids) if draw(st.booleans()) else ()
    assigned, initialized = (
        tuple(draw(times) for _ in uids) if draw(st.booleans()) else () for _ in range(2)
    )
    where = draw(st.sampled_from(["m0", "m1", "m2"]))
    return TasksBound(
        where, draw(classes), uids, names, draw(st.integers(0, 2)), draw(jobs), assigned, initialized
    )


others: st.SearchStrategy[Event] = st.one_of(
    st.sampled_from(["m0", "m1", "m2"]).map(machine),
    st.sampled_from(["m0", "m1", "m2"]).map(MachineRemoved),
    task_uids.map(lambda uids: TaskRemoved(uids[0])),
    st.sampled_from([0, 2, 3]).map(lambda least: JobDefined(Job("gang", min_members=least))),
)
histories = st.lists(st.one_of(submitted(), bound(), submitted(), bound(), others), max_size=14)


def one_by_one(event: Event) -> list[Event]:
    """An event about each task by itself."""
    if isinstance(event, TasksSubmitted):
        return [
            replace(event, uids=(uid,), names=event.names[i : i + 1], created=event.created[i : i + 1])
            for i, uid in enumerate(event.uids)
        ]
    if isinstance(event, TasksBound):
        return [
            replace(
                event,
                uids=(uid,),
                names=event.names[i : i + 1],
                assigned=event.assigned[i : i + 1],
                initialized=event.initialized[i : i + 1],
                created=event.created[i : i + 1],
            )
            for i, uid in enumerate(event.uids)
        ]
    return [event]


def columns(tasks: TaskTable) -> dict[str, list[object]]:
    """All that is known of the tasks, by name of the column."""
    known = len(tasks.uid)
    texts = {name: list(getattr(tasks, name)) for name in ("uid", "name", "job", "message", "orphan_of")}
    return {**texts, **{name: getattr(tasks, name)[:known].tolist() for name in TaskTable.COLUMNS}}


def snapshot(cluster: Cluster) -> dict[str, object]:
    """All that tasks leave behind in a cluster."""
    machines = cluster.machines
    return {
        "tasks": columns(cluster.tasks),
        "rows": dict(cluster.tasks.row_of),
        "used": dict(zip(machines.names, machines.used.tolist(), strict=True)),
        "running": dict(zip(machines.names, machines.running.tolist(), strict=True)),
        "jobs": {job: cluster.jobs.members(job) for job in ("j", "gang")},
        "changed": cluster.jobs.changed,
        "arrival_number": cluster.last_arrival_number,
        "touched": cluster.dirty.touched,
    }


@given(histories)
def test_tasks_in_one_batch_end_as_those_that_come_one_by_one(history):
    together, apart = Cluster(), Cluster()
    apply_events(together, (*BEGIN, *history), NOW)
    apply_events(apart, BEGIN, NOW)
    for event in history:
        for each in one_by_one(event):
            apply_events(apart, [each], NOW)
    assert snapshot(together) == snapshot(apart)


def test_a_task_that_comes_twice_in_a_batch_is_described_by_the_last():
    cluster = Cluster()
    apply_events(cluster, (*BEGIN, TasksSubmitted(1, ("a", "b")), TasksSubmitted(2, ("b", "c"))), NOW)
    assert cluster.tasks.uid == ["a", "b", "c"]
    assert cluster.tasks.cls[:3].tolist() == [0, 1, 1]


def test_rows_of_tasks_that_ended_are_used_again_as_if_they_were_new():
    cluster = Cluster()
    one = TasksBound(
        "m0", 3, ("a", "b", "c"), job="j", priority=9, assigned=(5.0,) * 3, initialized=(6.0,) * 3
    )
    apply_events(cluster, (*BEGIN, one, TaskRemoved("a"), TaskRemoved("c")), NOW)
    apply_events(cluster, [TasksSubmitted(1, ("d", "e", "f"))], NOW + 1)
    assert cluster.tasks.uid == ["e", "b", "d", "f"]
    fresh = Cluster()
    apply_events(fresh, (*BEGIN, TasksSubmitted(1, ("e", "b", "d", "f"))), NOW + 1)
    for name in set(TaskTable.COLUMNS) - {"sequence"}:
        for row in (0, 2, 3):
            assert getattr(cluster.tasks, name)[row] == getattr(fresh.tasks, name)[row], name


def test_many_tasks_of_many_events_use_what_they_ask_for():
    """More rows than the tables begin with, on known machines and on one that comes later."""
    names = [f"n{number}" for number in range(100)]
    wide = [MachineUpserted(Machine(name, {"cpu": 10**6, "memory": 10**6})) for name in names[1:]]
    events = [
        TasksBound(name, 1 + number % 2, tuple(f"{name}-{each}" for each in range(number % 7 + 1)))
        for number, name in enumerate(names)
    ]
    cluster = Cluster()
    apply_events(cluster, (*BEGIN[:3], *wide, *events), NOW)
    apply_events(cluster, [MachineUpserted(Machine("n0", {"cpu": 10**6}))], NOW)
    requests = np.array([[100, 0], [1, 7]])
    for number, name in enumerate(names):
        row = cluster.machines.row_of[name]
        count = number % 7 + 1
        columns_of = cluster.resources.columns(("cpu", "memory", "pods"))
        assert cluster.machines.used[row, columns_of].tolist() == [*(requests[number % 2] * count), count]
        assert cluster.machines.running[row] == count


def test_tasks_that_name_a_group_are_spread_with_it_and_others_with_nobody():
    cluster = Cluster()
    apply_events(
        cluster,
        [
            *BEGIN,
            TasksSubmitted(1, ("a", "b"), spread_group="g"),
            TasksSubmitted(1, ("c",)),
            TasksBound("m0", 1, ("d",), spread_group="g"),
        ],
        NOW,
    )
    groups = {uid: int(cluster.tasks.spread[row]) for uid, row in cluster.tasks.row_of.items()}
    assert groups["a"] == groups["b"] == groups["d"] != groups["c"]


def test_times_that_some_events_state_are_theirs_alone():
    cluster = Cluster()
    apply_events(
        cluster,
        [*BEGIN, TasksSubmitted(1, ("a", "b"), created=(3.0, 4.0)), TasksSubmitted(2, ("c",))],
        NOW,
    )
    created = {uid: float(cluster.tasks.created[row]) for uid, row in cluster.tasks.row_of.items()}
    assert created == {"a": 3.0, "b": 4.0, "c": 0.0}


def test_bound_tasks_are_dated_by_what_comes_with_them_and_others_by_now():
    cluster = Cluster()
    bound = TasksBound("m0", 1, ("a", "b"), assigned=(5.0, 0.0), initialized=(6.0, 7.0))
    apply_events(cluster, [*BEGIN, bound, TasksBound("m0", 2, ("c",))], NOW)
    tasks = cluster.tasks
    rows = [tasks.row_of[uid] for uid in "abc"]
    assert tasks.assigned[rows].tolist() == [5.0, NOW, NOW]
    assert tasks.dated[rows].tolist() == [True, False, False]
    assert tasks.initialized[rows].tolist()[:2] == [6.0, 7.0]
