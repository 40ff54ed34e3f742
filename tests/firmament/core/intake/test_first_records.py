"""Records that come while a round is solved, and are the first of their kind: what was decided keeps what they ask."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Assessment, MachineColumns, Needs, ShapeBatch
from cost_models.registry import load_model
from firmament.core.configuration import WeightedModel
from firmament.core.events import ClassDefined, Event, RecordUpserted, TasksBound, TasksSubmitted
from firmament.core.results import RoundResult
from firmament.core.scheduler import Scheduler
from tests.cost_models.network_aware import scenes
from tests.cost_models.tree_groups.scene import CPU, cluster, counts, job, machines, racks, rules, tree
from tests.support.core import machine, scheduler, task_class, uids
from tests.support.models import Stated

CLOSED = "example.com/closed"
HIGH = 10


def closing() -> WeightedModel:
    """A model that refuses the machines that it has records about, and no other; without any it states no limits."""

    def assess(columns: MachineColumns, shapes: ShapeBatch) -> Assessment:
        closed = columns.records.get(CLOSED, {})
        open_to = np.array([name not in closed for name in columns.names], dtype=np.bool_)
        return Assessment(
            raw=np.zeros((shapes.count, 1)),
            feasible=np.tile(open_to, (shapes.count, 1)) if closed else None,
            reason="closed",
        )

    return WeightedModel(Stated(assess, name="closing", needs=Needs(records=(CLOSED,))))


def closed_after(core: Scheduler, *events: Event) -> RoundResult:
    """The round during whose solve the events come."""
    opened = core.open_round()
    placement = opened.solve()
    core.apply(events)
    return core.close_round(opened, placement)


def test_a_model_that_had_no_limits_to_state_is_asked_again():
    waiting: list[Event] = [ClassDefined(1, task_class()), TasksSubmitted(1, ("a", "b"))]
    core = scheduler(machine("m"), waiting, overlays=[closing()])
    assert closed_after(core, RecordUpserted(CLOSED, "m", b"x")).deltas == ()
    core = scheduler(machine("m"), waiting, overlays=[closing()])
    assert len(closed_after(core, RecordUpserted(CLOSED, "elsewhere", b"x")).deltas) == 2


def test_nobody_is_evicted_for_a_place_that_a_model_has_closed_meanwhile():
    waiting: list[Event] = [ClassDefined(1, task_class(1000)), TasksSubmitted(1, ("a",), priority=HIGH)]

    def crowded() -> Scheduler:
        return scheduler(machine("m", cpu=1000), waiting, TasksBound("m", 1, ("low",)), overlays=[closing()])

    assert closed_after(crowded(), RecordUpserted(CLOSED, "m", b"x")).deltas == ()
    assert len(closed_after(crowded(), RecordUpserted("other", "m", b"x")).deltas) == 2


def test_a_gang_that_gets_rules_is_decided_anew():
    given, names = racks(a=(2, 2), b=(2, 2)), uids("g", 4)
    members: list[Event] = [ClassDefined(1, task_class(CPU)), TasksSubmitted(1, names, job="g", names=names)]
    core = cluster(machines(given), tree(given), job("g", 4), members)
    assert closed_after(core, rules("g", {"rack": {"hard": True}})).deltas == ()
    assert core.next_round_in() == 0
    assert set(counts(core.run_round())) in ({"a-0", "a-1"}, {"b-0", "b-1"})


def test_tasks_for_which_nobody_has_gone_yet_are_decided_anew_once_their_gang_has_rules():
    given, names = racks(a=(1, 1), b=(1, 1)), uids("g", 2)
    members: list[Event] = [
        ClassDefined(1, task_class(CPU)),
        TasksSubmitted(1, names, job="g", names=names, priority=HIGH),
        TasksBound("a-0", 1, ("low-a",)),
        TasksBound("a-1", 1, ("high-a",), priority=HIGH),
        TasksBound("b-0", 1, ("low-b",)),
        TasksBound("b-1", 1, ("high-b",), priority=HIGH),
    ]
    core = cluster(machines(given), tree(given), job("g", 2), members)
    assert closed_after(core, rules("g", {"rack": {"hard": True}})).deltas == ()
    assert core.run_round().deltas == ()  # on no rack there are two places to win


def test_applications_that_become_known_keep_their_limits():
    zones = {"z1": {"z2": 50}, "z2": {"z1": 50}}
    net = scenes.topology({}, zones)
    records = scenes.records(net, scenes.app_group(["a", "b"], [("a", "b", 10, 0)]))
    model = WeightedModel(load_model("network_overhead", {"strictMaxNetworkCost": True}))
    for known in range(3):
        core = scheduler(
            scenes.machines([("r", "z1"), ("r", "z2")], cpu=500),
            records[:known],
            scenes.running(2, "b", ["n0"]),
            scenes.waiting(1, "a", 1),
            overlays=[model],
        )
        assert closed_after(core, *records[known:]).deltas == ()
