"""Events that arrive between the opening and the closing of a round."""

from __future__ import annotations

from cost_models.registry import load_model
from firmament.core.configuration import WeightedModel
from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    MachineRemoved,
    MachineSampled,
    MachineUpserted,
    RecordRemoved,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job, Machine
from firmament.core.scheduler import Scheduler
from tests.cost_models.numa.builders import asks, machine_events, payload, zone
from tests.cost_models.numa.builders import task_class as aligned
from tests.support.core import START, machine, placed, scheduler, task_class, tasks


def placed_after(core: Scheduler, *events: Event) -> dict[str, str]:
    """What a round still places after ``events`` while it is solved."""
    opened = core.open_round()
    placement = opened.solve()
    core.apply(events)
    return placed(core.close_round(opened, placement))


def test_events_during_a_solve_are_respected():
    core = scheduler(
        machine("gone"),
        machine("cordoned"),
        machine("filled"),
        machine("kept"),
        *(
            tasks(number, name, content=task_class(cpu=4_000, machine=name))
            for number, name in enumerate(("gone", "cordoned", "filled", "kept"), start=1)
        ),
        tasks(9, "deleted", content=task_class(cpu=0)),
    )
    opened = core.open_round()
    placement = opened.solve()
    assert int(placement.assignments.count.sum()) == 5
    core.apply(
        [
            MachineRemoved("gone"),
            machine("cordoned", cordoned=True),
            *tasks(5),
            TasksBound("filled", 5, ("foreign",)),
            TaskRemoved("deleted"),
        ]
    )
    result = core.close_round(opened, placement)
    assert placed(result) == {"kept": "kept"}
    assert core.counts().pending == 3
    assert all(min(state.free.values()) >= 0 for state in core.machine_states())


def test_a_uid_that_returns_as_another_task_during_a_solve_is_not_placed():
    core = scheduler(machine("m"), tasks(1, "t"), tasks(2, content=task_class(cpu=200)))
    opened = core.open_round()
    placement = opened.solve()
    core.apply([TaskRemoved("t"), TasksSubmitted(2, ("t",))])
    assert placed(core.close_round(opened, placement)) == {}
    assert placed(core.run_round()) == {"t": "m"}


def test_a_task_that_changed_class_during_a_solve_is_tried_again():
    core = scheduler(machine("m", cpu=500), tasks(1, "t", content=task_class(cpu=1_000)), tasks(2))
    opened = core.open_round()
    placement = opened.solve()
    core.apply([TasksSubmitted(2, ("t",))])
    assert placed(core.close_round(opened, placement)) == {}
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"t": "m"}


def test_a_machine_that_appears_during_a_solve_wakes_what_found_no_place():
    core = scheduler(machine("m", cpu=50), tasks(1, "t"))
    opened = core.open_round()
    placement = opened.solve()
    core.apply([machine("n")])
    core.close_round(opened, placement)
    assert core.next_round_in() == 0.0
    assert placed(core.run_round()) == {"t": "n"}


def test_rows_that_moved_during_a_solve_do_not_mislead_it():
    names = [f"m{index}" for index in range(4)]
    core = scheduler(
        *(machine(name) for name in names),
        *(tasks(n, f"t-{name}", content=task_class(machine=name)) for n, name in enumerate(names, start=1)),
    )
    opened = core.open_round()
    placement = opened.solve()
    core.apply([MachineRemoved("m0")])
    assert placed(core.close_round(opened, placement)) == {"t-m1": "m1", "t-m2": "m2", "t-m3": "m3"}


def with_bandwidth(amount: int) -> MachineUpserted:
    machine = Machine(
        "m",
        {"cpu": 8_000, "memory": 2**34, "pods": 10},
        annotations={"firmament.io/network-bandwidth": str(amount)},
    )
    return MachineUpserted(machine)


def test_bandwidth_that_others_took_during_a_solve_is_not_given_away():
    wants = task_class(labels=(("networkRequirement", "400"),))
    core = scheduler(with_bandwidth(1_000), tasks(1, "a", "b", content=wants), policy="net")
    assert placed_after(core, TasksBound("m", 1, ("foreign",))) == {"a": "m"}


def test_bandwidth_that_a_machine_lost_during_a_solve_is_not_given_away():
    wants = task_class(labels=(("networkRequirement", "400"),))
    core = scheduler(with_bandwidth(1_000), tasks(1, "a", "b", content=wants), policy="net")
    assert placed_after(core, with_bandwidth(500)) == {"a": "m"}
    assert placed(core.run_round()) == {}


def test_a_gang_that_no_longer_has_bandwidth_for_all_is_not_placed_at_all():
    wants = task_class(labels=(("networkRequirement", "400"),))
    core = scheduler(
        with_bandwidth(1_000),
        ClassDefined(1, wants),
        JobDefined(Job("g", min_members=2)),
        TasksSubmitted(1, ("a", "b"), job="g"),
        policy="net",
    )
    assert placed_after(core, TasksBound("m", 1, ("foreign",))) == {}


def under_half() -> list[WeightedModel]:
    return [WeightedModel(load_model("load_threshold", {"usageThresholds": {"cpu": 50}}))]


def test_a_threshold_holds_for_what_others_brought_during_a_solve():
    core = scheduler(machine("m"), tasks(1, "a", content=task_class(cpu=1_000)), overlays=under_half())
    core.apply([MachineSampled("m", START, {"cpu": 0.0}), ClassDefined(2, task_class(cpu=2_000))])
    assert placed_after(core, TasksBound("m", 2, ("foreign",), assigned=(START,))) == {}


def test_a_threshold_that_others_exceed_meanwhile_holds_for_who_takes_nothing_of_the_resource():
    thresholds = {"usageThresholds": {"memory": 50}, "estimatedScalingFactors": {"memory": 100}}
    model = WeightedModel(load_model("load_threshold", thresholds))
    free = task_class(cpu=1_000, service_class="koord-free")
    half = task_class(cpu=100, memory=2**33, limits=(("memory", 2**33),))
    core = scheduler(machine("m", memory=2**34), tasks(1, "a", content=free), overlays=[model])
    core.apply([MachineSampled("m", START, {"memory": 0.0}), ClassDefined(2, half)])
    assert placed_after(core, TasksBound("m", 2, ("foreign",), assigned=(START,))) == {}
    core = scheduler(machine("m", memory=2**34), tasks(1, "a", content=free), overlays=[model])
    core.apply([MachineSampled("m", START, {"memory": 0.0})])
    assert placed_after(core, machine("n", memory=2**34)) == {"a": "m"}


def test_a_report_of_use_alone_overturns_no_decision():
    core = scheduler(machine("m"), tasks(1, "a", content=task_class(cpu=1_000)), overlays=under_half())
    core.apply([MachineSampled("m", START, {"cpu": 0.0})])
    assert placed_after(core, MachineSampled("m", START, {"cpu": 4_000.0})) == {"a": "m"}


def test_a_machine_whose_zones_are_no_longer_known_is_left_alone():
    record = payload(zone(0, {"cpu": 8_000, "memory": 2**34}))
    core = scheduler(
        machine_events("m", record, cpu=8_000, memory=2**34),
        tasks(1, "a", content=aligned(asks("c", cpu=1_000, memory=2**30))),
        overlays=[WeightedModel(load_model("numa_fit", {"missingTopology": "refuse"}))],
    )
    assert placed_after(core, RecordRemoved("NodeResourceTopology", "m")) == {}
