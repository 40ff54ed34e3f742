"""Rounds that counted with ledgers, saved and run again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cost_models.numa.capacity_tracker import ZoneLedger
from cost_models.numa.numa_fit import NumaFit
from firmament.artefacts.arrays import decode_arrays, encode_arrays
from firmament.artefacts.errors import ArtefactError
from firmament.artefacts.replaying import replay
from firmament.artefacts.saving import decode_round, encode_round
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import Event, TasksBound
from firmament.core.flow.problem import Assignments
from firmament.core.placement.outcome import no_timer
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.artefacts.rounds import VERSIONS, changed, columns, record
from tests.numa.builders import asks, machine_events, payload, task_class, zone
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
    return encode_round(record(config, events(seed)), config, VERSIONS)


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
        np.testing.assert_array_equal(mine.ordered(shape, machine), theirs.ordered(shape, machine))
        np.testing.assert_array_equal(mine.room_at(shape, machine), theirs.room_at(shape, machine))
        for each in range(len(problem.requests)):
            np.testing.assert_array_equal(mine.room(each), theirs.room(each))
        mine, theirs = mine.copy(), theirs.copy()
        ones = np.ones(len(shape), dtype=np.int64)
        np.testing.assert_array_equal(mine.take(shape, machine, ones), theirs.take(shape, machine, ones))


# --- what cannot be read ---------------------------------------------------------------------------------------------


def saved() -> bytes:
    return encode_arrays(record(configuration(), events(0)).snapshot.problem, NOTHING)


def with_array(name: str, value: np.ndarray) -> dict[str, np.ndarray]:
    """The change of what the ledger saved under a name."""
    names = columns(saved())["ledgers.arrays.key"].tolist()
    return {f"ledgers.arrays.value.{names.index(name)}": value}


def without_array(name: str) -> dict[str, np.ndarray]:
    """The change of the name of what the ledger saved."""
    names = columns(saved())["ledgers.arrays.key"]
    return {"ledgers.arrays.key": np.where(names == name, "?", names)}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (without_array("left"), "entry 'ledgers[0].left' is missing"),
        (without_array("requests.names.length"), "entry 'ledgers[0].requests.names.length' is missing"),
        (with_array("left", np.zeros((1, 6))), "ledgers[0].left is float64 of the size (1, 6), not int64"),
        (with_array("policy", np.zeros(5, np.int8)), "ledgers[0].policy has the size (5,), not (6,)"),
        (with_array("policy", np.full(6, 9, np.int8)), "ledgers[0].policy holds numbers out of range"),
        (with_array("requests.apps", np.full(5, 9)), "ledgers[0].requests.apps holds numbers out of range"),
        (
            with_array("requests.resources", np.zeros(1)),
            "ledgers[0].requests.resources is float64 of the size (1,), not str",
        ),
        (
            with_array("requests.names.length", np.array([1])),
            "ledgers[0].requests.names.entry.length has the size (5,), not (1,)",
        ),
        ({"ledgers.model": np.array(["numa_fit"] * 2)}, "ledgers.model has the size (2,), not (1,)"),
        ({"ledgers.arrays.value.0": None}, "entry 'ledgers.arrays.value.0' is missing"),
    ],
)
def test_a_ledger_that_cannot_have_been_saved_is_refused_in_one_line(changes, fault):
    decode_arrays(saved())  # as it is it can be read
    with pytest.raises(ArtefactError) as refused:
        decode_arrays(changed(saved(), changes))
    assert str(refused.value) == f"problem.npz: {fault}; save the round again"


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        ("", "which no file holds"),
        ("gone", "no cost model 'gone' is installed"),
        ("cpu_mem", "'cpu_mem' that is installed has no restore_ledger"),
    ],
)
def test_a_ledger_that_nobody_can_read_is_told(model, fault):
    with pytest.raises(ArtefactError) as refused:
        decode_arrays(changed(saved(), {"ledgers.model": np.array([model])}))
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
    with pytest.raises(ArtefactError, match=r"ledgers\[0\]\.requests\.apps knows 5 shapes, not 8"):
        decode_arrays(encode_arrays(more, NOTHING))
