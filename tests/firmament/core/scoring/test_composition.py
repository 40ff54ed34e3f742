"""How the answers of several models become one cost and one crowding figure."""

from __future__ import annotations

import numpy as np
import pytest

from cost_models.interface import (
    Assessment,
    MachineColumns,
    Range,
    ShapeBatch,
    ShapeRow,
    SparseArcs,
)
from firmament.core.configuration import WeightedModel
from firmament.core.events import MachineSampled, RecordRemoved, RecordUpserted, TasksBound
from firmament.core.results import MachineVerdict
from firmament.core.scheduler import Scheduler
from firmament.core.scoring.round_assessment import LARGEST_COST, crowding_units
from tests.support.core import START, machine, placed, scheduler, task_class, tasks, uids
from tests.support.models import Stated, flat, indifferent


def verdicts(core: Scheduler, uid: str) -> dict[str, MachineVerdict]:
    return {verdict.machine: verdict for verdict in core.explain(uid).machines}


def test_costs_of_all_models_add_up_by_weight():
    core = scheduler(
        machine("m", cpu=1_000, memory=1_000),
        machine("n", cpu=1_000, memory=1_000),
        tasks(1, "t", content=task_class(cpu=500, memory=500)),
        overlays=[
            WeightedModel(Stated(flat(10.0, 30.0), name="once"), weight=1),
            WeightedModel(Stated(flat(10.0, 5.0), name="threefold"), weight=3),
        ],
    )
    found = verdicts(core, "t")
    assert [(model.model, model.raw, model.cost) for model in found["m"].models] == [
        ("cpu_mem", 2_500.0, 40.0),
        ("once", 10.0, 10.0),
        ("threefold", 10.0, 30.0),
        ("kubernetes", 0.0, 0.0),
    ]
    assert (found["m"].cost, found["n"].cost) == (80.0, 85.0)
    result = core.run_round()
    assert placed(result) == {"t": "m"}
    assert result.stats.cost == 80


