"""The conditions that every cost model must satisfy, as checks that any package can run on its own models.

    from cost_models.conformance import check_model

    def test_my_model():
        check_model(MyModel(threshold=80))

``CHECKS`` are the single checks, for parametrised tests. Each check takes a model and the inputs to try it on, and
raises ``AssertionError`` naming the model, the input and what is wrong. Models that read records should pass inputs
with valid ones of their own (``more``): the standard inputs have only unknown and malformed records.

``check_fuller_is_not_cheaper`` and ``check_crowding_follows_requests`` hold for load-spreading models; other models
are free to behave otherwise, so the two are not among ``CHECKS``.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cost_models.checks.model_answers import ANSWER_CHECKS
from cost_models.checks.per_machine import check_per_machine
from cost_models.checks.probing import Check, Probe, are_equal, require
from cost_models.checks.sample_inputs import (
    Case,
    of_machines,
    ordinary_machines,
    ordinary_shapes,
    standard_cases,
)
from cost_models.declarations import declaration_faults
from cost_models.interface import CostModel
from cost_models.registry import list_available


def check_model(model: CostModel, more: Sequence[Case] = (), *, registered: bool = True) -> None:
    """Run every check on the standard inputs and on ``more``; raises ``AssertionError`` at the first that fails.

    ``registered``: whether a package installs the model; a class in a notebook is not registered.
    """
    check_declaration(model)
    if registered:
        check_registration(model)
    cases = [*standard_cases(model.needs.records), *more]
    for check in CHECKS:
        check(model, cases)


# --- what a model says about itself ---------------------------------------------------------------------------------


def check_declaration(model: CostModel) -> None:
    """Check that what a model declares of itself is complete, makes sense and is spelt right; see `declarations`."""
    for fault in declaration_faults(model):
        require(False, model, fault)


def check_registration(model: CostModel) -> None:
    """Check that the installed entry point called ``name`` provides a model of this kind."""
    kinds, name, kind = list_available(), model.name, getattr(model, "kind", None)
    require(name in kinds, model, f"no entry point is called {name!r}; installed: {', '.join(kinds)}")
    require(kinds[name] == kind, model, f"kind is {kind!r}, that of its entry point {kinds[name]!r}")


# --- purity ---------------------------------------------------------------------------------------------------------


def check_purity(model: CostModel, cases: Sequence[Case]) -> None:
    """Check that equal inputs give equal answers, whatever was asked in between, and inputs are not written
    to.
    """
    first = [_answers(model, case) for case in cases]
    for case, before in zip(reversed(cases), reversed(first), strict=True):
        require(
            are_equal(before, _answers(model, case)), model, "equal inputs give different answers", case.name
        )


def _answers(model: CostModel, case: Case) -> list[Any]:
    """Return all answers of a model about a case, after checking that asking changed none of the inputs."""
    given = copy.deepcopy((case.machines, case.shapes))
    probe = Probe(model, case)
    answers: list[Any] = [probe.answer(), *probe.crowding_rows()]
    require(are_equal(given, (case.machines, case.shapes)), model, "the inputs were written to", case.name)
    return answers


CHECKS: tuple[Check, ...] = (*ANSWER_CHECKS, check_purity, check_per_machine)
"""All checks on inputs; the most telling messages come first."""


# --- for models that spread load ------------------------------------------------------------------------------------


def check_fuller_is_not_cheaper(model: CostModel) -> None:
    """Check that a fuller machine never costs less than an emptier one with equal use of all resources."""
    steps = 9
    machines = of_machines(ordinary_machines(), [0] * steps)
    taken = np.arange(steps)[:, None] * machines.capacity // (steps - 1)
    machines = replace(
        machines,
        names=tuple(f"filled-{step}" for step in range(steps)),
        free=machines.capacity - taken,
        running=taken[:, 0].copy(),
    )
    case = Case("ever fuller machines", machines, ordinary_shapes())
    probe = Probe(model, case)
    points = model.range.points(probe.answer().raw)
    probe.require((np.diff(points, axis=1) >= 0).all(), "a fuller machine costs less")


def check_crowding_follows_requests(model: CostModel) -> None:
    """Check that larger requests never make crowding cheaper."""
    probe = Probe(model, Case("requests twice as large", ordinary_machines(), ordinary_shapes()))
    for request in probe.case.shapes.requests:
        grows = probe.crowding(2 * request) >= probe.crowding(request)
        probe.require(grows.all(), "crowding falls as requests grow")
