"""What an answer of a cost model must satisfy, array by array: parts of ``cost_models.conformance``.

Each check takes a model and the inputs to try it on, and raises ``AssertionError`` naming the model, the input and what
is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cost_models.checks.probing import (
    assess,
    crowding_rows,
    described,
    require,
    require_array,
    require_indices,
    require_reason,
)
from cost_models.checks.sample_inputs import Case
from cost_models.interface import Assessment, Bool, CostModel, Float64, JointRows, Returned

SLACK = 1e-9
"""Relative rounding that a figure may exceed its range by."""


def check_shapes(model: CostModel, cases: Sequence[Case]) -> None:
    """Arrays have the shapes and element types that ``Assessment`` promises."""
    for case in cases:
        answer = assess(model, case)
        full = (case.shapes.count, case.machines.count)
        require(
            isinstance(answer.raw, np.ndarray)
            and answer.raw.dtype.kind in "iuf"
            and answer.raw.shape in {full, (full[0], 1)},
            model,
            f"raw is {described(answer.raw)}; it must be numeric{list(full)} or numeric[{full[0]}, 1]",
            case.name,
        )
        if answer.feasible is not None:
            require_array(model, case, "feasible", answer.feasible, np.bool_, full)
        if answer.score is not None:
            require_array(model, case, "score", answer.score, np.float64, full)


def check_figures(model: CostModel, cases: Sequence[Case]) -> None:
    """Figures are finite and within ``range``; scores lie between 0 and 100. Refused machines count too."""
    span = model.range
    low, high = sorted((span.best, span.worst))
    if not span.bounded:
        low, high = (low, math.inf) if span.best < span.worst else (-math.inf, high)
    slack = SLACK * abs(span.worst - span.best)
    for case in cases:
        answer = assess(model, case)
        figures = np.asarray(answer.raw, dtype=np.float64).ravel()
        if answer.sparse is not None:
            figures = np.concatenate([figures, np.asarray(answer.sparse.raw, dtype=np.float64)])
        require(bool(np.isfinite(figures).all()), model, "a figure is not finite", case.name)
        outside = figures[(figures < low - slack) | (figures > high + slack)]
        require(
            len(outside) == 0,
            model,
            f"a figure is {outside[:1]}; the range declares {low} to {high}",
            case.name,
        )
        if answer.score is not None:
            within = (answer.score >= 0) & (answer.score <= 100)
            require(bool(within.all()), model, "a score lies outside 0 to 100", case.name)


def check_filter(model: CostModel, cases: Sequence[Case]) -> None:
    """A model that refuses a machine says why, in one line; causes point at reasons."""
    for case in cases:
        answer = assess(model, case)
        if answer.feasible is None or answer.feasible.all():
            continue
        if answer.causes is not None:
            require_array(model, case, "causes", answer.causes, np.int16, answer.feasible.shape)
            causes = answer.causes[~answer.feasible]
            require_indices(model, case, "causes", causes, 0, len(answer.reasons))
        for shape in range(case.shapes.count):
            for reason, machines in answer.refusals(shape):
                if machines.any():
                    require_reason(model, case, "a machine is refused", reason)


def check_sparse(model: CostModel, cases: Sequence[Case]) -> None:
    """Sparse arcs are parallel arrays; indices are in range, and no pair has two figures."""
    for case in cases:
        sparse = assess(model, case).sparse
        if sparse is None:
            continue
        size = (len(sparse.shape),)
        for name, array, dtype in (
            ("sparse.shape", sparse.shape, np.int64),
            ("sparse.machine", sparse.machine, np.int64),
            ("sparse.raw", sparse.raw, np.float64),
        ):
            require_array(model, case, name, array, dtype, size)
        require_indices(model, case, "sparse.shape", sparse.shape, 0, case.shapes.count)
        require_indices(model, case, "sparse.machine", sparse.machine, 0, case.machines.count)
        pairs = np.stack([sparse.shape, sparse.machine], axis=1)
        require(len(np.unique(pairs, axis=0)) == size[0], model, "a sparse pair has two figures", case.name)


def check_joint(model: CostModel, cases: Sequence[Case]) -> None:
    """Joint rows are well formed: a row per machine or -1, amounts and limits of at least 0, a reason."""
    for case in cases:
        for rows in assess(model, case).joint:
            require(isinstance(rows, JointRows), model, "joint must hold JointRows", case.name)
            require_array(model, case, "joint.row_of", rows.row_of, np.int64, (case.machines.count,))
            require_array(model, case, "joint.amount", rows.amount, np.int64, (case.shapes.count,))
            require_array(model, case, "joint.limit", rows.limit, np.int64, (len(rows.limit),))
            require_indices(model, case, "joint.row_of", rows.row_of, -1, len(rows.limit))
            require(bool((rows.amount >= 0).all()), model, "joint.amount is negative", case.name)
            require(bool((rows.limit >= 0).all()), model, "joint.limit is negative", case.name)
            require_reason(model, case, "a joint row may refuse a machine", rows.reason)
            if rows.returned is not None:
                _check_returned(model, case, rows, rows.returned)
        answer = assess(model, case)
        if answer.occupied is not None:
            _check_occupied(model, case, answer, answer.occupied)


def _check_occupied(model: CostModel, case: Case, answer: Assessment, occupied: Bool) -> None:
    """Occupied machines are refused, and rows that get something back hold the shapes that they are refused to."""
    full = (case.shapes.count, case.machines.count)
    require_array(model, case, "occupied", occupied, np.bool_, full)
    refused = np.zeros(full, dtype=np.bool_) if answer.feasible is None else ~answer.feasible
    require(not (occupied & ~refused).any(), model, "a machine is occupied that is not refused", case.name)
    held = np.zeros(full, dtype=np.bool_)
    for rows in answer.joint:
        if rows.returned is not None:
            held |= np.outer(rows.holds(), rows.row_of >= 0)
    fault = "a machine is occupied, but no joint row with joint.returned takes or bars the shape there"
    require(not (occupied & ~held).any(), model, fault, case.name)


def _check_returned(model: CostModel, case: Case, rows: JointRows, returned: Returned) -> None:
    """What rows get back is a figure per kind or per task, of at least 0, and no two machines share such a row."""
    require(not rows.shared, model, "joint.returned needs a row per machine", case.name)
    require_array(model, case, "joint.returned.owed", returned.owed, np.int64, rows.limit.shape)
    machines = case.machines
    kinds = 0 if machines.residents is None else len(machines.residents.kinds)
    tasks = 0 if machines.load is None else len(machines.load.assigned.machine)
    places = np.arange(tasks)
    by_task = None if returned.by_task is None else returned.by_task.amounts(places)
    given = [
        (name, array, size)
        for name, array, size in (("by_kind", returned.by_kind, kinds), ("by_task", by_task, tasks))
        if array is not None
    ]
    require(len(given) == 1, model, "joint.returned must have one of by_kind and by_task", case.name)
    for name, array, size in given:
        require_array(model, case, f"joint.returned.{name}", array, np.int64, (size,))
        require(bool((array >= 0).all()), model, f"joint.returned.{name} is negative", case.name)
    if returned.by_task is not None and by_task is not None:
        part = returned.by_task.amounts(places[::-2])
        same = np.array_equal(part, by_task[::-2])
        require(same, model, "joint.returned.by_task depends on which other tasks are asked about", case.name)
    require(bool((returned.owed >= 0).all()), model, "joint.returned.owed is negative", case.name)
    if returned.barred is not None:
        require_array(model, case, "joint.returned.barred", returned.barred, np.bool_, rows.amount.shape)


def check_crowding(model: CostModel, cases: Sequence[Case]) -> None:
    """Crowding is float64[M], finite and at least 0, for every request."""
    for case in cases:
        for growth in crowding_rows(model, case):
            _require_figures(model, case, "crowding", growth, (case.machines.count,))


def _require_figures(model: CostModel, case: Case, name: str, array: Float64, size: tuple[int, ...]) -> None:
    require_array(model, case, name, array, np.float64, size)
    sound = np.isfinite(array) & (array >= 0)
    require(bool(sound.all()), model, f"{name} is negative or not finite", case.name)


def check_growth(model: CostModel, cases: Sequence[Case]) -> None:
    """A growth in the answer is what crowding has to be: float64[M], finite and at least 0."""
    for case in cases:
        growth = assess(model, case).growth
        if growth is not None:
            _require_figures(model, case, "growth", growth, (case.machines.count,))


def check_heights(model: CostModel, cases: Sequence[Case]) -> None:
    """Heights are float64 arrays that match each other, finite and at least 0; a growth comes with them."""
    for case in cases:
        answer = assess(model, case)
        heights = answer.heights
        if heights is None:
            continue
        amounts = heights.amount.shape[1] if heights.amount.ndim == 2 else 0
        for name, array, size in (
            ("heights.start", heights.start, (case.machines.count,)),
            ("heights.rate", heights.rate, (amounts, case.machines.count)),
            ("heights.amount", heights.amount, (case.shapes.count, amounts)),
        ):
            _require_figures(model, case, name, array, size)
        require(answer.growth is not None, model, "heights are stated, but no growth", case.name)


def check_notes(model: CostModel, cases: Sequence[Case]) -> None:
    """Notes are single lines of text."""
    for case in cases:
        for note in assess(model, case).notes:
            require(
                isinstance(note, str) and bool(note.strip()) and len(note.splitlines()) == 1,
                model,
                f"the note {note!r} must be one line of text",
                case.name,
            )