def test_a_model_of_weight_zero_charges_nothing_but_still_filters():
    def refuse_first(machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        feasible = np.ones((shapes.count, machines.count), np.bool_)
        feasible[:, 0] = False
        return Assessment(raw=np.full((shapes.count, 1), 90.0), feasible=feasible, reason="node(s) too hot")

    core = scheduler(
        machine("m"), machine("n"), tasks(1, "t"), overlays=[WeightedModel(Stated(refuse_first), weight=0)]
    )
    found = verdicts(core, "t")
    assert found["m"].reasons == ("node(s) too hot",)
    assert [model.feasible for model in found["m"].models] == [True, False, True]
    assert found["n"].models[1].cost == 0.0
    assert placed(core.run_round()) == {"t": "n"}


@pytest.mark.parametrize(
    ("span", "raw", "cost"),
    [
        (Range(best=0.0, worst=200.0), 50.0, 25.0),
        (Range(best=100.0, worst=0.0), 80.0, 20.0),
        (Range(best=0.0, worst=10.0), 99.0, 100.0),
        (Range(best=0.0, worst=10.0), -5.0, 0.0),
        (Range(best=0.0, worst=10.0, bounded=False), 99.0, 990.0),
        (Range(best=0.0, worst=10.0, bounded=False), -5.0, 0.0),
    ],
)
def test_figures_are_mapped_to_points_through_the_declared_range(span: Range, raw: float, cost: float):
    core = scheduler(
        machine("m"), tasks(1, "t"), policy="trivial", overlays=[WeightedModel(Stated(flat(raw), range=span))]
    )
    assert verdicts(core, "t")["m"].cost == cost


def test_sparse_figures_replace_those_of_the_row():
    def mostly_dear(machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        exception = SparseArcs(np.zeros(1, np.int64), np.array([2]), np.array([10.0]))
        return Assessment(raw=np.full((shapes.count, 1), 90.0), sparse=exception)

    core = scheduler(
        *(machine(name) for name in "abc"),
        tasks(1, "t"),
        policy="trivial",
        overlays=[WeightedModel(Stated(mostly_dear))],
    )
    assert [verdict.cost for verdict in core.explain("t").machines] == [90.0, 90.0, 10.0]
    assert placed(core.run_round()) == {"t": "c"}


def test_costs_are_cut_off_before_they_leave_32_bits():
    endless = Stated(flat(0.0, 1e15), range=Range(0.0, 1.0, bounded=False))
    core = scheduler(
        machine("m", cpu=100), machine("n", cpu=100), tasks(1, "a", "b"), overlays=[WeightedModel(endless)]
    )
    result = core.run_round()
    assert set(placed(result)) == {"a", "b"}  # dear is not forbidden
    assert LARGEST_COST < 2**31


def test_a_score_of_the_models_own_is_shown_as_it_is():
    def scored(machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        return Assessment(raw=np.array([[70.0]]), score=np.array([[33.0]]))

    core = scheduler(machine("m"), tasks(1, "t"), overlays=[WeightedModel(Stated(scored))])
    stated = verdicts(core, "t")["m"].models[1]
    assert (stated.raw, stated.score, stated.cost) == (70.0, 33.0, 70.0)


# --- crowding --------------------------------------------------------------------------------------------------------


def columns(machines: int) -> MachineColumns:
    return MachineColumns(
        names=[f"m{index}" for index in range(machines)],
        resources=("pods", "cpu"),
        capacity=np.zeros((machines, 2), np.int64),
        free=np.zeros((machines, 2), np.int64),
        running=np.zeros(machines, np.int64),
        labels=[{}] * machines,
        annotations=[{}] * machines,
        usage=np.zeros((machines, 2)),
        usage_time=np.full(machines, np.nan),
        records={},
        now=START,
    )


def batch(*cpu_and_tasks: tuple[int, int]) -> ShapeBatch:
    return ShapeBatch(
        requests=np.array([[1, cpu] for cpu, _ in cpu_and_tasks], dtype=np.int64).reshape(-1, 2),
        counts=np.array([count for _, count in cpu_and_tasks], dtype=np.int64),
        rows=[ShapeRow()] * len(cpu_and_tasks),
    )


@pytest.mark.parametrize(
    ("growth", "weight", "units"),
    [
        (0.0, 1, 0),
        (1.0, 1, 100),  # a point is 100 units
        (0.25, 3, 75),
        (0.011, 1, 2),  # 1.1 units are rounded up
        (1e-5, 1, 1),  # what costs something never comes to nothing
        (0.29, 100, 2_900),  # 2900.0000000000005 in floating point: rounding up does not add a unit
        (1e12, 1, LARGEST_COST),
    ],
)
def test_crowding_is_rounded_up_to_whole_units(growth: float, weight: int, units: int):
    models = [WeightedModel(Stated(flat(0.0), growth=growth), weight)]
    assert crowding_units(columns(2), batch((1, 5)), models).tolist() == [units, units]


def test_crowding_adds_up_over_models_through_their_ranges():
    models = [
        WeightedModel(Stated(flat(0.0), growth=2.0, range=Range(0.0, 1_000.0)), 1),  # a unit is 0.1 points
        WeightedModel(Stated(flat(0.0), growth=1.0, range=Range(50.0, 0.0)), 2),  # a unit is 2 points
    ]
    assert crowding_units(columns(1), batch((1, 5)), models).tolist() == [20 + 400]


def test_crowding_is_that_of_the_mean_request():
    models = [WeightedModel(Stated(flat(0.0), growth=1.0), 1)]
    assert crowding_units(columns(1), batch((10, 3), (50, 1)), models).tolist() == [2_000]
    assert crowding_units(columns(1), batch(), models).tolist() == [0]
    assert crowding_units(columns(0), batch((10, 3)), models).tolist() == []


def test_crowding_spreads_tasks_over_equal_machines():
    core = scheduler(*(machine(f"m{index}") for index in range(5)), tasks(1, *uids("t", 15)))
    on_machine = np.unique(list(placed(core.run_round()).values()), return_counts=True)[1]
    assert on_machine.tolist() == [3, 3, 3, 3, 3]


# --- what models are shown -------------------------------------------------------------------------------------------


def test_models_see_the_cluster_as_it_is():
    model = Stated(indifferent)
    core = scheduler(
        machine("m", labels={"zone": "a"}, cpu=1_000, extended={"example.com/device": 2}),
        machine("full", cpu=100),
        tasks(1),
        TasksBound("m", 1, ("running",)),
        TasksBound("full", 1, ("one", "two")),
        MachineSampled("m", START - 30, {"cpu": 250.5}),
        RecordUpserted("kind", "kept", b"payload"),
        RecordUpserted("kind", "gone", b"payload"),
        RecordRemoved("kind", "gone"),
        tasks(2, "a", "b", content=task_class(cpu=7, namespace="ns", labels=(("app", "web"),))),
        tasks(3, "c", content=task_class(cpu=9)),
        overlays=[WeightedModel(model)],
    )
    core.run_round()
    machines, shapes = model.seen[0]
    cpu = machines.column("cpu")
    assert cpu is not None
    assert list(machines.names) == ["m", "full"]
    assert machines.capacity[:, cpu].tolist() == [1_000, 100]
    assert machines.free[:, cpu].tolist() == [900, 0]  # never negative, though the second is overcommitted
    assert machines.running.tolist() == [1, 2]
    assert list(machines.labels) == [{"zone": "a"}, {}]
    assert machines.usage[0, cpu] == 250.5
    assert np.isnan(machines.usage[1]).all()
    assert machines.usage_time[0] == START - 30
    assert np.isnan(machines.usage_time[1])
    assert machines.records == {"kind": {"kept": b"payload"}}
    assert machines.now == START
    assert "example.com/device" in machines.resources
    assert shapes.requests[:, cpu].tolist() == [7, 9]
    assert shapes.counts.tolist() == [2, 1]
    assert [(row.namespace, dict(row.labels)) for row in shapes.rows] == [("ns", {"app": "web"}), ("", {})]


def test_an_older_sample_does_not_replace_a_newer_one():
    model = Stated(indifferent)
    core = scheduler(machine("m"), tasks(1, "t"), overlays=[WeightedModel(model)])
    core.apply([MachineSampled("m", 20.0, {"cpu": 2.0}), MachineSampled("m", 10.0, {"cpu": 1.0})])
    core.run_round()
    machines, _ = model.seen[0]
    assert machines.usage_time.tolist() == [20.0]


def test_classes_that_differ_in_their_pin_alone_share_a_shape():
    model = Stated(indifferent)
    core = scheduler(
        *(machine(f"m{index}") for index in range(3)),
        *(tasks(1 + index, f"t{index}", content=task_class(machine=f"m{index}")) for index in range(3)),
        overlays=[WeightedModel(model)],
    )
    result = core.run_round()
    assert result.stats.classes == 3
    assert model.seen[0][1].count == 1
    assert model.seen[0][1].counts.tolist() == [3]
