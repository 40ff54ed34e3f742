"""The check of what a model promises that is ``per_machine``; one of those in `conformance`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cost_models.api.assessment import PAIRWISE
from cost_models.checks.probing import assess, equal, require
from cost_models.checks.sample_inputs import Case
from cost_models.interface import Assessment, Bool, CostModel, Int64, answers_expire


def check_per_machine(model: CostModel, cases: Sequence[Case]) -> None:
    """A model that is ``per_machine`` says the same of a pair whatever else it is asked about, and when."""
    if not model.promises.per_machine:
        return
    for case in cases:
        whole = assess(model, case)
        every = np.arange(case.machines.count)
        require(
            whole.raw.shape[0] == case.shapes.count and whole.is_by_machine(case.machines.count),
            model,
            "per_machine is true; then raw must have a figure per shape and machine, and the answer nothing beside "
            "verdicts, causes, scores and texts",
            case.name,
        )
        for what, shapes, machines in _selections(case):
            rows = every if machines is None else machines
            part = Case(
                f"{case.name}, {what}",
                case.machines if machines is None else case.machines.take(machines),
                case.shapes.take(shapes, machines),
            )
            _require_same(model, part.name, whole, assess(model, part), shapes, rows)
        counts = replace(case.shapes, counts=case.shapes.counts[::-1] * 7 + 1)
        others = Case(f"{case.name}, other counts", case.machines, counts)
        shapes = np.arange(case.shapes.count)
        _require_same(model, others.name, whole, assess(model, others), shapes, every)
        _check_time(model, case, whole)


def _check_time(model: CostModel, case: Case, whole: Assessment) -> None:
    """Answers are the same up to the time that the model states."""
    for_ever = np.full(case.machines.count, np.inf)
    until = np.asarray(model.lasts_until(case.machines)) if answers_expire(model) else for_ever
    require(
        until.shape == (case.machines.count,) and not np.isnan(until).any(),
        model,
        "lasts_until must return a time for every machine; infinity: for ever",
        case.name,
    )
    now = case.machines.now
    ends = until[np.isfinite(until)]
    for then in sorted({now, now + 1.0, now + 1e6, *(ends - 1e-3).tolist(), *(ends + 1.0).tolist()}):
        if then < now:
            continue
        later = Case(f"{case.name}, {then - now:g} s later", replace(case.machines, now=then), case.shapes)
        lasting: Bool = until > then
        rows, every = np.flatnonzero(lasting), np.arange(case.shapes.count)
        answer = assess(model, later)
        require(answer.raw.shape == whole.raw.shape, model, "raw changes its shape with time", later.name)
        _require_same(model, later.name, whole, _of(answer, every, rows), every, rows)


def _selections(case: Case) -> Iterator[tuple[str, Int64, Int64 | None]]:
    """Some of the shapes, and of the machines (None: all of them), with a word on each."""
    shapes, machines = np.arange(case.shapes.count), np.arange(case.machines.count)
    for machine in machines.tolist():
        yield f"about machine {machine} alone", shapes, machines[machine : machine + 1]
    yield "about every other machine", shapes, machines[::2]
    yield "about no machine", shapes, machines[:0]
    for shape in shapes.tolist():
        yield f"about shape {shape} alone", shapes[shape : shape + 1], None
    yield "about the last shapes and machines", shapes[1:], machines[1:]


def _require_same(
    model: CostModel, case: str, whole: Assessment, part: Assessment, shapes: Int64, machines: Int64
) -> None:
    """Require of the answer about some shapes and machines to be what the ``whole`` one says of them."""
    require(
        (part.reason, tuple(part.reasons)) == (whole.reason, tuple(whole.reasons)),
        model,
        "per_machine is true, but reasons depend on what else is asked about",
        case,
    )
    require(
        part.is_by_machine(len(machines)),
        model,
        "per_machine is true, but the answer is not by machines",
        case,
    )
    expected = _plain(_of(whole, shapes, machines), (len(shapes), len(machines)))
    found = _plain(part, (len(shapes), len(machines)))
    for name in PAIRWISE:
        require(
            equal(getattr(expected, name), getattr(found, name)),
            model,
            f"per_machine is true, but {name} depends on other shapes or machines, on counts, or on the time",
            case,
        )


def _plain(answer: Assessment, size: tuple[int, int]) -> Assessment:
    """An answer with all that has no meaning made equal: no refusals, and causes where nothing is refused."""
    feasible = np.ones(size, dtype=np.bool_) if answer.feasible is None else answer.feasible
    causes = None if answer.causes is None or feasible.all() else np.where(feasible, 0, answer.causes)
    return replace(answer, feasible=feasible, causes=causes)


def _of(answer: Assessment, shapes: Int64, machines: Int64) -> Assessment:
    """The part of an answer about some shapes and machines."""
    whole = {name: getattr(answer, name) for name in PAIRWISE}
    parts: dict[str, Any] = {
        name: None if figures is None else figures[shapes][:, machines] for name, figures in whole.items()
    }
    return replace(answer, **parts)
