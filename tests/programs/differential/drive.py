"""Lets the core place a case, and holds what it did against the checker."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, RoundOptions, WeightedModel
from firmament.core.flow.column_generation import GenerationOptions
from firmament.core.placement.outcome import PassOptions
from firmament.core.results import Delta
from firmament.core.scheduler import Scheduler
from firmament.solvers.base import FlowProblem, FlowSolution, SolverTimeoutError
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.programs.differential.checker import accepting_nodes, broken_rules
from tests.programs.differential.translation import Classes, machines, namespaces
from tests.programs.differential.world import Case, Cluster, Pod, PodSpec
from tests.support.core import Clock

NO_RESERVATIONS = 1_000_000
"""Rounds that a task must wait before a machine is reserved for it: reservations are no rule of Kubernetes."""


@dataclass(frozen=True)
class Outcome:
    """``faults``: lines about placements that break a rule; ``left``: about pods that wait although some node would
    accept them; ``cluster``, ``pending``: after the round; ``order``: placements (uid, node).
    """

    faults: tuple[str, ...]
    left: tuple[str, ...]
    cluster: Cluster
    pending: dict[str, PodSpec]
    order: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Manner:
    """How the core goes about it. ``fails_each``: every so many solves run out of time, 0 for none; ``priorities``:
    specs have one of so many priorities, by their names.
    """

    policy: str = "cpu_mem"
    passes: PassOptions = field(default_factory=PassOptions)
    seed: int = 0
    fails_each: int = 0
    priorities: int = 1

    def priority_of(self, spec: PodSpec) -> int:
        """The priority of a spec's pods."""
        return sum(map(ord, spec.name)) % self.priorities


MANNERS = {
    "usual": Manner(),
    "another order": Manner(seed=3),
    "spreading": Manner("octopus"),
    "indifferent": Manner("trivial"),
    "three priorities": Manner(priorities=3),
    "columns at a time": Manner(passes=PassOptions(generation=GenerationOptions(whole=0))),
    "few passes": Manner(passes=PassOptions(max_passes=1, max_waves=1)),
    "out of time": Manner(fails_each=1),
    "at times out of time": Manner(fails_each=3, priorities=2),
}


class ImpatientSolver:
    """OR-Tools, of which every ``fails_each``-th solve runs out of time."""

    def __init__(self, fails_each: int) -> None:
        self._inner = OrToolsSolver()
        self._fails_each = fails_each
        self._solves = 0

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        """As `Solver`."""
        self._solves += 1
        if self._solves % self._fails_each == 0:
            raise SolverTimeoutError("out of time")
        return self._inner.solve(problem, time_limit=time_limit)


def core(
    case: Case, classes: Classes, *, clock: Clock | None = None, manner: Manner | None = None
) -> Scheduler:
    """A scheduler that knows the case's cluster and pods."""
    manner = manner or Manner()
    made = Scheduler(
        configuration=CoreConfiguration(
            policy=WeightedModel(load_model(manner.policy, {})),
            options=RoundOptions(
                passes=manner.passes,
                seed=manner.seed,
                reserve_after_rounds=NO_RESERVATIONS,
                preemption=False,  # the rivals and the checker know of no evictions
            ),
        ),
        solver=ImpatientSolver(manner.fails_each) if manner.fails_each else OrToolsSolver(),
        clock=clock or Clock(),
    )
    made.apply(
        [
            *namespaces(case.cluster.namespaces),
            *machines(case.cluster.nodes.values()),
            *classes.bound(case.cluster.pods),
            *classes.submitted(case.waiting, manner.priority_of),
        ]
    )
    return made


def place(case: Case, manner: Manner | None = None) -> Outcome:
    """One round over the case, checked."""
    deltas = core(case, Classes(), manner=manner).run_round().deltas
    return check(case.cluster, case.waiting, deltas)


def check(
    cluster: Cluster,
    waiting: dict[str, PodSpec],
    deltas: Iterable[Delta],
    resting: Collection[str] = (),
) -> Outcome:
    """Hold placements against the checker in their order, each added before the next, then what stays pending.

    ``resting``: pods that need not be tried now.
    """
    after, pending = cluster.copy(), dict(waiting)
    faults: list[str] = []
    order = []
    for delta in deltas:
        spec = pending.pop(delta.uid, None)
        if spec is None:
            faults.append(f"{delta.uid}: placed, but it does not wait")
            continue
        if delta.machine not in after.nodes:
            faults.append(f"{delta.uid}: placed on {delta.machine}, which is not there")
            continue
        broken = broken_rules(after, spec, delta.machine)
        if broken:
            faults.append(
                f"{delta.uid} on {delta.machine}: breaks {', '.join(rule.value for rule in broken)}"
            )
        after.pods[delta.uid] = Pod(spec, delta.machine)
        order.append((delta.uid, delta.machine))
    left = left_behind(after, {uid: spec for uid, spec in pending.items() if uid not in resting})
    return Outcome(tuple(faults), tuple(left), after, pending, tuple(order))


def left_behind(cluster: Cluster, pending: dict[str, PodSpec]) -> list[str]:
    """Lines about pods that wait although some node would accept them; one per spec."""
    lines = []
    first = {spec.name: (uid, spec) for uid, spec in reversed(pending.items())}
    for uid, spec in first.values():
        nodes = accepting_nodes(cluster, spec)
        if nodes:
            lines.append(f"{uid}: left behind, {nodes[0]} and {len(nodes) - 1} more would accept it")
    return lines
