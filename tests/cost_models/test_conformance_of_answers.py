"""What checks of answers find in heights, causes and rows that get something back, and what they let pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cost_models.checks import model_answers
from cost_models.checks.probing import are_equal, describe_value, require
from cost_models.checks.sample_inputs import standard_cases
from cost_models.interface import (
    Assessment,
    Heights,
    Int64,
    JointRows,
    MachineColumns,
    Range,
    Returned,
    ShapeBatch,
    SparseArcs,
)
from tests.cost_models.test_conformance import Sound, altered, declared, run


class Rising(Sound):
    """A sound model with heights of two resources, and a growth."""

    def answer(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        heights = Heights(
            start=np.zeros(machines.count),
            rate=np.ones((2, machines.count)),
            amount=np.zeros((shapes.count, 2)),
        )
        return replace(super().answer(machines, shapes), heights=heights, growth=np.zeros(machines.count))


def rising(**fields: Any) -> Any:
    """Such a model but for some fields of its heights, or its growth."""

    class Altered(Rising):
        def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
            answer = self.answer(machines, shapes)
            if "growth" in fields:
                return replace(answer, growth=fields["growth"])
            assert answer.heights is not None
            return replace(answer, heights=replace(answer.heights, **fields))

    return Altered()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (rising(start=np.zeros(5)), r"heights.start is float64\[5\]; it must be float64\[6\]"),
        (rising(start=np.full(6, -1.0)), "heights.start is negative or not finite"),
        (rising(rate=np.ones((3, 6))), r"heights.rate is float64\[3, 6\]; it must be float64\[2, 6\]"),
        (rising(rate=np.full((2, 6), np.inf)), "heights.rate is negative or not finite"),
        (rising(amount=np.zeros((2, 2))), r"heights.amount is float64\[2, 2\]; it must be float64\[3, 2\]"),
        (rising(amount=np.zeros(3)), r"heights.rate is float64\[2, 6\]; it must be float64\[0, 6\]"),
        (rising(amount=np.full((3, 2), -0.5)), "heights.amount is negative or not finite"),
        (rising(growth=None), "heights are stated, but no growth"),
    ],
)
def test_bad_heights_are_found(model: Any, message: str):
    with pytest.raises(AssertionError, match=message):
        run(model_answers.check_heights, model)


def test_good_heights_pass():
    run(model_answers.check_heights, Rising())
    run(model_answers.check_heights, Sound())


def refusing(causes: Any, reasons: Any) -> Any:
    """A model that refuses the first machine to all shapes, for causes."""

    def change(answer: Assessment) -> Assessment:
        feasible = np.ones(answer.raw.shape, dtype=np.bool_)
        feasible[:, :1] = False
        given = None if causes is None else np.full(answer.raw.shape, causes[0], dtype=causes[1])
        return replace(answer, feasible=feasible, causes=given, reasons=reasons)

    return altered(change)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (refusing((0, np.int16), ("full",)), ""),
        (refusing((1, np.int16), ("full", "old")), ""),
        (refusing((1, np.int16), ("full",)), r"causes must lie in 0\.\.0"),
        (refusing((-1, np.int16), ("full",)), r"causes must lie in 0\.\.0"),
        (refusing((0, np.int64), ("full",)), r"causes is int64\[3, 6\]; it must be int16\[3, 6\]"),
        (refusing((0, np.int16), ("",)), "a machine is refused, but the reason is ''"),
        (refusing((1, np.int16), ("", "old")), ""),  # a reason that nobody is refused for is not read
    ],
)
def test_causes_point_at_reasons(model: Any, message: str):
    if not message:
        run(model_answers.check_filter, model)
        return
    with pytest.raises(AssertionError, match=message):
        run(model_answers.check_filter, model)


def test_causes_without_any_refusal_are_not_read():
    def change(answer: Assessment) -> Assessment:
        return replace(
            answer, feasible=np.ones(answer.raw.shape, dtype=np.bool_), causes=np.zeros(1, np.int16)
        )

    run(model_answers.check_filter, altered(change))
    run(model_answers.check_filter, altered(lambda answer: replace(answer, feasible=None, reason="")))


class Tasks:
    """Amounts of the tasks on machines."""

    def __init__(self, amounts: Callable[[Int64], Int64]) -> None:
        self.amounts = amounts


def returning(change: Callable[[Returned, int], Returned], *, shared: bool = False) -> Any:
    """A model with a row for each machine; ``change`` is told the number of kinds."""

    class Returning(Sound):
        def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
            kinds = 0 if machines.residents is None else len(machines.residents.kinds)
            returned = change(Returned(np.zeros(machines.count, np.int64)), kinds)
            rows = JointRows(
                row_of=np.zeros(machines.count, np.int64) if shared else np.arange(machines.count),
                amount=np.ones(shapes.count, dtype=np.int64),
                limit=np.ones(machines.count, dtype=np.int64),
                reason="full",
                returned=returned,
            )
            return Assessment(raw=np.zeros((shapes.count, 1)), joint=(rows,))

    return Returning()


def of_kinds(given: Returned, kinds: int) -> Returned:
    return replace(given, by_kind=np.ones(kinds, dtype=np.int64))


def of_tasks(given: Returned, _: int) -> Returned:
    return replace(given, by_task=Tasks(lambda places: places * 2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (of_kinds, ""),
        (of_tasks, ""),
        (lambda given, _: given, "joint.returned must have one of by_kind and by_task"),
        (
            lambda given, kinds: of_tasks(of_kinds(given, kinds), kinds),
            "joint.returned must have one of by_kind and by_task",
        ),
        (
            lambda given, kinds: replace(given, by_kind=np.ones(kinds + 1, np.int64)),
            r"joint.returned.by_kind is int64\[1\]; it must be int64\[0\]",
        ),
        (
            lambda given, kinds: replace(given, by_kind=np.full(kinds, -1)),
            "machines with known tasks: joint.returned.by_kind is negative",
        ),
        (
            lambda given, _: replace(given, by_task=Tasks(lambda places: places - 1)),
            "machines with reported use: joint.returned.by_task is negative",
        ),
        (
            lambda given, _: replace(given, by_task=Tasks(lambda places: np.arange(len(places)))),
            "joint.returned.by_task depends on which other tasks are asked about",
        ),
        (
            lambda given, kinds: replace(of_kinds(given, kinds), owed=given.owed[:-1]),
            r"joint.returned.owed is int64\[5\]; it must be int64\[6\]",
        ),
        (
            lambda given, kinds: replace(of_kinds(given, kinds), owed=given.owed - 1),
            "joint.returned.owed is negative",
        ),
        (
            lambda given, kinds: replace(of_kinds(given, kinds), barred=np.zeros(3, np.int64)),
            r"joint.returned.barred is int64\[3\]; it must be bool\[3\]",
        ),
    ],
)
def test_what_rows_get_back(change: Any, message: str):
    if not message:
        run(model_answers.check_joint, returning(change))
        return
    with pytest.raises(AssertionError, match=message):
        run(model_answers.check_joint, returning(change))


def test_rows_that_get_something_back_are_of_single_machines():
    with pytest.raises(AssertionError, match=r"joint.returned needs a row per machine"):
        run(model_answers.check_joint, returning(of_kinds, shared=True))


def test_what_lies_at_a_limit_is_accepted():
    def extreme(answer: Assessment) -> Assessment:
        shapes, machines = answer.raw.shape
        some = 1 if shapes and machines else 0
        last = np.full(some, machines - 1), np.full(some, shapes - 1)
        return replace(
            answer,
            raw=np.full(answer.raw.shape, 100.0),
            score=np.full(answer.raw.shape, 100.0),
            sparse=SparseArcs(last[1], last[0], np.zeros(some)),
        )

    model = altered(extreme)
    for check in (model_answers.check_shapes, model_answers.check_figures, model_answers.check_sparse):
        run(check, model)
    lowest = altered(lambda answer: replace(answer, raw=answer.raw * 0.0, score=np.zeros(answer.raw.shape)))
    run(model_answers.check_figures, lowest)


@pytest.mark.parametrize(("beyond", "sound"), [(0.5e-7, True), (2e-7, False)])
def test_rounding_may_put_a_figure_a_little_outside_the_range(beyond: float, sound: bool):
    for change in (
        lambda answer: answer.raw * 0.0 - beyond,
        lambda answer: answer.raw * 0.0 + 100.0 + beyond,
    ):
        model = altered(lambda answer, change=change: replace(answer, raw=change(answer)))  # type: ignore[misc]
        if sound:
            run(model_answers.check_figures, model)
        else:
            with pytest.raises(AssertionError, match=r"declares 0\.0 to 100\.0"):
                run(model_answers.check_figures, model)


def test_a_figure_better_than_an_open_range_of_scores_is_found():
    with pytest.raises(AssertionError, match=r"a figure is \[40.\]; the range declares -inf to 39.0"):
        run(model_answers.check_figures, declared(range=Range(39.0, 30.0, bounded=False)))


@pytest.mark.parametrize("change", [{"score": None}, {"feasible": None}, {"sparse": None}, {"joint": ()}])
def test_parts_that_are_left_out_are_not_checked(change: dict[str, Any]):
    for check in model_answers.ANSWER_CHECKS:
        run(check, altered(lambda answer: replace(answer, **change)))


def test_raw_may_have_one_column_or_one_for_each_machine_of_any_numbers():
    run(model_answers.check_shapes, altered(lambda answer: replace(answer, raw=answer.raw.astype(np.int8))))
    run(model_answers.check_shapes, altered(lambda answer: replace(answer, raw=answer.raw.astype(np.uint8))))
    run(
        model_answers.check_shapes, altered(lambda answer: replace(answer, raw=answer.raw.astype(np.float32)))
    )
    run(model_answers.check_shapes, altered(lambda answer: replace(answer, raw=answer.raw[:, :1])))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (np.array([1.0, np.nan]), np.array([1.0, np.nan]), True),
        (np.array([1.0]), np.array([2.0]), False),
        (np.array([1]), np.array([1.0]), False),
        (np.array([0.0]), np.array([-0.0]), True),
        (np.array(["a"]), np.array(["a"]), True),
        (np.array([1]), [1], False),
        ([1, 2], [1, 2], True),
        ([1, 2], [1], False),
        ([1], [1, 2], False),
        ([1, 2], [1, 3], False),
        ((1,), [1], False),
        ("ab", "ab", True),
        ("ab", "ac", False),
        (None, None, True),
        (None, 0, False),
        ({"a": 1}, {"a": 1}, True),
        (Range(0, 1), Range(0, 1), True),
        (Range(0, 1), Range(0, 2), False),
        (Range(1, 0), Range(0, 1), False),
    ],
)
def test_equal_values_are_equal_throughout(one: Any, other: Any, expected: bool):
    assert are_equal(one, other) is expected


def test_values_are_described_by_type_and_size():
    assert describe_value(np.zeros((2, 3))) == "float64[2, 3]"
    assert describe_value([1]) == "list"


def test_a_fault_names_the_model_and_the_case():
    require(True, Sound(), "no fault")
    for model, case, said in (
        (Sound(), "", "sound: odd"),
        (Sound(), "ordinary", "sound: ordinary: odd"),
        (SimpleNamespace(name=""), "", "SimpleNamespace: odd"),
        (SimpleNamespace(), "one", "SimpleNamespace: one: odd"),
    ):
        with pytest.raises(AssertionError) as found:
            require(False, model, "odd", case)
        assert str(found.value) == said


def test_a_crowding_that_raises_is_a_fault_of_the_model():
    class Raising(Sound):
        def crowding(self, machines: MachineColumns, request: Int64) -> Any:
            raise KeyError("cpu")

    with pytest.raises(AssertionError, match=r"sound: ordinary: crowding raised KeyError\('cpu'\)"):
        model_answers.check_crowding(Raising(), standard_cases())
