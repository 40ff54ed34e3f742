"""Watches another scheduler, and asks the running solver on which nodes the pods that it binds would cost less.

The module places no pod and writes nothing. A solver judges a running pod as if the pod were waiting. The solver is
therefore asked about each pod right after the binding, one pod at a time. The savings of placing several pods jointly
remain unknown.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from poseidon.explanations import Verdict, read_verdicts
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.live.solver import NoAnswerError, explain_task
from protos.conventions.tls import TlsFiles

_KNOWN_WITHIN = 20.0
"""Seconds within which the solver must have learnt of a pod that was bound."""
_RETRY = 0.25
_MOST_WAITING = 1000
EPSILON = 1e-6


class Observation(NamedTuple):
    """A pod that another scheduler has bound, compared with the solver's choice.

    Costs are sums over all cost models, in points.
    """

    pod: str
    """Name of the pod, ``namespace/name``."""
    node: str
    """The node to which the pod was bound."""
    best: str
    """The cheapest node at that time, "" if the pod could use no node."""
    cost: float
    """Cost of the pod on ``node``, in points."""
    best_cost: float
    """Cost of the pod on ``best``, in points."""
    models: Mapping[str, tuple[float, float]]
    """The costs on ``node`` and on ``best``, by cost model."""
    reasons: tuple[str, ...]
    """Why the solver would not have used ``node``; empty if the solver could have used it."""

    @property
    def saving(self) -> float:
        """Points by which ``best`` would have cost less.

        The saving is 0 if ``node`` was as good, or if the solver refuses ``node``.
        """
        if self.reasons or not self.best:
            return 0.0
        return max(self.cost - self.best_cost, 0.0)


def compare_with_cheapest(pod: str, node: str, found: Mapping[str, Verdict]) -> Observation | None:
    """Compare a pod's ``node`` with the cheapest node of the verdicts.

    The result is None if the solver does not know ``node``. Of several cheapest nodes, ``node`` itself is preferred,
    then the first by name.
    """
    there = found.get(node)
    if there is None:
        return None
    feasible = {name: each for name, each in found.items() if each.feasible}
    best = min(feasible, key=lambda name: (feasible[name].cost, name != node, name), default="")
    chosen = found.get(best, there)
    models = {name: (charge.cost, chosen.models[name].cost) for name, charge in there.models.items()}
    return Observation(
        pod, node, best, there.cost, chosen.cost, models, () if there.feasible else there.reasons
    )


@dataclass(slots=True)
class Report:
    """Numbers of pods: those ``bound``, those ``observed`` (compared), and those ``unknown`` to the solver."""

    bound: int = 0
    observed: list[Observation] = field(default_factory=list)
    unknown: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the report as the JSON object that the documents describe."""
        elsewhere = [each for each in self.observed if each.saving > EPSILON]
        against = [each for each in self.observed if each.reasons]
        return {
            "bound": self.bound,
            "asked": len(self.observed),
            "unknown": self.unknown,
            "asGood": len(self.observed) - len(elsewhere) - len(against),
            "cheaperElsewhere": len(elsewhere),
            "wouldNotHaveBeenPlacedThere": len(against),
            "saving": sum(each.saving for each in elsewhere),
            "savingByModel": sum_savings_by_model(elsewhere),
            "pods": [
                _as_json(each) for each in sorted(self.observed, key=lambda each: (-each.saving, each.pod))
            ],
        }


def sum_savings_by_model(observed: Iterable[Observation]) -> dict[str, float]:
    """Return, by cost model, the points that the cheapest nodes would have saved; negative if they cost more there."""
    found: dict[str, float] = {}
    for each in observed:
        for name, (there, best) in each.models.items():
            found[name] = found.get(name, 0.0) + there - best
    return found


def _as_json(each: Observation) -> dict[str, Any]:
    return {
        "pod": each.pod,
        "node": each.node,
        "cheapest": each.best,
        "cost": each.cost,
        "cheapestCost": each.best_cost,
        "saving": each.saving,
        "reasons": list(each.reasons),
    }


class Shadow:
    """Watches pods of other schedulers, and asks the solver about each pod that gets a node.

    ``names`` are the values of ``spec.schedulerName`` of the pods to watch. ``rate`` is the largest number of
    questions per second. If more pods wait for their question, only the latest thousand are kept.
    """

    def __init__(
        self,
        targets: Sequence[str],
        cluster: str,
        names: frozenset[str],
        rate: float,
        tls: TlsFiles | None = None,
        report: Callable[[Observation], None] = lambda _: None,
    ) -> None:
        self._targets, self._cluster, self._tls = targets, cluster, tls
        self._names, self._pause, self._report = names, 1.0 / rate, report
        self._unbound: set[str] = set()
        self._waiting: deque[Pod] = deque(maxlen=_MOST_WAITING)
        self._came = asyncio.Event()
        self.report = Report()

    def take_changes(self, changes: Sequence[Change[Pod]]) -> None:
        """Record changed pods; if a pod that was seen without a node has got one, queue it for a question."""
        for uid, pod in changes:
            if pod is None:
                self._unbound.discard(uid)
            elif pod.spec.scheduler_name in self._names:
                self._take_pod(pod)

    def _take_pod(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        if not pod.spec.node_name:
            self._unbound.add(uid)
        elif uid in self._unbound:
            self._unbound.discard(uid)
            self.report.bound += 1
            self._waiting.append(pod)
            self._came.set()

    async def run(self) -> None:
        """Ask about bound pods until cancelled.

        Raises ``TlsError``, or ``NoAnswerError`` if no solver answers at the start.

        If no solver answers later, the pods concerned count as unknown.
        """
        await explain_task(self._targets, self._cluster, "", _KNOWN_WITHIN, self._tls)
        while True:
            await self._came.wait()
            self._came.clear()
            while self._waiting:
                await self._ask(self._waiting.popleft())
                await asyncio.sleep(self._pause)

    async def _ask(self, pod: Pod) -> None:
        name = f"{pod.metadata.namespace}/{pod.metadata.name}"
        found = None
        loop = asyncio.get_running_loop()
        until = loop.time() + _KNOWN_WITHIN
        while loop.time() < until:
            explanation = None
            with suppress(NoAnswerError):  # The solver may be restarting.
                explanation = await explain_task(
                    self._targets, self._cluster, pod.metadata.uid, _KNOWN_WITHIN, self._tls
                )
            if explanation is not None and explanation.machine == pod.spec.node_name:
                found = compare_with_cheapest(name, pod.spec.node_name, read_verdicts(explanation))
                break
            await asyncio.sleep(_RETRY)
        if found is None:
            self.report.unknown += 1
            return
        self.report.observed.append(found)
        self._report(found)
