"""Why a pod may or may not run on each node, and what each model would charge for it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from poseidon.configuration.document import BridgeConfiguration
from poseidon.explanations import PodExplanation, UnknownPodError, verdicts
from poseidon.manifests.loader import Manifests
from poseidon.offline.audit.findings import Cure
from poseidon.offline.audit.looking import cures_of
from poseidon.offline.cluster import build
from poseidon.offline.evictability import running_pods
from poseidon.offline.movable import WORTH_MOVING
from poseidon.offline.plan import Binding, Plan, make_plan, plan_of
from poseidon.pods.tasks import Disposition, disposition


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
    warnings = (*cluster.warnings, *cluster.scheduler.notes)
    cures: tuple[Cure, ...] = ()
    if explanation.machine:
        plan = make_plan(manifests, configuration, now, move_cost=WORTH_MOVING)
    else:
        plan, cures = _waiting(manifests, configuration, now, pod)
    outlook = (*_outlook(plan, pod), *(f"It would get node {each.node}: {each.text}." for each in cures))
    return PodExplanation(
        pod, explanation.machine, dict(sorted(verdicts(explanation).items())), warnings, outlook
    )


def _waiting(
    manifests: Manifests, configuration: BridgeConfiguration, now: float, pod: str
) -> tuple[Plan, tuple[Cure, ...]]:
    """Return what a round would do with all that wait, and what would give a pod a place if it goes on waiting."""
    cluster = build(manifests, configuration, now)
    known = tuple(cluster.state.snapshot())
    plan = plan_of(cluster, manifests)
    pending = [pod for each in plan.pending if each.pod == pod]
    running = running_pods(cluster, manifests)
    return plan, cures_of(manifests, configuration, now, known, running, plan, pending)


def _outlook(plan: Plan, pod: str) -> Iterator[str]:
    """Say why a pod goes on waiting, or what has to happen first, and how far its group is."""
    for binding in plan.bindings:
        if binding.pod == pod and binding.after:
            yield f"A round now gives it node {binding.node}, once {_conditions(plan, binding)}."
    for pending in plan.pending:
        if pending.pod == pod:
            yield f"A round now leaves it waiting: {pending.reason}"
    for move in plan.migrations:
        if move.pod == pod:
            yield f"A move to node {move.target} would save {move.saves:,.0f} points; poseidon reschedule makes it."
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
