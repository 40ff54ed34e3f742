"""Tasks go where something runs for as long anyway: figures, rounds, and what a simulation has of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cost_models.interface import Assigned, Load, ModelArgumentError, ShapeRow
from cost_models.lifetimes.lifetimes import LEVELS, Lifetimes
from cost_models.lifetimes.remaining import HISTORY
from firmament.core.configuration import WeightedModel
from firmament.core.events import RecordUpserted
from firmament.core.model import TaskClass
from tests.support.core import machine, placed, scheduler, task_class, tasks
from tests.support.policies import machines, shapes

PROGRAM = "firmament.io/program"


def payload(*runs: tuple[float, int]) -> bytes:
    return json.dumps({"count": 1, "meanSeconds": 1, "runs": runs}).encode()


def row(program: str) -> ShapeRow:
    return ShapeRow(annotations={PROGRAM: program} if program else {})


def figures(
    there: Sequence[tuple[str, float]],
    *waiting: str,
    where: Sequence[int] | None = None,
    history: Mapping[str, bytes],
    model: Lifetimes | None = None,
) -> list[list[float]]:
    """Return what tasks of ``waiting`` programs cost on machines with tasks, and on an empty one.

    ``there``: by task its program, and since when it runs in seconds; ``where``: its machine, None: each has its own.
    """
    of_task = list(range(len(there))) if where is None else list(where)
    count = max(of_task) + 2
    columns = machines(
        *(f"m{number}" for number in range(count)),
        running=[1] * (count - 1) + [0],
        records={HISTORY: history},
    )
    kinds = [row(program) for program, _ in there]
    load = Load(
        reported=np.zeros(count, dtype=np.bool_),
        interval=np.zeros(count),
        system=np.zeros((count, 3)),
        total=columns.capacity,
        windows=None,  # type: ignore[arg-type]  # the model does not ask
        assigned=Assigned(
            machine=np.array(of_task),
            kind=np.arange(len(there)),
            time=1e6 - np.array([seconds for _, seconds in there]),
            initialized=np.full(len(there), np.nan),
            reported=np.zeros(len(there), dtype=np.bool_),
            usage=np.zeros((len(there), 3)),
            prod=np.zeros(len(there), dtype=np.bool_),
            kinds=kinds,
            requests=np.ones((len(there), 3), dtype=np.int64),
        ),
    )
    columns = replace(columns, load=load, now=1e6)
    return (model or Lifetimes(stepSeconds=SHORT)).assess(columns, shapes(*map(row, waiting))).raw.tolist()


SHORT, LONG = 2.0**10, 2.0**18
"""17 minutes and three days."""
HISTORIES = {"short": payload((SHORT, 5)), "long": payload((LONG, 5))}
RUNS = st.dictionaries(st.integers(12, 44), st.integers(1, 3), min_size=1, max_size=3)


def prolong_slowly(task: dict[int, int], there: Sequence[dict[int, int]]) -> float:
    """Return the expected prolongation over all ways in which new tasks may end; runs as halves of exponents."""
    found = Fraction(0)
    for ends in product(task.items(), *(runs.items() for runs in there)):
        chance = Fraction(math.prod(count for _, count in ends), sum(task.values()))
        chance /= math.prod(sum(runs.values()) for runs in there)
        last = max(2.0 ** (exponent / 2) for exponent, _ in ends[1:])
        found += chance * Fraction(max(2.0 ** (ends[0][0] / 2) - last, 0.0))
    return float(found)


@given(RUNS, st.lists(RUNS, min_size=1, max_size=3))
def test_as_all_ways_in_which_tasks_may_end_say(task: dict[int, int], there: list[dict[int, int]]) -> None:
    histories = {
        f"p{number}": payload(*((2.0 ** (exponent / 2), 10**9 * count) for exponent, count in runs.items()))
        for number, runs in enumerate([task, *there])
    }
    machine_of = [0] * len(there)
    programs = [(f"p{number + 1}", 0.0) for number in range(len(there))]
    ((cost, _),) = figures(programs, "p0", where=machine_of, history=histories)
    expected = min(math.log2(1.0 + prolong_slowly(task, there) / SHORT), LEVELS)
    assert cost == pytest.approx(expected, rel=1e-4, abs=1e-2)


def test_a_task_costs_by_how_much_longer_its_machine_is_in_use() -> None:
    there = [("short", 0.0), ("long", 0.0), ("long", LONG / 2)]
    short, long = figures(there, "short", "long", history=HISTORIES)
    assert short == pytest.approx([0.0, 0.0, 0.0, LEVELS], abs=1e-3)
    assert long == pytest.approx([8.0, 0.0, 7.2, LEVELS], abs=0.2)


def test_of_alike_tasks_more_keep_a_machine_for_longer() -> None:
    spread = {"etl": payload((SHORT, 1), (LONG, 1))}
    ((one, three, _),) = figures([("etl", 0.0)] * 4, "etl", where=[0, 1, 1, 1], history=spread)
    assert one > three + 1


def test_a_task_that_outlives_what_was_expected_is_expected_to_stay() -> None:
    there = [("short", SHORT / 2), ("short", LONG)]
    ((other, outlived, _),) = figures(there, "long", history=HISTORIES)
    assert other > outlived + 1


def test_what_nobody_knows_takes_long() -> None:
    there = [("", 0.0), ("new", 0.0), ("short", 0.0)]
    short, new, nameless = figures(there, "short", "new", "", history=HISTORIES)
    assert short == pytest.approx([0.0, 0.0, 0.0, LEVELS], abs=1e-2)
    assert new == nameless
    assert new[2] > new[0] + 0.5
    model = Lifetimes(unknownSeconds=16 * SHORT, stepSeconds=SHORT)
    ((*_, cost, _),) = figures(there, "new", model=model, history=HISTORIES)
    assert cost < new[2] - 1


def test_bad_records_are_told_and_count_as_unknown() -> None:
    columns = machines("a", records={HISTORY: {"etl": b"{}"}})
    answer = Lifetimes().assess(columns, shapes(row("etl")))
    (note,) = answer.notes
    assert note.startswith("lifetimes: RuntimeHistory 'etl': count is not a whole number from 1 to")
    assert note.endswith("; the program counts as unknown")


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ModelArgumentError, match="stepSeconds"):
        Lifetimes(stepSeconds=0)
    with pytest.raises(ModelArgumentError, match="unknownSeconds"):
        Lifetimes(unknownSeconds="a day")


def test_a_round_puts_what_takes_long_beside_what_takes_long() -> None:
    def of(program: str) -> TaskClass:
        return task_class(annotations=((PROGRAM, program),))

    core = scheduler(
        machine("a"),
        machine("b"),
        [RecordUpserted(HISTORY, name, payload) for name, payload in HISTORIES.items()],
        tasks(1, "s", content=of("short")),
        policy="trivial",
        overlays=[WeightedModel(Lifetimes())],
    )
    (first,) = placed(core.run_round()).values()
    core.apply([machine(first, cordoned=True), *tasks(2, "l", content=of("long"))])
    (second,) = placed(core.run_round()).values()
    core.apply([machine(first), *tasks(3, "another", content=of("long"))])
    assert placed(core.run_round()) == {"another": second}
    assert first != second
