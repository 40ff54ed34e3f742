"""A case in full, for people who look into one."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

from tests.programs.differential.checker import broken_rules
from tests.programs.differential.drive import Manner, Outcome, place
from tests.programs.differential.exhaustive import most
from tests.programs.differential.generate import SIZES, case
from tests.programs.differential.pod_by_pod import orders as pod_by_pod
from tests.programs.differential.world import Case, PodSpec


def show(size: str, seed: int, orders: int, manner: Manner) -> str:
    """Nodes, specs, what runs, what the core did, what the rivals did, and why pods stay pending."""
    made = case(seed, SIZES[size])
    outcome = place(made, manner)
    lines = [f"{size} case {seed}"]
    for node in made.cluster.nodes.values():
        flags = " cordoned" * node.unschedulable + " not-ready" * node.not_ready
        taints = " ".join(":".join(taint) for taint in node.taints)
        lines.append(f"  node {node.name} {node.allocatable} {node.labels} {taints}{flags}")
    counts = Counter(spec.name for spec in made.waiting.values())
    running = [pod.spec for pod in made.cluster.pods.values()]
    specs = {spec.name: spec for spec in [*made.waiting.values(), *running]}
    lines += [f"  {counts[name]} x {_described(spec)}" for name, spec in specs.items()]
    for uid, pod in made.cluster.pods.items():
        lines.append(f"  running {uid}: {pod.spec.name} on {pod.node}{' terminating' * pod.terminating}")
    lines += _outcome(outcome)
    lines += _rivals(made, size, orders)
    return "\n".join(lines)


def _described(spec: PodSpec) -> str:
    given = []
    for field in fields(spec):
        value = getattr(spec, field.name)
        if value not in ((), {}, "", None):
            given.append(f"{field.name}={value!r}")
    return " ".join(given)


def _outcome(outcome: Outcome) -> list[str]:
    lines = [f"  placed {len(outcome.order)}, pending {len(outcome.pending)}"]
    lines += [f"  {uid} -> {node}" for uid, node in outcome.order]
    lines += [f"  FAULT {fault}" for fault in (*outcome.faults, *outcome.left)]
    told = set()
    for uid, spec in outcome.pending.items():
        if spec.name in told:
            continue
        told.add(spec.name)
        reasons = Counter(
            rule.value for name in outcome.cluster.nodes for rule in broken_rules(outcome.cluster, spec, name)
        )
        lines.append(f"  pending {uid}: {', '.join(f'{n} {rule}' for rule, n in reasons.most_common())}")
    return lines


def _rivals(made: Case, size: str, orders: int) -> list[str]:
    if size == "small":
        best = most(made)
        moves = [f"  best: {uid} -> {node}" for uid, node in best.order]
        return [f"  best possible: {best.placed}", *moves]
    rivals = pod_by_pod(made, orders)
    return [f"  pod by pod: median {rivals.median:g}, best {rivals.best}, all {sorted(rivals.placed)}"]
