"""What rules and models say together: what evictions may open, what is kept, and what models see of tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cost_models.interface import (
    Assessment,
    ContainerRow,
    JointRows,
    MachineColumns,
    Needs,
    Promises,
    SparseArcs,
)
from firmament.core.configuration import WeightedModel
from firmament.core.events import ClassDefined, TasksBound, TasksSubmitted
from firmament.core.filters.static_rows import StaticRow
from firmament.core.model import Taint
from firmament.core.scoring.round_assessment import (
    RoundAssessment,
    assess_shapes,
    batch_of,
    native_figures,
    raw_rows,
    shape_rows,
    worth_keeping,
)
from firmament.core.snapshot.snapshot import model_columns
from tests.support.core import START, machine, scheduler, task_class
from tests.support.histories.holding import SeatLedger
from tests.support.models import Stated, indifferent
from tests.support.rules import ints

_EVERYTHING = Needs(
    labels=("app",),
    namespaces=True,
    containers=True,
    qos=True,
    limits=True,
    service_classes=True,
    daemons=True,
)


def flags(*rows: str) -> np.ndarray:
    """One row for each word: ``x`` for true."""
    return np.array([[letter == "x" for letter in row] for row in rows], dtype=np.bool_)


def row(word: str) -> StaticRow:
    feasible = flags(word)[0]
    return StaticRow(feasible, np.where(feasible, -1, 0).astype(np.int16), ())


class Held:
    """An opening of machines that are only held by tasks."""

    def __init__(self, *rows: str) -> None:
        self.held = flags(*rows)


def answer(*feasible: str, **more: Any) -> Assessment:
    return Assessment(np.zeros((2, 1)), flags(*feasible) if feasible else None, **more)


def assessed(*answers: Assessment, rules: tuple[str, ...] = ("xxx.", "xxxx")) -> RoundAssessment:
    machines: Any = type("Machines", (), {"count": 4})()
    batch: Any = type("Batch", (), {"count": len(rules)})()
    rows = tuple(row(each) for each in rules)
    return RoundAssessment(tuple(range(len(rows))), machines, batch, rows, rows, answers, ())


def test_machines_that_tasks_hold_are_those_that_nothing_else_refuses():
    seats: Any = SeatLedger(ints(1, 1, 1, 1), np.array([True]))
    opening: Any = Held("xx.x", "..xx")
    found = assessed(
        answer("..x.", "xx.."), answer("xx..", ".xxx", ledger=seats, room_after_eviction=opening)
    ).find_held()
    assert found is not None
    assert found.tolist() == flags("....", "....").tolist(), "the other model refuses all of these"
    found = assessed(answer("x.x.", "xxx."), answer("....", "....", room_after_eviction=opening)).find_held()
    assert found is not None
    assert found.tolist() == flags("x...", "..x.").tolist(), "its own filter does not count, rules do"
    two: Any = Held(".x..", "x...")
    found = assessed(answer(room_after_eviction=opening), answer(room_after_eviction=two)).find_held()
    assert found is not None
    assert found.tolist() == flags("xx..", "x.xx").tolist()
    assert assessed(answer("x.x.", "xxx.")).find_held() is None
    assert assessed(answer(room_after_eviction=opening), rules=()).find_held() is None


def test_machines_are_occupied_if_no_model_refuses_them_for_good():
    found = assessed(
        answer("x...", "...x", occupied=flags(".x.x", "....")), answer("xxxx", ".xxx")
    ).find_occupied()
    assert found is not None
    assert found.tolist() == flags("xx..", "...x").tolist()
    assert assessed(answer("x...", "...x")).find_occupied() is None


def test_shapes_with_the_same_machines_share_a_row():
    made = assessed()
    assert made.feasible().tolist() == flags("xxx.", "xxxx").tolist()
    one = row("x..x")
    twin = RoundAssessment((0, 1), made.machines, made.batch, (one, one), (one, one), (), ())
    assert twin.feasible().tolist() == flags("x..x", "x..x").tolist()
    assert not twin.feasible().flags.writeable
    assert assessed(rules=()).feasible().shape == (0, 4)


def test_limits_and_notes_of_all_models_come_in_their_order():
    rows = [JointRows(ints(0, 0, 0, 0), ints(1, 1), ints(1), name) for name in "abc"]
    ledgers = [SeatLedger(ints(1), np.array([True])) for _ in range(2)]
    opening: Any = Held("....", "....")
    made = assessed(
        answer(joint=(rows[0], rows[1]), notes=("n", "o"), ledger=ledgers[0]),
        answer(room_after_eviction=opening),
        answer(joint=(rows[2],), notes=("p",), ledger=ledgers[1], room_after_eviction=opening),
    )
    assert [each.reason for each in made.joint()] == ["a", "b", "c"]
    assert made.ledgers() == (*ledgers,)
    assert made.rooms_after_eviction() == (None, opening), "one for each ledger"
    assert made.notes() == ("n", "o", "p")


@pytest.mark.parametrize(
    ("promises", "raw", "more", "kept"),
    [
        (Promises(per_machine=True), np.zeros((2, 4)), {}, True),
        (Promises(), np.zeros((2, 4)), {}, False),
        (Promises(per_machine=True), np.zeros((2, 1)), {}, False),
        (Promises(per_machine=True), np.zeros((2, 4)), {"growth": np.zeros(4)}, False),
    ],
)
def test_answers_are_worth_keeping_that_hold_machine_by_machine(
    promises: Promises, raw: np.ndarray, more: dict[str, Any], kept: bool
):
    model = WeightedModel(Stated(indifferent, promises=promises))
    given = Assessment(raw, **more)
    assert worth_keeping([model, model], [given, given], 4) == ((given,) * 2 if kept else (None,) * 2)


def test_sparse_figures_replace_others_and_leave_the_answer_alone():
    raw = np.array([[1], [2]], dtype=np.int8)
    plain = Assessment(raw)
    assert native_figures(plain, 2, 3).dtype == np.int8
    assert raw_rows(plain, 2, 3).tolist() == [[1.0] * 3, [2.0] * 3]
    sparse = Assessment(raw, sparse=SparseArcs(ints(0, 1), ints(2, 0), np.array([0.5, 9.5])))
    assert raw_rows(sparse, 2, 3).tolist() == [[1.0, 1.0, 0.5], [9.5, 2.0, 2.0]]
    assert raw.tolist() == [[1], [2]]


# --- what models see of tasks ----------------------------------------------------------------------------------------


def test_models_see_all_fields_of_shapes_that_they_may():
    content = task_class(
        namespace="ns",
        labels=(("app", "a"),),
        annotations=(("firmament.io/x", "1"),),
        containers=(ContainerRow("c", requests=(("cpu", 100),)),),
        qos="Burstable",
        overhead=(("cpu", 5),),
        limits=(("cpu", 200),),
        service_class="koord-prod",
        daemon=True,
    )
    model = Stated(indifferent, needs=_EVERYTHING)
    core = scheduler(
        machine("m"),
        ClassDefined(1, content),
        ClassDefined(2, task_class(7)),
        overlays=[WeightedModel(model)],
    )
    shapes = [each.shape for each in core._cluster.classes.rows]
    seen = shape_rows(core._cluster, shapes)
    assert len(seen) == 2
    assert [each.namespace for each in seen] == ["ns", ""]
    first = seen[0]
    assert (first.labels, first.annotations) == ({"app": "a"}, {"firmament.io/x": "1"})
    assert (first.qos, first.overhead, first.limits) == ("Burstable", (("cpu", 5),), (("cpu", 200),))
    assert (first.service_class, first.daemon, first.containers[0].name) == ("koord-prod", True, "c")
    batch = batch_of(core._cluster, shapes, ints(3, 4))
    cpu = core._cluster.resources.names.index("cpu")
    assert batch.requests[:, cpu].tolist() == [100, 7]
    assert (batch.counts.tolist(), batch.allowed, batch.unstated) == ([3, 4], None, None)


def test_typical_shapes_are_those_of_all_tasks_with_their_machines():
    model = Stated(indifferent, needs=replace(_EVERYTHING, typical=True))
    core = scheduler(
        machine("m"),
        machine("tainted", taints=[Taint("x", "y", "NoSchedule")]),
        *(ClassDefined(number, task_class(number)) for number in (1, 2, 3)),
        TasksBound("m", 1, ("a", "b")),
        TasksSubmitted(1, ("c",)),
        TasksSubmitted(3, ("d",)),
        overlays=[WeightedModel(model)],
    )
    context, cluster = core._profile.context, core._cluster
    columns: MachineColumns = model_columns(cluster, START)
    found = assess_shapes(cluster, context.static_rows, columns, [2], [1], context.configuration.models)
    typical = found.batch.typical
    assert typical is not None
    cpu = cluster.resources.names.index("cpu")
    assert typical.requests[:, cpu].tolist() == [1, 3]
    assert typical.counts.tolist() == [3, 1]
    assert typical.allowed is not None
    assert [each.tolist() for each in typical.allowed] == [[True, False]] * 2
    assert model.seen[-1][1].typical is typical


def test_refusals_of_models_come_after_those_of_rules_in_the_order_of_models():
    def refusing(reason: str, word: str) -> WeightedModel:
        return WeightedModel(
            Stated(
                lambda *_: Assessment(np.zeros((1, 1)), flags(word), reason),
                name=reason.rsplit(maxsplit=1)[-1],
            )
        )

    core = scheduler(
        machine("open"),
        machine("cordoned", cordoned=True),
        machine("a"),
        machine("b"),
        ClassDefined(1, task_class()),
        overlays=[refusing("node(s) first", "x..x"), refusing("node(s) second", "x...")],
    )
    context, cluster = core._profile.context, core._cluster
    columns = model_columns(cluster, START)
    found = assess_shapes(cluster, context.static_rows, columns, [0], [1], context.configuration.models)
    (static,) = found.static
    words = [static.causes[code].summary if code >= 0 else "" for code in static.code.tolist()]
    assert words == ["", "node(s) were unschedulable", "node(s) first", "node(s) second"]
    assert found.rules[0].feasible.tolist() == [True, False, True, True]
