from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.submit.messages import index_of, job_events, snapshot_events, task_events, task_uid
from firmament.submit.workload import WorkloadOptions, generate
from firmament.wire.events import events_from_proto

OPTIONS = WorkloadOptions(nodes=50, tasks=1000, classes=7, fill=0.5, rate=100.0, task_seconds=3.0, seed=4)


def test_equal_options_give_equal_workloads():
    first, second, other = generate(OPTIONS), generate(OPTIONS), generate(replace(OPTIONS, seed=5))
    for field in fields(first):
        assert np.array_equal(getattr(first, field.name), getattr(second, field.name))
    assert not np.array_equal(first.requests, other.requests)


@given(
    nodes=st.integers(0, 40),
    tasks=st.integers(0, 200),
    classes=st.integers(1, 30),
    low=st.integers(1, 20),
    spread=st.integers(0, 20),
    fill=st.floats(0, 1),
    seed=st.integers(0, 5),
)
def test_shapes_and_ranges(nodes, tasks, classes, low, spread, fill, seed):
    options = WorkloadOptions(
        nodes=nodes,
        tasks=tasks,
        classes=classes,
        cpu=(low, low + spread),
        memory=(low, low + spread),
        sizes=(low, low + spread),
        fill=fill,
        seed=seed,
    )
    workload = generate(options)
    assert (workload.machines, workload.tasks) == (nodes, tasks)
    assert workload.requests.shape == (classes, 3)
    assert ((workload.requests[:, :2] >= low) & (workload.requests[:, :2] <= low + spread)).all()
    assert (workload.task_class < classes).all()
    sizes = np.unique(workload.task_job, return_counts=True)[1]
    assert (sizes[:-1] >= low).all(), "only the last job is cut short"
    assert (sizes <= low + spread).all()
    filled = workload.fill_level >= 0
    assert (workload.fill_requests[workload.fill_level[filled]] <= workload.allocatable[filled]).all()


def test_the_fill_is_what_was_asked_for_on_average():
    workload = generate(replace(OPTIONS, nodes=5000))
    share = (workload.fill_level + 1) / 20
    assert share.mean() == pytest.approx(0.5, abs=0.02)
    assert (share.min(), share.max()) == (0.25, 0.75)


def test_rates_and_lifetimes():
    workload = generate(OPTIONS)
    assert workload.submit_at[-1] == pytest.approx(9.99)
    assert workload.lifetime.mean() == pytest.approx(3.0, rel=0.15)
    at_once = generate(replace(OPTIONS, rate=None, task_seconds=None))
    assert not at_once.submit_at.any()
    assert np.isinf(at_once.lifetime).all()


def test_messages_are_well_formed_and_complete():
    workload = generate(OPTIONS)
    assert len(events_from_proto(snapshot_events(workload))) == 50 + 7 + 20 + int(
        (workload.fill_level >= 0).sum()
    )
    uids: list[str] = []
    jobs: list[str] = []
    for first in range(0, workload.tasks, 90):
        last = min(first + 90, workload.tasks)
        defined = job_events(workload, first, last)
        submitted = task_events(workload, first, last, created=1.0)
        events_from_proto([*defined, *submitted])
        jobs += [event.job.id for event in defined]
        assert {event.tasks.job for event in submitted} <= set(jobs), "jobs come before their tasks"
        uids += [uid for event in submitted for uid in event.tasks.uids]
    assert uids == [task_uid(index) for index in range(1000)]
    assert [index_of(uid) for uid in uids] == list(range(1000))
    assert jobs == [f"job-{job}" for job in np.unique(workload.task_job)]
