"""The check of the promise ``per_machine``; one of the checks in `conformance`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cost_models.api.assessment import PAIRWISE
from cost_models.checks.probing import Probe, are_equal
from cost_models.checks.sample_inputs import Case
from cost_models.interface import Assessment, Bool, CostModel, Int64, answers_expire


def check_per_machine(model: CostModel, cases: Sequence[Case]) -> None:
    """Check that a ``per_machine`` model gives the same answer about a shape and a machine whatever others it is asked
    about, and when.
    """
    for case in cases if model.promises.per_machine else ():
        probe = Probe(model, case)
        whole = probe.answer()
        every, shapes = np.arange(probe.machines), np.arange(probe.shapes)
        probe.require(
            whole.raw.shape[0] == probe.shapes and whole.is_by_machine(probe.machines),
            "per_machine is true; then raw must have a figure per shape and machine, and the answer nothing beside "
            "verdicts, causes, scores and texts",
        )
        for what, some, machines in _selections(case):
            seen = case.machines if machines is None else case.machines.select(machines)
            part = Probe(model, Case(f"{case.name}, {what}", seen, case.shapes.select(some, machines)))
            _require_same(part, whole, part.answer(), some, every if machines is None else machines)
        counts = replace(case.shapes, counts=case.shapes.counts[::-1] * 7 + 1)
        others = Probe(model, Case(f"{case.name}, other counts", case.machines, counts))
        _require_same(others, whole, others.answer(), shapes, every)
        _check_time(probe, whole)


def _check_time(probe: Probe, whole: Assessment) -> None:
    """Check that answers stay the same up to the time that the model states."""
    model, case = probe.model, probe.case
    for_ever = np.full(probe.machines, np.inf)
    until = np.asarray(model.lasts_until(case.machines)) if answers_expire(model) else for_ever
    probe.require(
        until.shape == (probe.machines,) and not np.isnan(until).any(),
        "lasts_until must return a time for every machine; infinity: for ever",
    )
    now = case.machines.now
    ends = until[np.isfinite(until)]
    for then in sorted({now, now + 1.0, now + 1e6, *(ends - 1e-3).tolist(), *(ends + 1.0).tolist()}):
        if then < now:
            continue
        at_time = replace(case.machines, now=then)
        later = Probe(model, Case(f"{case.name}, {then - now:g} s later", at_time, case.shapes))
        lasting: Bool = until > then
        rows, every = np.flatnonzero(lasting), np.arange(probe.shapes)
        answer = later.answer()
        later.require(answer.raw.shape == whole.raw.shape, "raw changes its shape with time")
        _require_same(later, whole, _select(answer, every, rows), every, rows)


def _selections(case: Case) -> Iterator[tuple[str, Int64, Int64 | None]]:
    """Yield selections of shapes and machines (None: all of them), each with a short description."""
    shapes, machines = np.arange(case.shapes.count), np.arange(case.machines.count)
    for machine in machines.tolist():
        yield f"about machine {machine} alone", shapes, machines[machine : machine + 1]
    yield "about every other machine", shapes, machines[::2]
    yield "about no machine", shapes, machines[:0]
    for shape in shapes.tolist():
        yield f"about shape {shape} alone", shapes[shape : shape + 1], None
    yield "about the last shapes and machines", shapes[1:], machines[1:]


def _require_same(probe: Probe, whole: Assessment, part: Assessment, shapes: Int64, machines: Int64) -> None:
    """Require that the answer about some shapes and machines equals that part of the ``whole`` answer."""
    probe.require(
        (part.reason, tuple(part.reasons)) == (whole.reason, tuple(whole.reasons)),
        "per_machine is true, but reasons depend on what else is asked about",
    )
    probe.require(part.is_by_machine(len(machines)), "per_machine is true, but the answer is not by machines")
    expected = _plain(_select(whole, shapes, machines), (len(shapes), len(machines)))
    found = _plain(part, (len(shapes), len(machines)))
    for name in PAIRWISE:
        probe.require(
            are_equal(getattr(expected, name), getattr(found, name)),
            f"per_machine is true, but {name} depends on other shapes or machines, on counts, or on the time",
        )


def _plain(answer: Assessment, size: tuple[int, int]) -> Assessment:
    """Return an answer in a normal form, so that two answers with the same meaning are equal."""
    feasible = np.ones(size, dtype=np.bool_) if answer.feasible is None else answer.feasible
    causes = None if answer.causes is None or feasible.all() else np.where(feasible, 0, answer.causes)
    return replace(answer, feasible=feasible, causes=causes)


def _select(answer: Assessment, shapes: Int64, machines: Int64) -> Assessment:
    """Return the part of an answer about some shapes and machines."""
    whole = {name: getattr(answer, name) for name in PAIRWISE}
    parts: dict[str, Any] = {
        name: each if each is None else each[shapes][:, machines] for name, each in whole.items()
    }
    return replace(answer, **parts)
