"""What counts as taken under cpu_mem: measured use where it is fresh, requests elsewhere."""

from __future__ import annotations

import pytest

from cost_models.interface import ModelArgumentError
from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import ClassDefined, Event, MachineSampled, TasksBound, TasksSubmitted, TaskUses
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import GIB, START, Clock, machine, placed, task_class, tasks, uids

HALF = 2_593.0
"""Half full once a task of an eighth of the cpu and a sixteenth of the memory is there; see the worked example."""

EMPTY = 2_093.0


def core(*events: Event | list[Event], clock: Clock | None = None, **args: object) -> Scheduler:
    made = Scheduler(
        configuration=CoreConfiguration(policy=WeightedModel(load_model("cpu_mem", args))),
        solver=OrToolsSolver(),
        clock=clock or Clock(),
    )
    made.apply([each for event in events for each in (event if isinstance(event, list) else [event])])
    return made


def raw(scheduler: Scheduler) -> dict[str, float]:
    return {each.machine: each.models[0].raw for each in scheduler.explain("t").machines}


def small() -> list[Event]:
    return tasks(1, "t", content=task_class(cpu=500, memory=GIB))


def half_used(name: str, *, age: float = 10.0) -> MachineSampled:
    return MachineSampled(name, START - age, {"cpu": 2_000.0, "memory": 8.0 * GIB})


@pytest.mark.parametrize(
    ("availability", "idle", "busy", "unmeasured"),
    [
        ("auto", EMPTY, HALF, EMPTY),
        ("reservation", EMPTY, EMPTY, EMPTY),
        ("utilisation", EMPTY, HALF, 3_000.0),
    ],
)
def test_costs_follow_what_is_taken(availability: str, idle: float, busy: float, unmeasured: float):
    made = core(
        *(machine(name) for name in ("idle", "busy", "unmeasured")),
        half_used("busy"),
        MachineSampled("idle", START - 10, {"cpu": 0.0, "memory": 0.0}),
        small(),
        availability=availability,
    )
    assert raw(made) == {"idle": idle, "busy": busy, "unmeasured": unmeasured}


def test_auto_is_the_default_and_reports_expire():
    clock = Clock()
    made = core(machine("busy"), half_used("busy"), small(), clock=clock, expirationSeconds=30)
    assert raw(made) == {"busy": HALF}
    clock.advance(19)
    assert raw(made) == {"busy": HALF}
    clock.advance(1)
    assert raw(made) == {"busy": EMPTY}


def test_tasks_that_a_report_cannot_show_yet_count_by_their_requests():
    running = ClassDefined(9, task_class(cpu=2_000, memory=8 * GIB))
    seen = TasksBound("seen", 9, ("old",), assigned=(START - 1_000,))
    unseen = TasksBound("unseen", 9, ("new",), assigned=(START - 15,))
    made = core(
        machine("seen"),
        machine("unseen"),
        running,
        seen,
        unseen,
        *(
            MachineSampled(name, START - 10, {"cpu": 0.0, "memory": 0.0}, interval=10.0)
            for name in ("seen", "unseen")
        ),
        small(),
    )
    assert raw(made) == {"seen": EMPTY, "unseen": HALF}


@pytest.mark.parametrize("overlay", [False, True])
def test_what_a_report_shows_of_such_a_task_does_not_count_twice(overlay: bool):
    running = ClassDefined(9, task_class(cpu=2_000, memory=8 * GIB))
    use = {"cpu": 500.0, "memory": 2.0 * GIB}
    configuration = CoreConfiguration(
        policy=WeightedModel(load_model("cpu_mem", {})),
        overlays=(WeightedModel(load_model("load_threshold", {"usageThresholds": {"cpu": 99}})),)
        if overlay
        else (),
    )

    def half_full_by(used: dict[str, float], shown: TaskUses | None) -> float | None:
        made = Scheduler(configuration=configuration, solver=OrToolsSolver(), clock=Clock())
        new = TasksBound("m", 9, ("new",), assigned=(START - 15,))
        report = MachineSampled("m", START - 10, used, interval=10.0, tasks=shown)
        made.apply([machine("m"), running, new, report, *small()])
        return raw(made)["m"]

    figures = TaskUses(("new",), ("cpu", "memory"), tuple(use.values()))
    assert half_full_by({}, None) == HALF
    assert half_full_by(use, figures) == HALF, "the rest of its request is yet to come"
    more = {"cpu": 2_000.0, "memory": 9.0 * GIB}
    over = TaskUses(("new",), ("cpu", "memory"), tuple(more.values()))
    assert half_full_by({"cpu": 2_000.0, "memory": 8.0 * GIB}, over) == HALF, "nothing is taken off"


def test_tasks_that_may_have_been_there_for_long_are_taken_to_be_in_the_report():
    """A snapshot that does not say when its tasks came: nothing is added to what was measured."""
    running = ClassDefined(9, task_class(cpu=2_000, memory=8 * GIB))
    report = MachineSampled("m", START - 10, {"cpu": 0.0, "memory": 0.0}, interval=10.0)
    assert raw(core(machine("m"), running, TasksBound("m", 9, ("r",)), report, small())) == {"m": EMPTY}


def test_a_burst_is_spread_although_reports_lag():
    made = core(
        *(machine(f"m{index}") for index in range(4)),
        *(MachineSampled(f"m{index}", START - 10, {"cpu": 0.0, "memory": 0.0}) for index in range(4)),
    )
    for wave in range(4):
        made.apply(tasks(1, *uids(f"w{wave}", 4), content=task_class(cpu=500, memory=GIB)))
        assert sorted(placed(made.run_round()).values()) == ["m0", "m1", "m2", "m3"]


def test_fit_stays_by_requests():
    full: list[Event] = [ClassDefined(9, task_class(cpu=4_000)), TasksBound("m", 9, ("running",))]
    made = core(
        machine("m"),
        full,
        MachineSampled("m", START - 10, {"cpu": 0.0, "memory": 0.0}),
        [ClassDefined(1, task_class()), TasksSubmitted(1, ("t",))],
    )
    assert made.run_round().deltas == ()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"availability": "measured"}, "availability is 'measured'; it must be one of auto, utilisation"),
        ({"expirationSeconds": 0}, "expirationSeconds is 0; it must be a number, 1 or more"),
    ],
)
def test_bad_arguments(args: dict[str, object], message: str):
    with pytest.raises(ModelArgumentError, match=message):
        load_model("cpu_mem", args)
