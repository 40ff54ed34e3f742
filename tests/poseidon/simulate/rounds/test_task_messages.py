"""What a simulated round tells the solver of tasks that come, run already, or go."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from poseidon.simulate.rounds.task_messages import TaskMessages
from poseidon.simulate.workloads.columns import ALONE
from protos.firmament.v1 import scheduler_pb2 as pb

RACK = pb.JobGroup(name="workers", within=["rack"])


def messages(*, groups: tuple[pb.JobGroup | None, ...] = (None, None), **given: Any) -> TaskMessages:
    """Tasks 0 to 4: three of kind 0, of which the last two are gang 7, and two of kind 1."""
    work = SimpleNamespace(
        template=np.array([0, 0, 0, 1, 1]),
        gang=np.array([ALONE, 7, 7, ALONE, ALONE]),
        arrival=np.array([1.0, 2.0, 2.0, 3.0, 4.0]),
    )
    kinds = SimpleNamespace(
        classes=[pb.TaskClass(id=11), pb.TaskClass(id=12)],
        priorities=[5, 9],
        spread=["", "web"],
        groups=groups,
    )
    tasks: Any = SimpleNamespace(work=work)
    made: Any = kinds
    return TaskMessages(made, tasks, given.get("uids", {}), given.get("jobs", {}), 100.0)


def bodies(events: list[pb.Event]) -> list[str | None]:
    return [event.WhichOneof("body") for event in events]


def test_tasks_of_one_kind_and_gang_are_submitted_together():
    made = messages()
    events = made.make_submissions(np.array([0, 1, 2, 3, 4]))
    assert bodies(events) == ["task_class", "tasks", "job", "tasks", "task_class", "tasks"]
    alone, gang, others = (event.tasks for event in events if event.HasField("tasks"))
    assert (alone.task_class, [*alone.uids], [*alone.created], alone.job, alone.priority) == (
        11,
        ["t0"],
        [101.0],
        "",
        5,
    )
    assert ([*gang.uids], gang.job, [*gang.created]) == (["t1", "t2"], "gang/7", [102.0, 102.0])
    assert ([*others.uids], others.spread_group, others.priority) == (["t3", "t4"], "web", 9)
    [job] = [event.job for event in events if event.HasField("job")]
    assert (job.id, job.name, job.size, job.min_members, len(job.groups)) == ("gang/7", "gang/7", 2, 2, 0)
    again = made.make_submissions(np.array([0]))
    assert bodies(again) == ["tasks"], "the solver knows the class"


def test_a_gang_in_a_domain_needs_all_of_its_group_there():
    made = messages(groups=(RACK, None))
    [job] = [event.job for event in made.make_submissions(np.array([1, 2])) if event.HasField("job")]
    assert (job.min_members, job.size) == (0, 2)
    assert [(each.name, each.least, [*each.within]) for each in job.groups] == [("workers", 2, ["rack"])]


def test_recorded_tasks_keep_their_names_and_jobs():
    made = messages(uids={3: "pod-x"}, jobs={3: "Job/web", 4: "Job/db"})
    events = made.make_submissions(np.array([3, 4]))
    told = [(event.tasks.job, [*event.tasks.uids]) for event in events if event.HasField("tasks")]
    assert told == [("Job/web", ["pod-x"]), ("Job/db", ["t4"])]
    assert [made.find_number(uid) for uid in ("pod-x", "t4", "t17")] == [3, 4, 17]
    [bound] = [event.bound for event in made.submit_bound(3, "n1") if event.HasField("bound")]
    assert (bound.machine, bound.job, [*bound.uids], bound.priority, bound.spread_group) == (
        "n1",
        "Job/web",
        ["pod-x"],
        9,
        "web",
    )
    assert bodies(made.submit_bound(4, "n1")) == ["bound"]
    assert bodies(messages().submit_bound(4, "n1")) == ["task_class", "bound"]


def test_tasks_and_gangs_that_go_are_removed_once():
    made = messages(uids={3: "pod-x"})
    assert [event.task_removed for event in made.withdraw_tasks([0, 3])] == ["t0", "pod-x"]
    assert [event.job_removed for event in made.dissolve_gangs([7, ALONE, 8, 7])] == ["gang/7", "gang/8"]
