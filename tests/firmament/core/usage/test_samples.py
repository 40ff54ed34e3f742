"""Reports of use as the core keeps them, and as models that ask are shown them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from cost_models.interface import Load, MachineColumns, Needs
from firmament.core.configuration import WeightedModel
from firmament.core.events import (
    BindingReport,
    Event,
    MachineRemoved,
    MachineSampled,
    MachineSampleRemoved,
    TaskRemoved,
    TaskSampled,
    TasksBound,
    TaskUses,
    WindowUse,
)
from firmament.core.scheduler import Scheduler
from firmament.core.usage.samples import MOST_WINDOWS
from tests.support.core import START, Clock, machine, placed, scheduler, task_class, tasks, uids
from tests.support.models import NEEDS, Stated, indifferent

CLASS = task_class(cpu=10)


@dataclass
class Measuring(Stated):
    """A model that asks for use in detail."""

    needs: Needs = field(default_factory=lambda: replace(NEEDS, load=True))


class Watched:
    """A scheduler, and what its model was shown last."""

    def __init__(self, *events: Event | list[Event], clock: Clock | None = None) -> None:
        self._model = Measuring(indifferent)
        self.clock = clock or Clock()
        self.core: Scheduler = scheduler(*events, overlays=[WeightedModel(self._model)], clock=self.clock)

    def columns(self) -> MachineColumns:
        """What the model is shown when a new task is explained."""
        self.core.apply(tasks(99, "asking", content=CLASS))
        self.core.explain("asking")
        self.core.apply([TaskRemoved("asking")])
        return self._model.seen[-1][0]

    def load(self) -> Load:
        found = self.columns().load
        assert found is not None
        return found

    def assigned(self) -> dict[str, list[tuple[bool, float, bool]]]:
        """By machine: reported, cpu, prod of the tasks on it."""
        columns = self.columns()
        assert columns.load is not None
        found: dict[str, list[tuple[bool, float, bool]]] = {}
        tasks_ = columns.load.assigned
        cpu = columns.column("cpu")
        for row, reported, use, prod in zip(
            tasks_.machine.tolist(),
            tasks_.reported.tolist(),
            tasks_.usage[:, cpu].tolist(),
            tasks_.prod.tolist(),
            strict=True,
        ):
            found.setdefault(columns.names[row], []).append((reported, use, prod))
        return found


def bound(
    name: str, *names: str, assigned: tuple[float, ...] = (), initialized: tuple[float, ...] = ()
) -> list[Event]:
    event = TasksBound(name, 1, names, assigned=assigned, initialized=initialized)
    return [*tasks(1, content=CLASS)[:1], event]


def report(name: str, time: float = START, **uses: float) -> MachineSampled:
    """A report about a machine and the cpu of its tasks."""
    return MachineSampled(
        name, time, {"cpu": 100.0}, tasks=TaskUses(tuple(uses), ("cpu",), tuple(uses.values()))
    )


def test_use_of_tasks_counts_while_it_belongs_to_the_machine_s_last_report():
    made = Watched(machine("m"), bound("m", "a", "b"), report("m", a=7.0, b=8.0, unknown=9.0))
    assert made.assigned() == {"m": [(True, 7.0, True), (True, 8.0, True)]}
    made.core.apply([report("m", START + 1, b=5.0)])
    assert made.assigned() == {"m": [(False, 0.0, True), (True, 5.0, True)]}
    made.core.apply([report("m", START - 1, a=1.0)])  # late: ignored as a whole
    assert made.assigned() == {"m": [(False, 0.0, True), (True, 5.0, True)]}


def test_single_tasks_are_sampled_beside_the_last_report():
    made = Watched(machine("m"), bound("m", "a"), TaskSampled("a", START, {"cpu": 3.0}))
    assert made.assigned() == {"m": [(False, 0.0, True)]}  # nothing is known of the machine yet
    made.core.apply(
        [report("m"), TaskSampled("a", START, {"cpu": 3.0}), TaskSampled("?", START, {"cpu": 1.0})]
    )
    assert made.assigned() == {"m": [(True, 3.0, True)]}


def test_figures_do_not_follow_a_task_to_another_machine():
    made = Watched(machine("m"), machine("n"), bound("m", "a"), report("m", a=7.0), report("n"))
    made.core.apply([TasksBound("n", 1, ("a",))])
    assert made.assigned() == {"n": [(False, 0.0, True)]}


def test_figures_do_not_pass_to_a_task_that_takes_the_row():
    made = Watched(machine("m"), bound("m", "a"), report("m", a=7.0))
    made.core.apply([TaskRemoved("a"), TasksBound("m", 1, ("b",))])
    assert made.assigned() == {"m": [(False, 0.0, True)]}


def test_figures_follow_a_machine_whose_row_moves():
    made = Watched(machine("m"), machine("n"), bound("n", "a"), report("m"), report("n", START + 5, a=7.0))
    made.core.apply([MachineRemoved("m")])
    assert made.assigned() == {"n": [(True, 7.0, True)]}
    columns = made.columns()
    assert columns.usage_time.tolist() == [START + 5]
    made.core.apply([machine("m")])
    assert np.isnan(made.columns().usage_time[1])
    assert made.load().reported.tolist() == [True, False]


def test_what_the_source_says_of_classes_is_kept():
    uses = TaskUses(("a", "b"), ("cpu",), (1.0, 2.0), (True, False))
    made = Watched(machine("m"), bound("m", "a", "b"), MachineSampled("m", START, {}, tasks=uses))
    assert made.assigned() == {"m": [(True, 1.0, True), (True, 2.0, False)]}


def test_a_source_without_figures_is_told_from_none():
    made = Watched(
        machine("m"),
        machine("n"),
        MachineSampled("m", START, {}, no_usage=True, interval=30, system={"cpu": 2.0}),
    )
    columns = made.columns()
    assert columns.load is not None
    assert columns.load.reported.tolist() == [True, False]
    assert columns.load.interval.tolist() == [30.0, 0.0]
    assert columns.load.system[:, columns.column("cpu")].tolist() == [2.0, 0.0]
    assert np.isnan(columns.usage).all()
    made.core.apply([MachineSampleRemoved("m"), MachineSampleRemoved("unknown")])
    assert made.load().reported.tolist() == [False, False]


def test_times_of_tasks():
    """Given by the driver; else when the task was placed, or heard of."""
    clock = Clock()
    made = Watched(
        machine("m"),
        bound("m", "dated", "undated", assigned=(START - 50, 0.0), initialized=(START - 40, 0.0)),
        tasks(2, "waiting", content=CLASS),
        clock=clock,
    )
    clock.advance(3)
    made.core.run_round()
    clock.advance(4)
    assigned = made.load().assigned
    assert assigned.time.tolist() == [START - 50, START, START + 3]
    assert assigned.initialized.tolist()[0] == START - 40
    assert np.isnan(assigned.initialized[1:]).all()
    made.core.report([BindingReport("waiting", "m", bound=True)])
    made.core.apply([TasksBound("m", 2, ("waiting",), assigned=(START + 5,), initialized=(START + 6,))])
    assigned = made.load().assigned
    assert (assigned.time[2], assigned.initialized[2]) == (START + 5, START + 6)


# --- periods ---------------------------------------------------------------------------------------------------------


def test_periods_come_from_a_source_that_aggregates():
    windows = (
        WindowUse("p95", 300.0, {"cpu": 5.0}),
        WindowUse("p95", 600.0, {"cpu": 6.0}),
        WindowUse("avg", 600.0, {}),
    )
    made = Watched(
        machine("m"),
        machine("n"),
        MachineSampled("m", START, {"cpu": 1.0}, windows=windows, own_windows=True),
        MachineSampled("n", START, {"cpu": 1.0}, own_windows=True),
    )
    ask = made.load().windows.usage
    assert ask("p95", 300)[0, 1] == 5.0
    assert ask("p95", 0)[0, 1] == 6.0
    assert np.isnan(ask("p95", 1200)).all()
    assert np.isnan(ask("avg", 0)).all()  # a type without figures is none
    assert np.isnan(ask("p95", 300)[1]).all()
    made.core.apply([MachineSampled("m", START + 1, {"cpu": 1.0}, own_windows=True)])
    assert np.isnan(made.load().windows.usage("p95", 0)).all()


def test_no_more_periods_are_kept_than_sources_can_mean():
    def sampled(name: str, first: int, count: int) -> MachineSampled:
        windows = tuple(WindowUse("avg", float(first + each), {"cpu": 1.0}) for each in range(count))
        return MachineSampled(name, START, {"cpu": 1.0}, windows=windows, own_windows=True)

    made = Watched(machine("m"), machine("n"), sampled("m", 1, 2 * MOST_WINDOWS), sampled("n", 1_000, 1))
    ask = made.load().windows.usage
    assert ask("avg", MOST_WINDOWS)[0, 1] == 1.0
    assert np.isnan(ask("avg", MOST_WINDOWS + 1)).all()
    assert np.isnan(ask("avg", 1_000)).all()
    made.core.apply([sampled("m", 1, 1), sampled("n", 1_000, 1)])
    assert made.load().windows.usage("avg", 1_000)[1, 1] == 1.0  # those that are gone have made room


def test_periods_of_other_sources_come_from_what_was_sampled():
    made = Watched(machine("m"))
    for step in range(40):
        made.core.apply([MachineSampled("m", START + 15 * step, {"cpu": float(step)})])
    ask = made.load().windows.usage
    last_five_minutes = list(range(20, 40))
    assert ask("avg", 300)[0, 1] == np.mean(last_five_minutes)
    assert ask("std", 300)[0, 1] == pytest.approx(np.std(last_five_minutes))
    assert ask("p90", 300)[0, 1] == 37.0  # the 18th of 20
    assert ask("p50", 0)[0, 1] == 19.0  # the 20th of 40
    assert np.isnan(ask("p42", 300)).all()


# --- what reports cause ----------------------------------------------------------------------------------------------


def test_reports_alone_do_not_put_decisions_in_doubt():
    """A round's placements are checked again only after events that some rule looks at."""
    made = Watched(machine("m"), tasks(1, *uids("t", 3), content=CLASS))
    opened = made.core.open_round()
    placement = opened.solve()
    made.core.apply([report("m", x=1.0), TaskSampled("t-0", START, {"cpu": 1.0})])
    assert len(placed(made.core.close_round(opened, placement))) == 3


