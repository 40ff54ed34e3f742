"""A scheduler and the oracle's cluster side by side, driven by the same steps and compared after each."""

from __future__ import annotations

from cost_models.interface import CostModel
from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, RoundOptions, WeightedModel
from firmament.core.events import BindingReport, Event
from firmament.core.results import RoundResult
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.oracle.cluster import ASSUMED, OracleCluster
from tests.support.histories.strategies import (
    UIDS,
    Advance,
    Apply,
    Happening,
    History,
    Report,
    Round,
    Step,
    definitions,
)

NO_RESERVATIONS = RoundOptions(reserve_after_rounds=10**9)


def make_scheduler(
    *,
    clock=lambda: 0.0,
    policy: CostModel | str = "cpu_mem",
    overlays=(),
    options: RoundOptions | None = None,
) -> Scheduler:
    """A scheduler with the in-process solver; by default time stands still."""
    model = load_model(policy, {}) if isinstance(policy, str) else policy
    configuration = CoreConfiguration(
        policy=WeightedModel(model),
        overlays=tuple(WeightedModel(overlay) for overlay in overlays),
        options=options or RoundOptions(),
    )
    return Scheduler(configuration=configuration, solver=OrToolsSolver(), clock=clock)


class Pair:
    """Feeds both; every method leaves them compared."""

    def __init__(self, options: RoundOptions | None = None, policy: str = "cpu_mem") -> None:
        self.now = 1000.0
        self.oracle = OracleCluster()
        self.scheduler = make_scheduler(clock=lambda: self.now, policy=policy, options=options)

    def run(self, history: History) -> None:
        """Define the classes, then take every step."""
        self.step(definitions(history.classes))
        for step in history.steps:
            self.step(step)

    def step(self, step: Step) -> None:
        """Take one step."""
        match step:
            case Round(meanwhile):
                self.round(meanwhile)
            case _:
                self._happen(step)
        self.compare()

    def apply(self, *events: Event) -> None:
        """Apply a batch of events."""
        self.step(Apply(events))

    def round(self, meanwhile: tuple[Happening, ...] = ()) -> RoundResult:
        """Open, solve and close a round, with steps in between; its placements are checked by the oracle."""
        opened_at = self.now
        opened = self.scheduler.open_round()
        placement = opened.solve()
        for happening in meanwhile:
            self._happen(happening)
        result = self.scheduler.close_round(opened, placement)
        self.oracle.place(result.deltas, opened_at, quiet=not meanwhile)
        self.compare()
        return result

    def settle(self) -> list[RoundResult]:
        """Run rounds while there is work that could succeed now; the last one included."""
        results = []
        while self.scheduler.next_round_in() == 0:
            results.append(self.round())
            assert len(results) <= len(self.oracle.tasks) + 1, "rounds go on without end"
        assert self.oracle.needless() == []
        return results

    def compare(self) -> None:
        """Check that the scheduler's lists say what the oracle knows; `conftest` has its own books checked."""
        tasks = {state.uid: (state.state, state.machine) for state in self.scheduler.task_states()}
        known = {uid: (self.oracle.state(uid, self.now), t.machine) for uid, t in self.oracle.tasks.items()}
        assert tasks == known
        machines = {state.name: state for state in self.scheduler.machine_states()}
        # What no machine names is not kept per machine, whoever asks for it.
        named = {resource for machine in self.oracle.machines.values() for resource in machine.allocatable}
        assert machines.keys() == self.oracle.machines.keys()
        for name, state in machines.items():
            free = self.oracle.free(name)
            assert {r: n for r, n in state.free.items() if n and r in named} == {
                r: n for r, n in free.items() if n and r in named
            }
            assert state.tasks == sum(task.machine == name for task in self.oracle.tasks.values())

    def _happen(self, happening: Happening) -> None:
        match happening:
            case Apply(events):
                self.scheduler.apply(events)
                for event in events:
                    self.oracle.apply(event)
            case Report():
                report = self._report(happening)
                self.scheduler.report([report])
                self.oracle.report(report, self.now)
            case Advance(seconds):
                self.now += seconds

    def _report(self, report: Report) -> BindingReport:
        assumed = sorted(uid for uid, task in self.oracle.tasks.items() if task.state == ASSUMED)
        if report.about_assumed and assumed:
            uid = assumed[report.choice % len(assumed)]
            machine = self.oracle.tasks[uid].machine
        else:
            uid, machine = UIDS[report.choice % len(UIDS)], "m0"
        return BindingReport(uid, machine, bound=report.bound, retry=report.retry)
