"""Every installed model conforms; and no check is satisfied by a model that breaks its rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cost_models import conformance
from cost_models.checks import model_answers
from cost_models.checks.probing import Check
from cost_models.checks.sample_inputs import Case, standard_cases
from cost_models.conformance import CHECKS
from cost_models.interface import (
    Assessment,
    BaseModel,
    CostModel,
    Float64,
    Int64,
    JointRows,
    MachineColumns,
    Needs,
    Range,
    Returned,
    ShapeBatch,
    SparseArcs,
)
from cost_models.registry import list_available, load_model

MODELS = sorted(list_available())


class Sound(BaseModel):
    """Uses every part of an answer, and all of them well. Broken models below differ from it in one point."""

    name = "sound"
    kind = "overlay"
    range = Range(best=100.0, worst=0.0)
    needs = Needs(records=("example.com/figures",))

    def answer(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        everything = (shapes.count, machines.count)
        some = min(1, shapes.count * machines.count)
        return Assessment(
            raw=np.full(everything, 40.0),
            feasible=np.broadcast_to(machines.capacity[:, 0] > 0, everything).copy(),
            reason="node(s) without room for pods",
            sparse=SparseArcs(
                shape=np.zeros(some, dtype=np.int64),
                machine=np.full(some, machines.count - 1, dtype=np.int64),
                raw=np.full(some, 100.0),
            ),
            joint=[
                JointRows(
                    row_of=np.arange(machines.count, dtype=np.int64) - 1,
                    amount=shapes.requests[:, 0].copy(),
                    limit=machines.capacity[1:, 0].copy(),
                    reason="node(s) full",
                )
            ],
            score=np.full(everything, 60.0),
        )

    def growth(self, machines: MachineColumns, request: Int64) -> Float64:
        return request[0] / np.maximum(machines.capacity[:, 0], 1.0)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        return self.answer(machines, shapes)

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:
        return self.growth(machines, request)


def altered(change: Callable[[Assessment], Assessment]) -> CostModel:
    """A sound model but for ``change`` to its answers."""

    class Altered(Sound):
        def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
            return change(self.answer(machines, shapes))

    return Altered()


def with_crowding(change: Callable[[Float64], Any]) -> CostModel:
    """A sound model but for ``change`` to its crowding."""

    class Altered(Sound):
        def crowding(self, machines: MachineColumns, request: Int64) -> Float64:
            return change(self.growth(machines, request))

    return Altered()


def sparse(**fields: Any) -> CostModel:
    return altered(lambda answer: replace(answer, sparse=replace(answer.sparse, **fields)))  # type: ignore[type-var]


def joint(**fields: Any) -> CostModel:
    return altered(lambda answer: replace(answer, joint=[replace(answer.joint[0], **fields)]))


def returning(**fields: Any) -> CostModel:
    """A model whose joint rows get nothing back from anybody, but for ``fields``."""

    class Returning(Sound):
        def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
            answer = self.answer(machines, shapes)
            kinds = 0 if machines.residents is None else len(machines.residents.kinds)
            nothing = Returned(np.zeros(machines.count - 1, np.int64), by_kind=np.zeros(kinds, np.int64))
            return replace(answer, joint=[replace(answer.joint[0], returned=replace(nothing, **fields))])

    return Returning()


def occupying(*, barred: Any, open_too: bool = False) -> CostModel:
    """A model that calls all machines but the first occupied, whose joint rows take nothing of anybody."""

    class Occupying(Sound):
        def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
            answer = returning(barred=barred).assess(machines, shapes)
            occupied = np.ones((shapes.count, machines.count), dtype=np.bool_)
            occupied[:, 0] = False
            rows = replace(answer.joint[0], amount=np.zeros(shapes.count, dtype=np.int64))
            feasible = occupied if open_too else ~occupied
            return replace(answer, joint=[rows], feasible=feasible, occupied=occupied)

    return Occupying()


def declared(**attributes: Any) -> CostModel:
    """A sound model but for some class attributes."""
    return type("Altered", (Sound,), attributes)()


def run(check: Check, model: CostModel) -> None:
    check(model, standard_cases(("example.com/figures",)))


# --- installed models ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_every_installed_model_conforms(name: str):
    conformance.check_model(load_model(name, {}))


@pytest.mark.parametrize("name", ["cpu_mem", "trivial"])
def test_load_spreading_models_are_monotone(name: str):
    conformance.check_fuller_is_not_cheaper(load_model(name, {}))
    conformance.check_crowding_follows_requests(load_model(name, {}))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_sound_model_passes(check: Check):
    conformance.check_declaration(Sound())
    run(check, Sound())


# --- broken models ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (declared(name=""), "Altered: name must be a non-empty string"),
        (declared(kind="base"), "sound: kind is 'base'; it must be 'policy' or 'overlay'"),
        (declared(range=(0, 100)), "sound: range must be a Range"),
        (declared(range=Range(5.0, 5.0)), "both must be finite, and different"),
        (declared(range=Range(0.0, float("inf"))), "both must be finite, and different"),
        (declared(needs=None), "sound: needs must be a Needs"),
        (declared(lasts_untill=np.isnan), "sound: lasts_untill is an attribute that nothing looks at"),
    ],
)
def test_a_bad_declaration_is_found(model: CostModel, message: str):
    with pytest.raises(AssertionError, match=message):
        conformance.check_declaration(model)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Sound(), "sound: no entry point is called 'sound'; installed: .*cpu_mem"),
        (declared(name="cpu_mem"), "cpu_mem: kind is 'overlay', that of its entry point 'policy'"),
    ],
)
def test_a_model_must_be_installed_under_its_name(model: CostModel, message: str):
    with pytest.raises(AssertionError, match=message):
        conformance.check_registration(model)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"raw": np.zeros((2, 2))}, r"raw is float64\[2, 2\]; it must be numeric"),
        ({"raw": np.full((3, 1), "cheap")}, "raw is <U5"),
        ({"raw": [[1.0]]}, "raw is list"),
        ({"feasible": np.ones((3, 1), np.bool_)}, r"feasible is bool\[3, 1\]; it must be bool"),
        ({"feasible": np.ones((3, 6), np.int64)}, r"feasible is int64\[3, 6\]"),
        ({"score": np.zeros((3, 6), np.int64)}, r"score is int64\[3, 6\]; it must be float64\[3, 6\]"),
    ],
)
def test_wrong_shapes_and_types_are_found(change: dict[str, Any], message: str):
    with pytest.raises(AssertionError, match=message):
        run(model_answers.check_shapes, altered(lambda answer: replace(answer, **change)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda answer: replace(answer, raw=answer.raw * np.nan), "ordinary: a figure is not finite"),
        (lambda answer: replace(answer, raw=answer.raw + 60.1), "declares 0.0 to 100.0"),
        (lambda answer: replace(answer, raw=answer.raw - 40.1), "declares 0.0 to 100.0"),
        (lambda answer: replace(answer, score=answer.score + 41.0), "a score lies outside 0 to 100"),
        (lambda answer: replace(answer, score=answer.score * np.nan), "a score lies outside 0 to 100"),
        (
            lambda answer: replace(answer, sparse=replace(answer.sparse, raw=answer.sparse.raw + 1)),
            r"a figure is \[101.\]",
        ),
    ],
)
def test_figures_outside_the_range_are_found(change: Callable[[Any], Assessment], message: str):
    with pytest.raises(AssertionError, match=message):
        run(model_answers.check_figures, altered(change))


def test_a_figure_may_be_worse_but_not_better_than_an_open_range():
    run(model_answers.check_figures, declared(range=Range(0.0, 10.0, bounded=False)))
    run(model_answers.check_figures, declared(range=Range(100.0, 90.0, bounded=False)))
    with pytest.raises(AssertionError, match=r"a figure is \[40.\]; the range declares 41.0 to inf"):
        run(model_answers.check_figures, declared(range=Range(41.0, 50.0, bounded=False)))


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines", None])
def test_a_refusal_without_a_reason_is_found(reason: Any):
    with pytest.raises(AssertionError, match="a machine is refused, but the reason is"):
        run(model_answers.check_filter, altered(lambda answer: replace(answer, reason=reason)))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (sparse(shape=np.array([3]), machine=np.array([0]), raw=np.array([0.0])), r"must lie in 0\.\.2"),
        (sparse(shape=np.array([-1]), machine=np.array([0]), raw=np.array([0.0])), "sparse.shape must lie"),
        (sparse(shape=np.array([0]), machine=np.array([6]), raw=np.array([0.0])), "sparse.machine must lie"),
        (sparse(raw=np.zeros(2)), r"sparse.raw is float64\[2\]; it must be float64\[1\]"),
        (sparse(shape=np.zeros(1)), r"sparse.shape is float64\[1\]; it must be int64\[1\]"),
        (
            sparse(shape=np.zeros(2, np.int64), machine=np.zeros(2, np.int64), raw=np.zeros(2)),
            "a sparse pair has two figures",
        ),
    ],
)
def test_bad_sparse_arcs_are_found(model: CostModel, message: str):
    with pytest.raises(AssertionError, match=message):
        run(model_answers.check_sparse, model)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (joint(row_of=np.full(6, -2)), r"joint.row_of must lie in -1\.\.4"),
        (joint(row_of=np.full(6, 5)), r"joint.row_of must lie in -1\.\.4"),
        (joint(row_of=np.zeros(6)), r"joint.row_of is float64\[6\]"),
        (joint(row_of=np.zeros(5, np.int64)), r"joint.row_of is int64\[5\]; it must be int64\[6\]"),
        (joint(amount=np.array([1, -1, 1])), "joint.amount is negative"),
        (joint(amount=np.array([1])), r"joint.amount is int64\[1\]; it must be int64\[3\]"),
        (joint(limit=np.array([1, 1, 1, 1, -1])), "joint.limit is negative"),
        (joint(limit=np.zeros(5)), r"joint.limit is float64\[5\]"),
        (joint(reason=""), "a joint row may refuse a machine, but the reason is ''"),
        (altered(lambda answer: replace(answer, joint=["row"])), "joint must hold JointRows"),  # type: ignore[list-item]
        (returning(owed=np.full(5, -1)), "joint.returned.owed is negative"),
        (returning(barred=np.ones(2, np.bool_)), r"joint.returned.barred is bool\[2\]; it must be bool\[3\]"),
        (occupying(barred=None, open_too=True), "a machine is occupied that is not refused"),
        (occupying(barred=None), "a machine is occupied, but no joint row with joint.returned takes or bars"),
    ],
)
def test_bad_joint_rows_are_found(model: CostModel, message: str):
    with pytest.raises(AssertionError, match=message):
        run(model_answers.check_joint, model)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (with_crowding(lambda growth: -growth - 1), "crowding is negative or not finite"),
        (with_crowding(lambda growth: growth + np.inf), "crowding is negative or not finite"),
        (with_crowding(lambda growth: growth[:-1]), r"crowding is float64\[5\]; it must be float64\[6\]"),
        (with_crowding(lambda growth: growth.astype(np.int64)), "crowding is int64"),
        (with_crowding(lambda growth: float(growth.sum())), "crowding is float"),
    ],
)
def test_bad_crowding_is_found(model: CostModel, message: str):
    with pytest.raises(AssertionError, match=message):
        run(model_answers.check_crowding, model)


@pytest.mark.parametrize(
    ("growth", "message"),
    [
        (np.full(6, -1.0), "growth is negative or not finite"),
        (np.full(6, np.nan), "growth is negative or not finite"),
        (np.zeros(5), r"growth is float64\[5\]; it must be float64\[6\]"),
        (np.zeros(6, np.int64), r"growth is int64\[6\]"),
    ],
)
def test_bad_growth_is_found(growth: Any, message: str):
    with pytest.raises(AssertionError, match=message):
        run(model_answers.check_growth, altered(lambda answer: replace(answer, growth=growth)))


@pytest.mark.parametrize("note", ["", " ", "two\nlines", 7])
def test_notes_that_are_no_lines_are_found(note: Any):
    with pytest.raises(AssertionError, match="must be one line of text"):
        run(model_answers.check_notes, altered(lambda answer: replace(answer, notes=("sound: odd", note))))


def test_a_model_with_a_memory_is_found():
    class Counting(Sound):
        def __init__(self) -> None:
            self.calls = 0

        def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
            self.calls += 1
            return replace(self.answer(machines, shapes), raw=np.full((shapes.count, 1), float(self.calls)))

    with pytest.raises(AssertionError, match=r"sound: .*: equal inputs give different answers"):
        run(conformance.check_purity, Counting())


def test_a_model_whose_crowding_has_a_memory_is_found():
    class Counting(Sound):
        def __init__(self) -> None:
            self.calls = 0

        def crowding(self, machines: MachineColumns, request: Int64) -> Float64:
            self.calls += 1
            return np.full(machines.count, float(self.calls))

    with pytest.raises(AssertionError, match="equal inputs give different answers"):
        run(conformance.check_purity, Counting())


def test_a_model_that_writes_to_an_array_is_found():
    class Writing(Sound):
        def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
            machines.free[:] = 0
            return self.answer(machines, shapes)

    with pytest.raises(AssertionError, match=r"sound: ordinary: assess raised .*read-only"):
        run(conformance.check_purity, Writing())


def test_a_model_that_writes_to_a_mapping_is_found():
    class Writing(Sound):
        def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
            machines.labels[0]["seen"] = "yes"  # type: ignore[index]  # the fault on trial
            return self.answer(machines, shapes)

    with pytest.raises(AssertionError, match="sound: ordinary: the inputs were written to"):
        run(conformance.check_purity, Writing())


@pytest.mark.parametrize("case", [case.name for case in standard_cases()])
def test_a_model_that_chokes_on_an_input_is_found(case: str):
    class Choking(Sound):
        def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
            if machines is self.given.machines and shapes is self.given.shapes:
                raise KeyError("cpu")
            return self.answer(machines, shapes)

        given: Case

    cases = standard_cases()
    model = Choking()
    model.given = next(entry for entry in cases if entry.name == case)
    with pytest.raises(AssertionError, match=rf"sound: {case}: assess raised KeyError\('cpu'\)"):
        model_answers.check_shapes(model, cases)


def test_a_model_that_answers_something_else_is_found():
    with pytest.raises(AssertionError, match="assess must return an Assessment"):
        run(model_answers.check_shapes, altered(lambda answer: SimpleNamespace(raw=answer.raw)))  # type: ignore[arg-type,return-value]


def test_a_model_that_prefers_full_machines_is_found():
    class Packing(Sound):
        range = Range(best=110.0, worst=0.0)

        def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
            return Assessment(raw=np.broadcast_to(machines.running, (shapes.count, machines.count)))

    run(model_answers.check_figures, Packing())
    with pytest.raises(AssertionError, match="a fuller machine costs less"):
        conformance.check_fuller_is_not_cheaper(Packing())


def test_crowding_that_falls_as_requests_grow_is_found():
    model = with_crowding(lambda growth: 1.0 / (1.0 + growth))
    run(model_answers.check_crowding, model)
    with pytest.raises(AssertionError, match="crowding falls as requests grow"):
        conformance.check_crowding_follows_requests(model)


def test_inputs_of_a_models_own_are_tried_too():
    class Particular(type(load_model("trivial", {}))):  # type: ignore[misc]  # a registered model with a flaw
        def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
            if "figures" in machines.records:
                raise ValueError("cannot read that")
            return super().assess(machines, shapes)

    conformance.check_model(Particular())
    ordinary = standard_cases()[0]
    own = Case(
        "a valid record", replace(ordinary.machines, records={"figures": {"a": b"1"}}), ordinary.shapes
    )
    with pytest.raises(AssertionError, match="trivial: a valid record: assess raised"):
        conformance.check_model(Particular(), [own])
