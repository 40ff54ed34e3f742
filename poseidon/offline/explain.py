"""Why a pod may or may not run on each node, and what each model would charge for it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from poseidon.offline.cluster import build
from poseidon.offline.plan import make_plan
from poseidon.pods.tasks import Disposition, disposition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from poseidon.configuration.document import BridgeConfiguration
    from poseidon.manifests.loader import Manifests
    from poseidon.offline.plan import Binding, Plan


class UnknownPodError(LookupError):
    """There is nothing to explain: the pod is not in the input, or has ended. The message says which."""


@dataclass(frozen=True, slots=True)
class Charge:
    """One model's say: its native figure, its 0..100 score (None: it has none), the points it charges, and lines for
    people.
    """

    feasible: bool
    raw: float
    score: float | None
    cost: float
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the pod may use a node, the root cause first if not, and what every model charges."""

    feasible: bool
    reasons: tuple[str, ...]
    cost: float
    models: Mapping[str, Charge]


@dataclass(frozen=True, slots=True)
class PodExplanation:
    """Verdicts by node, in order of names. ``node``: where the pod runs, "" if nowhere.

    ``outlook``: what a round now would not do for a pod that waits, and how far its group is; lines for people.
    """

    pod: str
    node: str
    nodes: Mapping[str, Verdict]
    warnings: tuple[str, ...]
    outlook: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        return {"pod": self.pod, "nodes": {name: _verdict(each) for name, each in self.nodes.items()}}


def explain_pod(
    manifests: Manifests, configuration: BridgeConfiguration, now: float, pod: str
) -> PodExplanation:
    """Explain ``namespace/name``, whoever schedules it; a running pod as if it looked for another place.

    Raises ``UnknownPodError``.
    """
    found = next((each for each in manifests.pods if each.metadata.uid == pod), None)
    if found is None:
        close = difflib.get_close_matches(pod, [each.metadata.uid for each in manifests.pods], n=1)
        remedy = f"did you mean {close[0]}?" if close else "name one as NAMESPACE/NAME"
        raise UnknownPodError(f"pod {pod} is not in the input; {remedy}")
    if disposition(found) is Disposition.FINISHED:
        raise UnknownPodError(f"pod {pod} has ended ({found.status.phase}), so no node is sought for it")
    cluster = build(manifests, configuration, now, forced=pod)
    explanation = cluster.scheduler.explain(pod)
    verdicts = {
        each.machine: Verdict(
            feasible=each.feasible,
            reasons=tuple(each.reasons),
            cost=each.cost,
            models={
                model.model: Charge(
                    feasible=model.feasible,
                    raw=model.raw,
                    score=model.score if model.HasField("score") else None,
                    cost=model.cost,
                    details=tuple(model.details),
                )
                for model in each.models
            },
        )
        for each in explanation.machines
    }
    warnings = (*cluster.warnings, *cluster.scheduler.notes)
    outlook = () if explanation.machine else tuple(_outlook(make_plan(manifests, configuration, now), pod))
    return PodExplanation(pod, explanation.machine, dict(sorted(verdicts.items())), warnings, outlook)


def _outlook(plan: Plan, pod: str) -> Iterator[str]:
    """Say why a pod goes on waiting, or what has to happen first, and how far its group is."""
    for binding in plan.bindings:
        if binding.pod == pod and binding.after:
            yield f"A round now gives it node {binding.node}, once {_conditions(plan, binding)}."
    for pending in plan.pending:
        if pending.pod == pod:
            yield f"A round now leaves it waiting: {pending.reason}"
    for group in plan.groups:
        if pod in group.members:
            placed = sum(map(len, group.placement.values()))
            message = f": {group.message}" if group.message else ""
            state = f"{group.status}, {placed} of {len(group.members)} pods have a node"
            yield f"Its group {group.group} is {state}{message}"


def _conditions(plan: Plan, binding: Binding) -> str:
    """What has to happen before a pod is bound: victims make way, those that it depends on are bound."""
    victims = {each.pod for each in plan.preemptions}
    going = [each for each in binding.after if each in victims]
    leading = [each for each in binding.after if each not in victims]
    return " and ".join(
        f"{', '.join(pods)} {what}" for pods, what in ((going, "made way"), (leading, "got a node")) if pods
    )


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "feasible": verdict.feasible,
        "reasons": list(verdict.reasons),
        "cost": plain(verdict.cost),
        "models": {
            name: {
                "feasible": charge.feasible,
                "raw": plain(charge.raw),
                "score": None if charge.score is None else plain(charge.score),
                "cost": plain(charge.cost),
                **({"details": list(charge.details)} if charge.details else {}),
            }
            for name, charge in verdict.models.items()
        },
    }


def plain(figure: float) -> float:
    """Return a whole figure as an integer, any other one without the noise of its last digits."""
    rounded = round(figure, 6)
    return int(rounded) if rounded.is_integer() else rounded
