"""Rounds with quotas are saved, read again, and come out the same."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from firmament.core.constraints.quota_terms import QuotaTerms
from firmament.core.events import ClassDefined, TasksBound
from firmament.core.placement.outcome import Means
from firmament.core.placement.placing import place
from firmament.saved_rounds.saved_arrays import decode_arrays, encode_arrays
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, scheduler, task_class, tasks, uids


def test_quotas_are_saved_with_a_round():
    core = scheduler(
        machine("a", cpu=9000, labels={"kind": "red"}),
        machine("b", cpu=9000),
        flavor("red", kind="red"),
        flavor("any"),
        quota("cohort", {"any": {"cpu": 1000}}),
        quota("team", {"red": {"cpu": 2000}, "any": {"cpu": 2000}}, parent="cohort", fair=True),
        ClassDefined(9, task_class(1000, queue="team")),
        TasksBound("a", 9, ("x",)),
        tasks(1, *uids("t", 9), content=task_class(1000, queue="team")),
    )
    opened = core.open_round()
    assert opened.snapshot is not None
    placement = opened.solve()
    problem, placed = decode_arrays(encode_arrays(opened.snapshot.problem, placement.assignments))
    before, after = opened.snapshot.problem.quotas, problem.quotas
    assert before is not None
    assert after is not None
    for each in fields(QuotaTerms):
        then, now = getattr(before, each.name), getattr(after, each.name)
        if isinstance(then, np.ndarray):
            np.testing.assert_array_equal(then, now)
        elif each.name != "tree":
            assert then == now
    for name in ("parent", "subtree", "local", "borrowing", "limit"):
        np.testing.assert_array_equal(getattr(before.tree, name), getattr(after.tree, name))
    again = place(problem, Means(OrToolsSolver())).assignments
    assert sorted(again.entries()) == sorted(placed.entries())
