"""What machines are asked for without some task, what is free, and what is told of when tasks came."""

from __future__ import annotations

from typing import Any

from firmament.core.events import ClassDefined, Event, TasksBound, TasksSubmitted
from firmament.core.intake.events import apply_events
from firmament.core.state.cluster import Cluster
from tests.support.core import machine, task_class
from tests.support.rules import ints


def cluster_of(*events: Event) -> Cluster:
    cluster = Cluster()
    made: list[Event] = [
        machine("m", cpu=1000),
        machine("n", cpu=1000),
        ClassDefined(1, task_class(300)),
        *events,
    ]
    apply_events(cluster, made, 0.0)
    return cluster


CPU = 1
"""The column of processors."""


def test_what_is_used_without_a_task():
    cluster = cluster_of(TasksBound("m", 1, ("t", "u")), TasksSubmitted(1, ("waits",)))
    row = cluster.tasks.row_of
    assert cluster.sum_requests()[:, CPU].tolist() == [600, 0]
    assert cluster.sum_requests(row["t"])[:, CPU].tolist() == [300, 0]
    assert cluster.sum_requests(row["u"])[:, CPU].tolist() == [300, 0]
    assert cluster.sum_requests(row["waits"])[:, CPU].tolist() == [600, 0]
    assert cluster.sum_requests(0)[:, CPU].tolist() == [300, 0]
    assert cluster.free()[:, CPU].tolist() == [400, 1000]
    assert cluster.free(without=row["t"])[:, CPU].tolist() == [700, 1000]
    assert cluster.free_beside(ints(row["waits"]))[:, CPU].tolist() == [400, 1000]
    assert not cluster.has_promises
    assert cluster.sum_promised_beside(ints()) is None


def test_times_that_an_event_does_not_state_stay():
    def told(**times: Any) -> tuple[float, float, float, bool]:
        apply_events(cluster, [TasksBound("m", 1, ("t",), **times)], 0.0)
        tasks, row = cluster.tasks, cluster.tasks.row_of["t"]
        return (
            float(tasks.assigned[row]),
            float(tasks.initialized[row]),
            float(tasks.created[row]),
            bool(tasks.dated[row]),
        )

    cluster = cluster_of(TasksBound("m", 1, ("t",), created=(3.0,)))
    assert told()[2:] == (3.0, False)
    assert told(assigned=(5.0,)) == (5.0, told()[1], 3.0, True)
    assert told()[0] == 5.0
    assert told(assigned=(0.0,))[0] == 5.0
    assert told(initialized=(6.0,)) == (5.0, 6.0, 3.0, True)
    assert told(created=(2.0,)) == (5.0, 6.0, 2.0, True)


def test_arrivals_are_numbered_in_order():
    cluster = cluster_of(TasksBound("m", 1, ("t", "u")))
    rows = [cluster.tasks.row_of[uid] for uid in ("u", "t")]
    before = cluster.last_arrival_number
    cluster.number_arrivals(ints(*rows))
    assert cluster.tasks.arrival_number[rows].tolist() == [before + 1, before + 2]
    assert cluster.last_arrival_number == before + 2
