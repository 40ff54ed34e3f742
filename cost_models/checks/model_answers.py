"""Conditions that an answer of a cost model must satisfy, array by array: parts of ``cost_models.conformance``.

Each check takes a model and the inputs to try it on, and raises ``AssertionError`` naming the model, the input and what
is wrong.
"""

from __future__ import annotations

import math

import numpy as np

from cost_models.checks.probing import Check, Probe, check_each_answer, describe_value
from cost_models.interface import Assessment, Bool, JointRows, Returned

SLACK = 1e-9
"""By how much, relatively, rounding may put a figure outside its range."""


@check_each_answer
def check_shapes(probe: Probe, answer: Assessment) -> None:
    """Check that arrays have the shapes and element types that ``Assessment`` promises."""
    raw, full = answer.raw, (probe.shapes, probe.machines)
    probe.require(
        isinstance(raw, np.ndarray) and raw.dtype.kind in "iuf" and raw.shape in {full, (full[0], 1)},
        f"raw is {describe_value(raw)}; it must be numeric{list(full)} or numeric[{full[0]}, 1]",
    )
    if answer.feasible is not None:
        probe.array("feasible", answer.feasible, np.bool_, full)
    if answer.score is not None:
        probe.array("score", answer.score, np.float64, full)


@check_each_answer
def check_figures(probe: Probe, answer: Assessment) -> None:
    """Check that figures are finite and within ``range``, and scores between 0 and 100, also for refused
    machines.
    """
    span = probe.model.range
    low, high = sorted((span.best, span.worst))
    if not span.bounded:
        low, high = (low, math.inf) if span.best < span.worst else (-math.inf, high)
    slack = SLACK * abs(span.worst - span.best)
    figures = np.asarray(answer.raw, dtype=np.float64).ravel()
    if answer.sparse is not None:
        figures = np.concatenate([figures, np.asarray(answer.sparse.raw, dtype=np.float64)])
    probe.require(np.isfinite(figures).all(), "a figure is not finite")
    outside = figures[(figures < low - slack) | (figures > high + slack)]
    probe.require(len(outside) == 0, f"a figure is {outside[:1]}; the range declares {low} to {high}")
    if answer.score is not None:
        within = (answer.score >= 0) & (answer.score <= 100)
        probe.require(within.all(), "a score lies outside 0 to 100")


@check_each_answer
def check_filter(probe: Probe, answer: Assessment) -> None:
    """Check that a model that refuses a machine says why, in one line, and that causes point at reasons."""
    if answer.feasible is None or answer.feasible.all():
        return
    if answer.causes is not None:
        probe.array("causes", answer.causes, np.int16, answer.feasible.shape)
        probe.indices("causes", answer.causes[~answer.feasible], 0, len(answer.reasons))
    for shape in range(probe.shapes):
        for reason, machines in answer.refusals(shape):
            if machines.any():
                probe.reason("a machine is refused", reason)


@check_each_answer
def check_sparse(probe: Probe, answer: Assessment) -> None:
    """Check that ``SparseArcs`` has arrays of equal length, indices in range and no pair of shape and machine twice."""
    sparse = answer.sparse
    if sparse is None:
        return
    size = (len(sparse.shape),)
    probe.array("sparse.shape", sparse.shape, np.int64, size)
    probe.array("sparse.machine", sparse.machine, np.int64, size)
    probe.array("sparse.raw", sparse.raw, np.float64, size)
    probe.indices("sparse.shape", sparse.shape, 0, probe.shapes)
    probe.indices("sparse.machine", sparse.machine, 0, probe.machines)
    pairs = np.stack([sparse.shape, sparse.machine], axis=1)
    probe.require(len(np.unique(pairs, axis=0)) == size[0], "a sparse pair has two figures")


@check_each_answer
def check_joint(probe: Probe, answer: Assessment) -> None:
    """Check that joint rows are well formed: a row per machine or -1, amounts and limits of at least 0, a
    reason.
    """
    for rows in answer.joint:
        probe.require(isinstance(rows, JointRows), "joint must hold JointRows")
        probe.array("joint.row_of", rows.row_of, np.int64, (probe.machines,))
        probe.array("joint.amount", rows.amount, np.int64, (probe.shapes,))
        probe.array("joint.limit", rows.limit, np.int64, (len(rows.limit),))
        probe.indices("joint.row_of", rows.row_of, -1, len(rows.limit))
        probe.require((rows.amount >= 0).all(), "joint.amount is negative")
        probe.require((rows.limit >= 0).all(), "joint.limit is negative")
        probe.reason("a joint row may refuse a machine", rows.reason)
        if rows.returned is not None:
            _check_returned(probe, rows, rows.returned)
    if answer.occupied is not None:
        _check_occupied(probe, answer, answer.occupied)


