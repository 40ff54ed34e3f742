"""Models that promise answers by machine: who does, that it is checked, and what parts they are asked about."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cost_models.checks.per_machine import check_per_machine
from cost_models.checks.sample_inputs import (
    NOW,
    Case,
    ordinary_machines,
    ordinary_residents,
    ordinary_shapes,
    standard_cases,
)
from cost_models.conformance import CHECKS
from cost_models.firmament_policies.whare_samples import RECORD_KIND
from cost_models.interface import (
    Assessment,
    BaseModel,
    CostModel,
    Float64,
    Int64,
    JointRows,
    MachineColumns,
    Promises,
    Range,
    ShapeBatch,
    ShapeRow,
    SparseArcs,
    answers_expire,
)
from cost_models.registry import list_available, load_model
from tests.cost_models.columns import machine_columns

HOLDING = {
    "cpu_mem",
    "most_allocated",
    "machine_price",
    "octopus",
    "random",
    "requested_to_capacity_ratio",
    "whare_map",
}
SORT = {"program": "sort", "runtimeSeconds": 3, "instructions": 1e9}
TYPES = ("cpu=4000,memory=17179869184", "other")
SAMPLES = {RECORD_KIND: {name: json.dumps({**SORT, "machineType": name}).encode() for name in TYPES}}


def rich_case() -> Case:
    """Machines with tasks, fresh and old reports, and records; a shape of which the records tell."""
    machines, shapes = ordinary_machines(SAMPLES), ordinary_shapes()
    unseen = np.zeros_like(machines.capacity)
    unseen[1] = (3, 700, 2**30, 0, 0)
    usage, times = machines.usage.copy(), machines.usage_time.copy()
    usage[3], times[3] = (1, 90_000.0, 2**31, 0, 0), NOW - 179.5
    usage[0], times[0] = (0, np.nan, 2**31, 0, 0), NOW + 3.0  # made by a clock that is ahead
    rows = (replace(shapes.rows[0], annotations={"firmament.io/program": "sort"}), *shapes.rows[1:])
    return Case(
        "with all that models look at",
        replace(machines, residents=ordinary_residents(), unseen=unseen, usage=usage, usage_time=times),
        replace(shapes, rows=rows, allowed=[np.arange(6) % 2 == 0] * 3),
    )


def models() -> list[CostModel]:
    """All registered models that hold by machine, with arguments that matter."""
    given: list[tuple[str, dict[str, object]]] = [(name, {}) for name in sorted(list_available())]
    given += [("cpu_mem", {"availability": each}) for each in ("utilisation", "reservation")]
    given += [("cpu_mem", {"expirationSeconds": 6}), ("random", {"seed": 3})]
    return [model for name, args in given if (model := load_model(name, args)).promises.per_machine]


def test_who_promises():
    assert {name for name in list_available() if load_model(name, {}).promises.per_machine} == HOLDING


@pytest.mark.parametrize("model", models(), ids=lambda model: model.name)
def test_those_who_promise_keep_it(model: CostModel):
    check_per_machine(model, [*standard_cases(model.needs.records), rich_case()])


def test_it_is_one_of_the_checks_of_every_model():
    assert check_per_machine in CHECKS


# --- broken promises ------------------------------------------------------------------------------------------------


class Promising(BaseModel):
    """Charges for running tasks, by machine; a test breaks it."""

    name = "promising"
    kind = "overlay"
    range = Range(best=0, worst=1000, bounded=False)
    promises = Promises(per_machine=True)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        raw = np.tile(machines.running, (shapes.count, 1))
        return Assessment(raw=raw, feasible=raw < 60, reason="node(s) were busy")

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:
        return np.full(machines.count, float(request[0]))


Broken = Callable[[MachineColumns, ShapeBatch, Assessment], Assessment]
BROKEN: dict[str, tuple[Broken, str]] = {
    "other machines": (
        lambda machines, _, answer: replace(answer, raw=answer.raw + machines.running.sum()),
        "raw depends on",
    ),
    "the best machine": (
        lambda machines, _, answer: replace(answer, raw=answer.raw - machines.running.min(initial=1)),
        "raw depends on",
    ),
    "other shapes": (
        lambda _, shapes, answer: replace(answer, raw=answer.raw + shapes.requests.sum()),
        "raw depends on",
    ),
    "counts": (
        lambda _, shapes, answer: replace(answer, raw=answer.raw + shapes.counts[:, None]),
        "raw depends on",
    ),
    "the time": (
        lambda machines, _, answer: replace(answer, raw=answer.raw + int(machines.now) % 7),
        "raw depends on",
    ),
    "the place of a machine": (
        lambda machines, _, answer: replace(answer, raw=answer.raw + np.arange(machines.count)),
        "raw depends on",
    ),
    "verdicts": (
        lambda machines, _, answer: replace(answer, feasible=answer.raw < machines.running.max(initial=0)),
        "feasible depends on",
    ),
    "scores": (
        lambda machines, _, answer: replace(answer, score=answer.raw / max(1, machines.count)),
        "score depends on",
    ),
    "reasons": (
        lambda machines, _, answer: replace(answer, reason=f"one of {machines.count} node(s)"),
        "reasons depend on what else",
    ),
    "one figure per shape": (
        lambda _, shapes, answer: replace(answer, raw=np.zeros((shapes.count, 1)), feasible=None),
        "raw must have a figure per shape and machine",
    ),
    "growth": (
        lambda machines, _, answer: replace(answer, growth=np.ones(machines.count)),
        "nothing beside",
    ),
    "joint rows": (
        lambda machines, shapes, answer: replace(
            answer,
            joint=(
                JointRows(
                    np.arange(machines.count), shapes.counts, np.full(machines.count, 9), "node(s) were full"
                ),
            ),
        ),
        "nothing beside",
    ),
    "sparse arcs": (
        lambda _, __, answer: replace(
            answer, sparse=SparseArcs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        ),
        "nothing beside",
    ),
}


def test_the_sound_one_passes():
    check_per_machine(Promising(), standard_cases())


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_promise_is_found(name: str):
    broken, message = BROKEN[name]

    class Breaking(Promising):
        def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
            return broken(machines, shapes, super().assess(machines, shapes))

    with pytest.raises(AssertionError, match=message):
        check_per_machine(Breaking(), standard_cases())


@pytest.mark.parametrize("late", [0.002, 100.0, np.inf])
def test_a_time_that_is_too_late_is_found(late: float):
    """The sound one says when reports expire; this one says it so many seconds later."""

    class Late(type(load_model("cpu_mem", {}))):  # type: ignore[misc]  # a registered model with a flaw
        def lasts_until(self, machines: MachineColumns) -> Float64:
            return np.asarray(super().lasts_until(machines) + late)

    check_per_machine(load_model("cpu_mem", {}), standard_cases())
    with pytest.raises(AssertionError, match="or on the time"):
        check_per_machine(Late(), [rich_case()])


def test_a_time_that_is_none_is_found():
    class Timeless(Promising):
        promises = Promises(per_machine=True, expires=True)

        def lasts_until(self, machines: MachineColumns) -> Float64:
            return np.full(machines.count, np.nan)

    with pytest.raises(AssertionError, match="lasts_until must return a time"):
        check_per_machine(Timeless(), standard_cases())


@pytest.mark.parametrize(
    ("availability", "expected"),
    [("auto", [NOW + 175, np.inf]), ("utilisation", [NOW + 175, np.inf]), ("reservation", [np.inf, np.inf])],
)
def test_reports_last_until_they_expire(availability: str, expected: list[float]):
    machines = ordinary_machines().select(np.array([1, 2]))  # reported 5 seconds ago, and the day before
    model = load_model("cpu_mem", {"availability": availability})
    assert answers_expire(model)
    until = model.lasts_until(machines)
    assert until.tolist() == pytest.approx(expected, abs=0.01)
    assert all(ours <= theirs for ours, theirs in zip(until.tolist(), expected, strict=True))


# --- parts ----------------------------------------------------------------------------------------------------------

kinds = [ShapeRow(labels={"taskType": name}) for name in ("Devil", "Sheep", "Rabbit")]


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), unique=True, max_size=12),
    st.sets(st.integers(0, 6)).map(sorted),
)
def test_residents_of_some_machines(pairs: list[tuple[int, int]], rows: list[int]):
    residents = [(machine, kinds[kind], 1 + machine) for machine, kind in sorted(pairs)]
    columns = machine_columns("abcdefg", residents=residents)
    part = columns.select(np.array(rows, dtype=np.int64))
    assert part.residents is not None
    found = list(
        zip(
            part.residents.machine.tolist(),
            [part.residents.kinds[kind] for kind in part.residents.kind.tolist()],
            part.residents.count.tolist(),
            strict=True,
        )
    )
    assert found == [(rows.index(row), kind, count) for row, kind, count in residents if row in rows]
    assert list(part.names) == [columns.names[row] for row in rows]
    assert part.running.tolist() == columns.running[rows].tolist()


def test_some_machines_are_described_as_among_all():
    columns = rich_case().machines
    part = columns.select(np.array([1, 4]))
    assert part.unseen is not None
    assert columns.unseen is not None
    assert part.count == 2
    assert part.names[1] == part.names[-1] == columns.names[4]
    assert list(part.labels[:1]) == [columns.labels[1]]
    assert [dict(each) for each in part.annotations] == [columns.annotations[1], columns.annotations[4]]
    assert part.unseen.tolist() == columns.unseen[[1, 4]].tolist()
    assert (part.load, part.arrivals) == (None, None)


def test_some_shapes_have_their_own_rows():
    batch = rich_case().shapes
    part = batch.select(np.array([2, 0]), np.array([1, 2, 3]))
    assert part.allowed is not None
    assert part.counts.tolist() == [3, 500]
    assert list(part.rows) == [batch.rows[2], batch.rows[0]]
    assert [row.tolist() for row in part.allowed] == [[False, True, False]] * 2
