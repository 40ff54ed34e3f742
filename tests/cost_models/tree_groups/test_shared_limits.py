"""Groups where tasks share more than resources: limits over several machines, ledgers, costs of other models."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Assessment, Bool, Int64, JointRows, Ledger, MachineColumns, ShapeBatch
from cost_models.registry import load_model
from firmament.core.configuration import WeightedModel
from firmament.core.events import ClassDefined, TasksBound, TasksSubmitted
from firmament.core.model import Requirement, TaskSelector, TaskTerm
from tests.cost_models.network_aware.scenes import app_group, pair_labels, records, topology
from tests.cost_models.network_aware.scenes import machines as net_machines
from tests.cost_models.network_aware.scenes import running as net_running
from tests.cost_models.tree_groups.scene import (
    CPU,
    Constraints,
    counts,
    group,
    job,
    machines,
    overlay,
    racks,
    rules,
    singles,
    tree,
)
from tests.support.core import machine, messages, placed, scheduler, task_class, uids
from tests.support.models import Stated, flat

RACKS = racks(a=(3, 3), b=(3, 3))
HARD: Constraints = {"rack": {"hard": True}}


def limited(most: int, *names: str):
    """At most so many tasks on some machines together."""

    def assess(columns: MachineColumns, shapes: ShapeBatch) -> Assessment:
        row_of = np.array([0 if name in names else -1 for name in columns.names], dtype=np.int64)
        rows = JointRows(row_of, np.ones(shapes.count, dtype=np.int64), np.array([most]), "shared limit")
        return Assessment(raw=np.zeros((shapes.count, 1)), joint=(rows,))

    return WeightedModel(Stated(assess, name="shared"))


class OneOf:
    """Room for one task of any shape on each machine."""

    reason = "one at a time"

    def __init__(self, room: Int64) -> None:
        self._left = room.copy()

    def find_ordered(self, shapes: Int64, machines: Int64) -> Bool:
        return np.zeros(len(shapes), dtype=np.bool_)

    def count_room(self, shape: int) -> Int64:
        return self._left.copy()

    def room_at(self, shapes: Int64, machines: Int64) -> Int64:
        return self._left[machines]

    def book(self, shapes: Int64, machines: Int64, counts: Int64) -> Int64:
        took = np.minimum(counts, self._left[machines])
        np.subtract.at(self._left, machines, took)
        return took

    def copy(self) -> Ledger:
        return OneOf(self._left)


def test_a_limit_that_machines_share_sends_the_group_elsewhere():
    core = scheduler(
        machines(RACKS),
        tree(RACKS),
        group("g", 4, HARD),
        policy="trivial",
        overlays=[overlay(), limited(3, "a-0", "a-1")],
    )
    assert set(counts(core.run_round())) == {"b-0", "b-1"}


def test_a_limit_that_leaves_no_way_is_told():
    core = scheduler(
        machines(RACKS),
        tree(RACKS),
        group("g", 4, HARD),
        singles("x"),
        policy="trivial",
        overlays=[overlay(), limited(3, "a-0", "a-1", "b-0", "b-1")],
    )
    result = core.run_round()
    assert placed(result).keys() == {"x"}
    assert messages(result)["g-0"].startswith("group ns/g needs 4 places at once: ")


def test_a_ledger_counts_like_any_room():
    def assess(columns: MachineColumns, shapes: ShapeBatch) -> Assessment:
        return Assessment(
            raw=np.zeros((shapes.count, 1)), ledger=OneOf(np.ones(columns.count, dtype=np.int64))
        )

    core = scheduler(
        machines(RACKS),
        tree(RACKS),
        group("g", 2, HARD),
        group("h", 2, HARD),
        group("k", 2),
        policy="trivial",
        overlays=[overlay(), WeightedModel(Stated(assess, name="ledger"))],
    )
    result = core.run_round()
    assert set(counts(result).values()) == {1}
    assert placed(result).keys() == {*uids("g", 2), *uids("h", 2)}


def test_what_other_models_charge_breaks_ties():
    dear = Stated(flat(50.0, 50.0, 0.0, 0.0), name="dear")
    core = scheduler(
        machines(RACKS),
        tree(RACKS),
        group("g", 4),
        policy="trivial",
        overlays=[overlay(), WeightedModel(dear)],
    )
    assert set(counts(core.run_round())) == {"b-0", "b-1"}


def test_a_group_goes_near_what_it_talks_to():
    where = [("r1", "z1"), ("r1", "z2"), ("r2", "z3"), ("r2", "z4")]
    zones = {"z1": {"z2": 5}, "z2": {"z1": 5}, "z3": {"z4": 5}, "z4": {"z3": 5}}
    net = topology({"r1": {"r2": 20}, "r2": {"r1": 20}}, zones)
    given = {"a": {"n0": 2, "n1": 2}, "b": {"n2": 2, "n3": 2}}
    core = scheduler(
        net_machines(where, cpu=2 * CPU),
        records(net, app_group(["a", "b"], [("a", "b", 10_000, 0)])),
        tree(given),
        net_running(9, "b", ["n3"], cpu=0),
        [ClassDefined(1, task_class(CPU, labels=pair_labels("a"))), job("g", 4), rules("g")],
        TasksSubmitted(1, uids("g", 4), job="g"),
        policy="trivial",
        overlays=[overlay(), WeightedModel(load_model("network_overhead", {}), 5)],
    )
    assert counts(core.run_round()) == {"n2": 2, "n3": 2}


def test_preferences_between_pods_break_ties():
    liked = TaskTerm("rack", TaskSelector((Requirement("app", "In", ("db",)),)), weight=50)
    events = [
        machine(name, cpu=3 * CPU, labels={"rack": name[0]}) for rack in RACKS.values() for name in rack
    ]
    fond = task_class(CPU, preferred_affinity=(liked,))
    core = scheduler(
        events,
        tree(RACKS),
        [ClassDefined(5, task_class(0, labels=(("app", "db"),))), TasksBound("b-0", 5, ("db",))],
        [ClassDefined(1, fond), job("g", 3), rules("g"), TasksSubmitted(1, uids("g", 3), job="g")],
        policy="trivial",
        overlays=[overlay()],
    )
    assert {name[0] for name in counts(core.run_round())} == {"b"}


def test_a_group_of_one_is_a_task_like_others():
    core = scheduler(machine("m", cpu=CPU), group("g", 1, HARD), policy="trivial", overlays=[overlay()])
    assert placed(core.run_round()) == {"g-0": "m"}
