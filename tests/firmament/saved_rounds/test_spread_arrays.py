"""Rounds with groups that would rather be apart, saved and run again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from firmament.core.events import ClassDefined, TasksBound
from firmament.core.placement.outcome import PassOptions, no_timer
from firmament.core.rounds import decide
from firmament.saved_rounds.saved_arrays import decode_arrays, encode_arrays
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.core.placement.test_default_spread import core, in_zone, waiting
from tests.firmament.saved_rounds.rounds import refusal
from tests.support.core import task_class


def saved() -> bytes:
    scheduler = core(
        *(in_zone(f"{zone}{index}", zone) for zone in "ab" for index in range(4)),
        ClassDefined(1, task_class(0)),
        TasksBound("a0", 1, ("old",), spread_group="g"),
        waiting(6),
        waiting(3, "other", 1, "o"),
    )
    opened = scheduler.open_round()
    assert opened.snapshot is not None
    return encode_arrays(opened.snapshot.problem, opened.solve().assignments)


def test_a_saved_round_runs_again():
    problem, then = decode_arrays(saved())
    assert problem.spread is not None
    assert problem.spread.resident_machine.tolist() == [0]
    again = decide(problem, OrToolsSolver(), PassOptions(), no_timer).assignments
    for part in ("cls", "machine", "count"):
        assert np.array_equal(getattr(again, part), getattr(then, part))


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("group", np.array([7, 7]), "holds numbers out of range"),
        ("domain", np.array([0]), "has the size (1,), not (8,)"),
        ("domain", np.full(8, -1), "holds numbers out of range"),
        ("machine_step", np.array([np.nan, 1.0]), "holds numbers that are negative or not finite"),
        ("domain_step", np.array([1, 1]), "int64 of the size (2,) is not float64"),
        ("resident_machine", np.array([8]), "holds numbers out of range"),
        ("resident_group", np.array([0, 0]), "has the size (1,), not (2,)"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, value: np.ndarray, fault: str):
    problem, _ = decode_arrays(saved())
    assert problem.spread is not None
    changes: dict[str, Any] = {name: value}
    message = refusal(replace(problem, spread=replace(problem.spread, **changes)))
    assert "spread." in message
    assert fault in message
