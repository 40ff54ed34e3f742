"""Lets the core place a case, and holds what it did against the checker."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, RoundOptions, WeightedModel
from firmament.core.results import Delta
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.differential.checker import accepting_nodes, broken_rules
from tests.differential.translation import Classes, machines, namespaces
from tests.differential.world import Case, Cluster, Pod, PodSpec
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


def core(case: Case, classes: Classes, *, clock: Clock | None = None, seed: int = 0) -> Scheduler:
    """A scheduler that knows the case's cluster and pods."""
    made = Scheduler(
        configuration=CoreConfiguration(
            policy=WeightedModel(load_model("cpu_mem", {})),
            options=RoundOptions(seed=seed, reserve_after_rounds=NO_RESERVATIONS),
        ),
        solver=OrToolsSolver(),
        clock=clock or Clock(),
    )
    made.apply(
        [
            *namespaces(case.cluster.namespaces),
            *machines(case.cluster.nodes.values()),
            *classes.bound(case.cluster.pods),
            *classes.submitted(case.waiting),
        ]
    )
    return made


def place(case: Case) -> Outcome:
    """One round over the case, checked."""
    deltas = core(case, Classes()).run_round().deltas
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