def _check_occupied(probe: Probe, answer: Assessment, occupied: Bool) -> None:
    """Check that a model refuses its occupied machines, and that rows with ``returned`` hold the shapes refused
    there.
    """
    full = (probe.shapes, probe.machines)
    probe.array("occupied", occupied, np.bool_, full)
    refused = np.zeros(full, dtype=np.bool_) if answer.feasible is None else ~answer.feasible
    probe.require(not (occupied & ~refused).any(), "a machine is occupied that is not refused")
    held = np.zeros(full, dtype=np.bool_)
    for rows in answer.joint:
        if rows.returned is not None:
            held |= np.outer(rows.holds(), rows.row_of >= 0)
    fault = "a machine is occupied, but no joint row with joint.returned takes or bars the shape there"
    probe.require(not (occupied & ~held).any(), fault)


def _check_returned(probe: Probe, rows: JointRows, returned: Returned) -> None:
    """Check that what rows get back is a figure per kind or per task, at least 0, and that no machines share a row."""
    probe.require(not rows.shared, "joint.returned needs a row per machine")
    probe.array("joint.returned.owed", returned.owed, np.int64, rows.limit.shape)
    machines = probe.case.machines
    kinds = 0 if machines.residents is None else len(machines.residents.kinds)
    tasks = 0 if machines.load is None else len(machines.load.assigned.machine)
    places = np.arange(tasks)
    by_task = None if returned.by_task is None else returned.by_task.amounts(places)
    given = [
        (name, array, size)
        for name, array, size in (("by_kind", returned.by_kind, kinds), ("by_task", by_task, tasks))
        if array is not None
    ]
    probe.require(len(given) == 1, "joint.returned must have one of by_kind and by_task")
    for name, array, size in given:
        probe.array(f"joint.returned.{name}", array, np.int64, (size,))
        probe.require((array >= 0).all(), f"joint.returned.{name} is negative")
    if returned.by_task is not None and by_task is not None:
        same = np.array_equal(returned.by_task.amounts(places[::-2]), by_task[::-2])
        probe.require(same, "joint.returned.by_task depends on which other tasks are asked about")
    probe.require((returned.owed >= 0).all(), "joint.returned.owed is negative")
    if returned.barred is not None:
        probe.array("joint.returned.barred", returned.barred, np.bool_, rows.amount.shape)


@check_each_answer
def check_crowding(probe: Probe, _: Assessment) -> None:
    """Check that crowding is float64[M], finite and at least 0, for every request."""
    for growth in probe.crowding_rows():
        probe.figures("crowding", growth, (probe.machines,))


@check_each_answer
def check_growth(probe: Probe, answer: Assessment) -> None:
    """Check that a ``growth`` in the answer is float64[M], finite and at least 0, as crowding must be."""
    if answer.growth is not None:
        probe.figures("growth", answer.growth, (probe.machines,))


@check_each_answer
def check_heights(probe: Probe, answer: Assessment) -> None:
    """Check that heights are finite float64 arrays of matching sizes, at least 0, and that a growth comes with them."""
    heights = answer.heights
    if heights is None:
        return
    amounts = heights.amount.shape[1] if heights.amount.ndim == 2 else 0
    probe.figures("heights.start", heights.start, (probe.machines,))
    probe.figures("heights.rate", heights.rate, (amounts, probe.machines))
    probe.figures("heights.amount", heights.amount, (probe.shapes, amounts))
    probe.require(answer.growth is not None, "heights are stated, but no growth")


@check_each_answer
def check_notes(probe: Probe, answer: Assessment) -> None:
    """Check that notes are single lines of text."""
    for note in answer.notes:
        single = isinstance(note, str) and bool(note.strip()) and len(note.splitlines()) == 1
        probe.require(single, f"the note {note!r} must be one line of text")


ANSWER_CHECKS: tuple[Check, ...] = (
    check_shapes,
    check_figures,
    check_filter,
    check_sparse,
    check_joint,
    check_crowding,
    check_growth,
    check_heights,
    check_notes,
)
