"""Rounds that counted with ledgers, saved and run again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from cost_models.api.arrays import Arrays
from cost_models.numa.numa_fit import NumaFit
from cost_models.numa.zone_ledger import ZoneLedger
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import Event, TasksBound
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.placement.outcome import no_timer
from firmament.saved_rounds import SavedRoundError
from firmament.saved_rounds.replaying import replay
from firmament.saved_rounds.saved_arrays import decode_arrays, encode_arrays
from firmament.saved_rounds.saving import decode_round, encode_round
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.cost_models.numa.builders import asks, machine_events, payload, task_class, zone
from tests.firmament.saved_rounds.rounds import VERSIONS, record, refusal
from tests.support.core import tasks, uids

NOTHING = Assignments.empty()


def events(seed: int) -> list[Event]:
    """Machines of several policies, scopes and fillings, some tasks that no record counts yet, and tasks to place."""
    random = np.random.default_rng(seed)
    made: list[Event] = []
    for index in range(6):
        zones = [
            zone(number, {"cpu": int(amount)}, cpu={"capacity": 8000})
            for number, amount in enumerate(random.integers(1, 5, 2) * 2000)
        ]
        policy = ("single-numa-node", "restricted", "none")[index % 3]
        scope = ("container", "pod")[int(random.integers(2))]
        made += machine_events(f"m{index}", payload(*zones, policy=policy, scope=scope), cpu=16000)
    kinds = [
        task_class(asks("a", cpu=3000)),
        task_class(asks("a", cpu=1000), asks("b", cpu=2000)),
        task_class(asks("i", "init", cpu=4000), asks("a", cpu=2000)),
        task_class(asks("a", cpu=500), qos="Burstable"),
    ]
    for number, content in enumerate(kinds, start=1):
        made += tasks(number, *uids(f"t{number}-", int(random.integers(2, 7))), content=content)
    made.append(TasksBound("m0", 1, ("running",)))
    return made


def configuration() -> CoreConfiguration:
    model = NumaFit(modelledPolicies=["restricted"])
    return CoreConfiguration(overlays=(WeightedModel(model, weight=2),))


def round_files(seed: int) -> dict[str, bytes]:
    config = configuration()
    return encode_round(record(config, events(seed)), VERSIONS)


@pytest.mark.parametrize("seed", range(6))
def test_a_saved_round_with_zones_comes_out_the_same(seed):
    done = replay(decode_round(round_files(seed)), OrToolsSolver(), no_timer)
    assert (done.same, done.moved) == (True, 0)
    assert done.placed == done.then.placed > 0


def test_zones_decide_what_comes_out():
    differ = 0
    for seed in range(6):
        saved = decode_round(round_files(seed))
        without = replace(saved, problem=replace(saved.problem, ledgers=()))
        differ += not replay(without, OrToolsSolver(), no_timer).same
    assert differ > 3


def test_a_ledger_answers_as_it_did():
    """Booked alike, the ledger of the round and the one that was read back say the same."""
    done = record(configuration(), events(3))
    problem = done.snapshot.problem
    again, _ = decode_arrays(encode_arrays(problem, NOTHING))
    (mine,), (theirs,) = problem.ledgers, again.ledgers
    assert mine.reason == theirs.reason
    shape, machine = (
        grid.ravel() for grid in np.indices((len(problem.requests), problem.machines), dtype=np.int64)
    )
    for _ in range(4):
        np.testing.assert_array_equal(mine.find_ordered(shape, machine), theirs.find_ordered(shape, machine))
        np.testing.assert_array_equal(mine.room_at(shape, machine), theirs.room_at(shape, machine))
        for each in range(len(problem.requests)):
            np.testing.assert_array_equal(mine.count_room(each), theirs.count_room(each))
        mine, theirs = mine.copy(), theirs.copy()
        ones = np.ones(len(shape), dtype=np.int64)
        np.testing.assert_array_equal(mine.book(shape, machine, ones), theirs.book(shape, machine, ones))


# --- what cannot be read ---------------------------------------------------------------------------------------------


class Changed(ZoneLedger):
    """A ledger that saves something else than it should."""

    changes: ClassVar[dict[str, Any]] = {}

    def save(self) -> Arrays:
        found = {**super().save(), **self.changes}
        return {name: array for name, array in found.items() if array is not None}


def with_ledger(changes: dict[str, Any], model: str = "numa_fit") -> PlacementProblem:
    problem = record(configuration(), events(0)).snapshot.problem
    (ledger,) = problem.ledgers
    assert isinstance(ledger, ZoneLedger)
    kind = type("Other", (Changed,), {"changes": changes, "model": model})
    return replace(problem, ledgers=(kind(ledger.zones),))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"left": None}, "entry 'left of numa_fit' is missing"),
        ({"names": None}, "entry 'names of numa_fit' is missing"),
        ({"left": np.zeros((1, 6))}, "numa_fit: left is float64, not int64"),
        ({"left": np.zeros((1, 6), np.int64)}, "numa_fit: left has the size (1, 6), not 3 dimensions"),
        ({"policy": np.zeros(5, np.int8)}, "numa_fit: policy has the size (5,), not (6,)"),
        ({"policy": np.full(6, 9, np.int8)}, "numa_fit: policy holds numbers out of range"),
        ({"apps": np.full(5, 9)}, "numa_fit: apps holds numbers out of range"),
        ({"names": np.array("[")}, "numa_fit: names is not what was saved"),
        ({"names": np.array("[[]]")}, "numa_fit: names has 1 entries, not 5"),
    ],
)
def test_a_ledger_that_cannot_have_been_saved_is_refused_in_one_line(changes, fault):
    decode_arrays(encode_arrays(with_ledger({}), NOTHING))  # as it is it can be read
    where = "" if fault.startswith("entry") else " - at `$.problem.ledgers[0]`"
    assert refusal(with_ledger(changes)) == fault + where


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        ("", "which no file holds"),
        ("gone", "no cost model 'gone' is installed"),
        ("cpu_mem", "'cpu_mem' that is installed has no restore_ledger"),
    ],
)
def test_a_ledger_that_nobody_can_read_is_told(model, fault):
    with pytest.raises(SavedRoundError) as refused:
        decode_arrays(encode_arrays(with_ledger({}, model), NOTHING))
    assert fault in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_ledger_with_fewer_shapes_than_the_problem_is_refused():
    done = record(configuration(), events(0))
    (ledger,) = done.snapshot.problem.ledgers
    assert isinstance(ledger, ZoneLedger)
    problem = done.snapshot.problem
    more = replace(
        problem,
        requests=np.repeat(problem.requests, 2, axis=0),
        feasible=np.repeat(problem.feasible, 2, axis=0),
        cost=np.repeat(problem.cost, 2, axis=0),
    )
    assert refusal(more) == "numa_fit: apps knows 5 shapes, not 8 - at `$.problem.ledgers[0]`"