def test_reports_wake_sleeping_tasks_at_most_once_a_second():
    refused = np.array([[False]])
    clock = Clock()

    def full(machines: MachineColumns, shapes: object) -> object:
        answer = indifferent(machines, shapes)  # type: ignore[arg-type]
        return type(answer)(raw=answer.raw, feasible=refused.copy(), reason="node(s) busy")

    model = Stated(full)  # type: ignore[arg-type]
    core = scheduler(machine("m"), tasks(1, "t"), overlays=[WeightedModel(model)], clock=clock)
    core.run_round()
    assert core.next_round_in() is None
    core.apply([report("m", START + 1)])
    assert core.next_round_in() == 0.0
    core.run_round()
    clock.advance(0.25)
    core.apply([report("m", START + 2)])
    assert core.next_round_in() == 0.75
    clock.advance(0.75)
    assert core.next_round_in() == 0.0
    core.run_round()
    assert core.next_round_in() is None


@pytest.mark.parametrize(("policy", "kept"), [("trivial", False), ("cpu_mem", True)])
def test_figures_of_tasks_are_kept_if_some_model_looks(policy: str, kept: bool):
    core = scheduler(machine("m"), bound("m", "a"), report("m", a=7.0), policy=policy)
    assert bool(core._cluster.task_samples.stamp(np.array([0])).any()) == kept
    core.apply([TaskSampled("a", START, {"cpu": 1.0})])
    assert bool(core._cluster.task_samples.stamp(np.array([0])).any()) == kept
