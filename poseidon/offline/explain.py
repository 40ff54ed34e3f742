"""Explains whether a pod may run on each node and why, what cost models charge, and what a round decides."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from poseidon.configuration.document import BridgeConfiguration
from poseidon.explanations import (
    PodDecision,
    PodExplanation,
    PodOutcome,
    Remedy,
    UnknownPodError,
    read_verdicts,
)
from poseidon.group_trees.status.placement import pods_of
from poseidon.kube.api.pods import Pod
from poseidon.manifests.loader import Manifests
from poseidon.offline.audit.findings import Cure
from poseidon.offline.audit.make_audit import find_cures_of_pods
from poseidon.offline.cluster import build_offline_cluster
from poseidon.offline.evictability import list_running_pods
from poseidon.offline.move_costs import WORTH_MOVING, find_migrations
from poseidon.offline.plan import Plan, schedule_pods
from poseidon.offline.planned_groups import PlannedGroup
from poseidon.pods.scheduling_gates import describe_gates
from poseidon.pods.tasks import Disposition, classify_pod
from protos.conventions.number_formats import format_count


def explain_pod(
    manifests: Manifests, configuration: BridgeConfiguration, now: float, pod: str
) -> PodExplanation:
    """Explain the pod ``namespace/name`` of any scheduler; a pod that runs is explained as if it were pending.

    Nodes are shown as they are after a round that has placed the other pods. Raises ``UnknownPodError`` if the input
    has no pod of this name.
    """
    pods = {each.metadata.uid: each for each in (*manifests.pods, *manifests.suspended)}
    found = pods.get(pod)
    if found is None:
        close = difflib.get_close_matches(pod, pods, n=1)
        remedy = f"did you mean {close[0]}?" if close else "name one as NAMESPACE/NAME"
        raise UnknownPodError(f"pod {pod} is not in the input; {remedy}")
    if classify_pod(found) is Disposition.FINISHED:
        raise UnknownPodError(f"pod {pod} has ended ({found.status.phase}), so no node is sought for it")
    cluster = build_offline_cluster(manifests, configuration, now)
    if pod not in cluster.pods:
        remedy = "to include it, set queues.source in the configuration to the project whose queues resume it"
        raise UnknownPodError(f"pod {pod} would be created by a suspended object; {remedy}")
    known = tuple(cluster.state.snapshot())
    plan = schedule_pods(cluster, manifests)
    cluster.consider(pod)
    try:
        explanation = cluster.scheduler.explain(pod)
    except KeyError:
        raise UnknownPodError(f"pod {pod} is not taken by the solver; see the warnings of `plan`") from None
    nodes = dict(sorted(read_verdicts(explanation).items()))
    runs_on = found.spec.node_name if cluster.runs(pod) else ""
    decision = _find_decision(plan, found, runs_on)
    waits = [pod] if decision.outcome is PodOutcome.WAITS else []
    running = list_running_pods(cluster, manifests)
    cures = find_cures_of_pods(manifests, configuration, now, known, running, plan, waits)
    if runs_on:
        leaving = {each.pod for each in plan.preemptions}
        moves, faults = find_migrations(cluster, manifests, leaving, WORTH_MOVING)
        plan = replace(plan, migrations=moves, warnings=(*plan.warnings, *faults))
    return PodExplanation(
        pod,
        runs_on,
        nodes,
        tuple(dict.fromkeys((*plan.warnings, *cluster.scheduler.notes))),
        tuple(_describe_outlook(plan, pod)),
        decision,
        tuple(map(describe_cure, cures)),
    )


def describe_cure(cure: Cure) -> Remedy:
    """Return a cure as a line for people, with its commands and its JSON object."""
    text = (
        f"It would get node {cure.node}: {cure.text}."
        if cure.node
        else f"It would not have to wait: {cure.text}."
    )
    return Remedy(text, cure.commands, cure.as_json())


def _find_decision(plan: Plan, pod: Pod, runs_on: str) -> PodDecision:
    """Return what a round decides about a pod; ``runs_on`` is the pod's present node, "" for none."""
    uid = pod.metadata.uid
    group = next((_as_json(each) for each in plan.groups if uid in each.members), None)
    if runs_on:
        return PodDecision(PodOutcome.RUNS, runs_on, group=group)
    victims = {each.pod for each in plan.preemptions}
    for binding in plan.bindings:
        if binding.pod == uid:
            outcome = PodOutcome.PLACED if victims.isdisjoint(binding.after) else PodOutcome.PREEMPTS
            return PodDecision(outcome, binding.node, binding.after, group=group)
    reason = describe_gates(pod) or next((each.reason for each in plan.pending if each.pod == uid), "")
    return PodDecision(PodOutcome.WAITS, reason=reason, group=group)


def _as_json(group: PlannedGroup) -> dict[str, Any]:
    return {
        "group": group.group,
        "status": group.status,
        "pods": len(group.members),
        "placed": _count_placed(group),
        "message": group.message,
    }


def _count_placed(group: PlannedGroup) -> int:
    """Return how many pods of a group have a node."""
    return sum(map(len, pods_of(group.placement).values()))


def _describe_outlook(plan: Plan, pod: str) -> Iterator[str]:
    """Yield lines for people about a pod's devices, its preemption, moves that pay, and the state of its group."""
    for binding in plan.bindings:
        leaders = sorted({*binding.after} - {each.pod for each in plan.preemptions})
        if binding.pod == pod and leaders:
            yield f"It is bound after {', '.join(leaders)}."
        if binding.pod == pod and binding.devices:
            yield f"Its claims get {', '.join(binding.devices)}."
    for victim in plan.preemptions:
        if victim.pod == pod:
            yield f"A round now would evict it for {victim.preemptor}."
    for move in plan.migrations:
        if move.pod == pod:
            yield f"A move to node {move.target} would save {move.saves:,.0f} points; poseidon reschedule makes it."
    for group in plan.groups:
        if pod in group.members:
            message = f": {group.message.rstrip('.')}" if group.message else ""
            state = f"{group.status}, {_count_placed(group)} of {format_count(len(group.members), 'pod')} have a node"
            yield f"Its group {group.group} is {state}{message}."
