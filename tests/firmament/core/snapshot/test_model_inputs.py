"""What models see of the tasks on machines: by kind, in order of arrival, with their reported use."""

from __future__ import annotations

import numpy as np
import pytest

from cost_models.interface import Needs
from firmament.core.events import (
    ClassDefined,
    Event,
    MachineSampled,
    RecordUpserted,
    TasksBound,
    TasksSubmitted,
    TaskUses,
    WindowUse,
)
from firmament.core.intake.events import apply_events
from firmament.core.resources import CEILING
from firmament.core.snapshot.model_inputs import (
    DEFAULT_INTERVAL,
    collect_load,
    compute_measured_use,
    compute_reported_use,
    compute_unseen_use,
    count_residents,
    list_arrivals,
    on_machines,
    resident_shapes,
)
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from tests.support.core import machine, task_class
from tests.support.rules import ints


def cluster(*events: Event) -> Cluster:
    """Machines m and n; class 1 of 100 milli-cores, 2 of 300 as assumed, 3 with the shape of the first."""
    made = Cluster(Needs(load=True, records=("R",), arrivals=("R", "S")))
    classes = [
        ClassDefined(1, task_class(100)),
        ClassDefined(2, task_class(0, assumed=(("cpu", 300),))),
        ClassDefined(3, task_class(100, machine="m")),
    ]
    apply_events(made, [machine("m"), machine("n"), *classes, *events], 0.0)
    return made


def cpu(made: Cluster, table: np.ndarray) -> list[float]:
    return table[:, made.resources.names.index("cpu")].tolist()


def rows(made: Cluster, uids: str) -> np.ndarray:
    return ints(*(made.tasks.row_of[uid] for uid in uids))


RUNNING = (
    TasksBound("m", 1, ("a",), assigned=(10.0,), initialized=(11.0,)),
    TasksBound("m", 2, ("b", "c"), assigned=(20.0, 0.0)),
    TasksBound("n", 3, ("d",)),
    TasksSubmitted(1, ("w",)),
    TasksBound("gone", 1, ("x",)),
)


def test_tasks_on_known_machines_are_seen_but_for_the_one_that_is_asked_about():
    made = cluster(*RUNNING)
    assert on_machines(made).tolist() == rows(made, "abcd").tolist()
    assert on_machines(made, without=made.tasks.row_of["b"]).tolist() == rows(made, "acd").tolist()
    assert on_machines(made, without=0).tolist() == rows(made, "bcd").tolist()


def test_residents_are_counted_by_machine_and_shape():
    made = cluster(*RUNNING)
    found = count_residents(made)
    assert found.machine.tolist() == [0, 0, 1]
    assert found.kind.tolist() == [0, 1, 0]
    assert found.count.tolist() == [1, 2, 1]
    assert cpu(made, found.requests) == [100, 0]
    assert len(found.kinds) == 2
    assert resident_shapes(made).tolist() == [0, 1]
    fewer = count_residents(made, without=made.tasks.row_of["d"])
    assert (fewer.machine.tolist(), fewer.count.tolist()) == ([0, 0], [1, 2])
    nobody = count_residents(cluster())
    assert (nobody.machine.tolist(), len(nobody.kinds)) == ([], 0)


# --- arrivals --------------------------------------------------------------------------------------------------------


def test_arrivals_are_those_on_machines_with_records_in_their_order():
    made = cluster(*RUNNING[:2])
    assert list_arrivals(made, ("R",)) is None
    apply_events(made, [RecordUpserted("R", "m", b"{}"), *RUNNING[2:], TasksBound("m", 1, ("e",))], 0.0)
    found = list_arrivals(made, ("R", "S"))
    assert found is not None
    assert [found.uids[row] for row in found.task.tolist()] == ["a", "b", "c", "e"]
    assert found.machine.tolist() == [0] * 4
    assert found.kind.tolist() == [0, 1, 1, 0]
    assert found.after.tolist() == [False, False, False, True]
    assert found.time[:2].tolist() == [10.0, 20.0]
    assert np.isnan(found.time[2:]).all()
    assert cpu(made, found.kinds.requests(ints(1, 0))) == [0, 100]
    assert len(found.kinds.rows(ints(0, 1, 0))) == 3
    apply_events(made, [RecordUpserted("S", "m", b"{}")], 0.0)
    both = list_arrivals(made, ("R", "S"), without=made.tasks.row_of["b"])
    assert both is not None
    assert both.after.tolist() == [False, False, False]
    assert len(both.task) == 3


