"""Domains that are planned for applications before the flow chooses machines in them."""

from __future__ import annotations

from firmament.core.board.board import Board
from firmament.core.events import ClassDefined, Event, RecordUpserted, TasksBound, TasksSubmitted
from firmament.core.placement.pairs.waves import DomainPlan
from firmament.core.search.tuning import ApplicationTuning
from tests.cost_models.network_aware.scenes import (
    app_group,
    machines,
    pair_labels,
    records,
    topology,
    waiting,
)
from tests.firmament.core.placement.test_application_rounds import (
    FOUR_ZONES,
    REGION,
    TOPOLOGY,
    ZONE,
    chain,
    opened,
)
from tests.support.core import task_class


def plan(*events: Event | list[Event], chunks: int = 16, **args: bool) -> list[list[int]]:
    """How many tasks of each class go to each zone."""
    snapshot = opened(*events, **args).open_round().snapshot
    assert snapshot is not None
    board = Board(snapshot.problem)
    return DomainPlan(board, board.pairs, ApplicationTuning(chunks=chunks)).counts.tolist()


def test_a_whole_application_is_planned_for_one_zone():
    app = app_group(["a", "b"], chain("a", "b"))
    found = plan(machines(FOUR_ZONES), records(TOPOLOGY, app), waiting(1, "a", 2), waiting(2, "b", 2))
    assert found == [[2, 0, 0, 0], [2, 0, 0, 0]]


def test_what_is_planned_for_a_zone_makes_it_dearer_for_the_next_application():
    app = app_group(["a", "b", "c", "d"], [*chain("a", "b"), *chain("c", "d")])
    four = [waiting(number, name, 2) for number, name in enumerate("abcd", 1)]
    found = plan(machines(FOUR_ZONES), records(TOPOLOGY, app), *four)
    assert found == [[2, 0, 0, 0], [2, 0, 0, 0], [0, 2, 0, 0], [0, 2, 0, 0]]


def pod(number: int, workload: str, group: str, priority: int) -> list[Event]:
    content = task_class(500, labels=pair_labels(workload, group))
    return [ClassDefined(number, content), TasksSubmitted(number, (workload,), priority=priority)]


def test_where_links_limit_applications_each_is_planned_as_a_whole_before_the_next():
    """The first has a workload that is more important than the second application, and one that is less so.

    The first zone has room for two; what the second application depends on is there.
    """
    capacity = {
        level: {here: dict.fromkeys(row, 100) for here, row in pairs.items()}
        for level, pairs in (("region", REGION), ("zone", ZONE))
    }
    known: list[Event] = [
        RecordUpserted("NetworkTopology", "default/nt-default", topology(REGION, ZONE, capacity)),
        RecordUpserted("AppGroup", "default/one", app_group(["a", "b"], chain("a", "b", amount=1))),
        RecordUpserted("AppGroup", "default/two", app_group(["c", "r"], chain("c", "r", amount=1))),
        ClassDefined(8, task_class(500)),
        *(TasksBound(f"n{row}", 8, (f"x{row}", f"y{row}")) for row in range(1, len(FOUR_ZONES))),
        ClassDefined(9, task_class(500, labels=pair_labels("r", "two"))),
        TasksBound("n0", 9, ("r",)),
    ]
    wanted = [*pod(1, "a", "one", 9), *pod(2, "b", "one", 0), *pod(3, "c", "two", 5)]
    found = plan(machines(FOUR_ZONES, cpu=1500), known, wanted, chunks=1, enforceBandwidth=True)
    assert found == [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]]