def test_a_task_that_waits_for_victims_counts_as_coming_later():
    made = cluster(TasksSubmitted(1, ("a", "b")))
    where = rows(made, "ab")
    transitions.assume(made, where, ints(0, 0))
    transitions.wait_for_room(made, where, ordered=np.array([True, False]))
    apply_events(made, [RecordUpserted("R", "m", b"{}")], 0.0)
    found = list_arrivals(made, ("R",))
    assert found is not None
    assert (found.displacing.tolist(), found.after.tolist()) == ([True, False], [True, False])
    transitions.find_bound(made, int(where[0]), 1.0)
    made.tasks.displacing[where[0]] = True
    made.tasks.arrival_number[where[0]] = 1
    found = list_arrivals(made, ("R",))
    assert found is not None
    assert found.after.tolist() == [False, False]


# --- use -------------------------------------------------------------------------------------------------------------


def report(made: Cluster, name: str, time: float, interval: float = 0.0, **uses: float) -> None:
    tasks = TaskUses(tuple(uses), ("cpu",), tuple(uses.values()))
    window = WindowUse("avg", 300.0, {"cpu": 5.0})
    sample = MachineSampled(
        name,
        time,
        {"cpu": 50.0},
        interval,
        windows=(window,),
        own_windows=True,
        system={"cpu": 2.0},
        tasks=tasks,
    )
    apply_events(made, [sample], 0.0)


def test_use_of_tasks_counts_while_their_machines_last_report_has_it():
    made = cluster(*RUNNING)
    report(made, "m", 100.0, a=30.0, b=40.0)
    report(made, "n", 100.0, a=99.0)
    use, reported = compute_reported_use(made, rows(made, "abcd"))
    assert reported.tolist() == [False, True, False, False]
    assert cpu(made, use) == [0.0, 40.0, 0.0, 0.0]
    report(made, "m", 110.0, a=30.0)
    use, reported = compute_reported_use(made, rows(made, "abcd"))
    assert (reported.tolist(), cpu(made, use)) == ([True, False, False, False], [30.0, 0.0, 0.0, 0.0])
    report(made, "n", 120.0, d=7.0)
    assert cpu(made, compute_measured_use(made, rows(made, "abd"))) == [30.0, 7.0]


def test_loads_of_machines_and_tasks():
    made = cluster(*RUNNING)
    report(made, "m", 100.0, 15.0, a=30.0)
    found = collect_load(made)
    assert found.reported.tolist() == [True, False]
    assert found.interval.tolist() == [15.0, 0.0]
    assert cpu(made, found.system) == [2.0, 0.0]
    assert cpu(made, found.total) == [4000, 4000]
    assert cpu(made, found.windows.usage("avg", 300.0))[0] == 5.0
    tasks = found.assigned
    assert tasks.machine.tolist() == [0, 0, 0, 1]
    assert tasks.kind.tolist() == [0, 1, 1, 0]
    assert tasks.time[:2].tolist() == [10.0, 20.0]
    assert np.isnan(tasks.time[2])
    assert tasks.initialized[0] == 11.0
    assert np.isnan(tasks.initialized[1:]).all()
    assert tasks.reported.tolist() == [True, False, False, False]
    assert cpu(made, tasks.usage) == [30.0, 0.0, 0.0, 0.0]
    assert tasks.prod[0]
    assert cpu(made, tasks.requests) == [100, 0]
    assert len(collect_load(made, without=0).assigned.machine) == 3


@pytest.mark.parametrize(
    ("interval", "assigned", "expected"),
    [
        (10.0, 90.0, 0),
        (10.0, 90.5, 100),
        (0.0, 100.0 - DEFAULT_INTERVAL, 0),
        (0.0, 100.5 - DEFAULT_INTERVAL, 100),
        (10.0, 500.0, 100),
    ],
)
def test_requests_of_tasks_that_came_after_the_report_before_the_last_are_unseen(
    interval: float, assigned: float, expected: int
):
    made = cluster(TasksBound("m", 1, ("a",), assigned=(assigned,)))
    assert cpu(made, compute_unseen_use(made)) == [0, 0], "without a report"
    report(made, "m", 100.0, interval)
    assert cpu(made, compute_unseen_use(made)) == [expected, 0]
    assert cpu(made, compute_unseen_use(made, without=0)) == [0, 0]


def test_what_a_report_shows_of_a_task_is_not_unseen():
    made = cluster(
        TasksBound("m", 1, ("a", "b"), assigned=(99.0, 0.0)), TasksBound("m", 2, ("c",), assigned=(99.0,))
    )
    report(made, "m", 100.0, 10.0, a=29.5)
    assert cpu(made, compute_unseen_use(made)) == [70 + 300, 0]
    report(made, "m", 100.0, 10.0, a=500.0)
    assert cpu(made, compute_unseen_use(made)) == [300, 0]


def test_unseen_use_of_machines_with_more_than_can_be_summed_is_the_ceiling():
    made = cluster(TasksBound("m", 1, ("a",), assigned=(99.0,)))
    report(made, "m", 100.0, 10.0)
    column = made.resources.names.index("cpu")
    made.machines._used.cells[0, column] = CEILING
    assert compute_unseen_use(made)[0, column] == CEILING
