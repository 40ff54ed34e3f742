"""Koordinator's LoadAwareScheduling, pod by pod and node by node in plain Python: slow, obvious, sharing no code."""

# ruff: noqa: N815 - arguments bear the names of the configuration

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

Amounts = Mapping[str, int]
EXTENDED = {
    "koord-batch": {"cpu": "kubernetes.io/batch-cpu", "memory": "kubernetes.io/batch-memory"},
    "koord-mid": {"cpu": "kubernetes.io/mid-cpu", "memory": "kubernetes.io/mid-memory"},
    "koord-free": {},
}
LEAST = {
    "cpu": 250,
    "memory": 200 * 1024 * 1024,
    "kubernetes.io/batch-cpu": 250,
    "kubernetes.io/batch-memory": 200 * 1024 * 1024,
}


@dataclass
class Pod:
    """A pod; ``used`` is its entry in the node's report, None for none, ``said_prod`` what that says of its class."""

    name: str
    service_class: str = "koord-prod"
    requests: Amounts = field(default_factory=dict)
    limits: Amounts = field(default_factory=dict)
    assigned: float = 0.0
    initialized: float | None = None
    used: Amounts | None = None
    said_prod: bool = True
    daemon: bool = False


@dataclass
class Report:
    """What a NodeMetric says; ``usage`` None: status.nodeMetric is absent; ``time`` None: so is updateTime."""

    time: float | None
    interval: float = 60.0
    usage: Amounts | None = None
    windows: Mapping[tuple[str, float], Amounts] = field(default_factory=dict)
    system: Amounts = field(default_factory=dict)


@dataclass
class Own:
    """A node's annotation usage-thresholds."""

    usage: Amounts = field(default_factory=dict)
    prod: Amounts = field(default_factory=dict)
    aggregated: Amounts = field(default_factory=dict)
    kind: str = ""
    seconds: float = 0.0


@dataclass
class Node:
    name: str
    allocatable: Amounts
    report: Report | None = None
    pods: list[Pod] = field(default_factory=list)
    own: Own = field(default_factory=Own)


@dataclass
class Args:
    """LoadAwareSchedulingArgs, as the configuration names them, with defaults."""

    filterExpiredNodeMetrics: bool = True
    nodeMetricExpirationSeconds: int = 180
    enableScheduleWhenNodeMetricsExpired: bool = False
    resourceWeights: Amounts = field(default_factory=lambda: {"cpu": 1, "memory": 1})
    dominantResourceWeight: int = 0
    usageThresholds: Amounts = field(default_factory=lambda: {"cpu": 65, "memory": 95})
    prodUsageThresholds: Amounts = field(default_factory=dict)
    prodUsageIncludeSys: bool = False
    scoreAccordingProdUsage: bool = False
    estimatedScalingFactors: Amounts = field(default_factory=lambda: {"cpu": 85, "memory": 70})
    estimatedSecondsAfterPodScheduled: int = 0
    estimatedSecondsAfterInitialized: int = 0
    aggregated: Mapping[str, object] = field(default_factory=dict)
    thresholdRounding: str = "exact"


KNOWN = ("cpu", "memory")


def go_round(value: float) -> int:
    """math.Round of Go."""
    return math.floor(value + 0.5) if math.floor(value) + 0.5 != value else math.floor(value) + 1


def estimate(pod: Pod, args: Args) -> dict[str, int]:
    result = dict.fromkeys(KNOWN, 0)
    for resource, factor in args.estimatedScalingFactors.items():
        names = EXTENDED.get(pod.service_class, {each: each for each in KNOWN})
        name = names.get(resource)
        if name is None:
            continue
        limit, request = pod.limits.get(name, 0), pod.requests.get(name, 0)
        amount = max(limit, request)
        if amount == 0:
            result[resource] = LEAST.get(name, 0)
            continue
        value = go_round(float(amount) * float(factor) / 100)
        if limit > 0 and value > limit:
            value = limit
        result[resource] = value
    return result


def must_estimate(pod: Pod, report: Report, args: Args) -> bool:
    """Whether the estimate counts although the report has a figure of the pod."""
    updated = report.time or 0.0
    if updated - report.interval < pod.assigned:
        return True
    deadline = None
    if args.estimatedSecondsAfterInitialized > 0 and pod.initialized is not None:
        deadline = pod.initialized + args.estimatedSecondsAfterInitialized
    elif args.estimatedSecondsAfterPodScheduled > 0:
        deadline = pod.assigned + args.estimatedSecondsAfterPodScheduled
    return deadline is not None and deadline > updated


@dataclass
class Sums:
    prod: dict[str, int]
    prod_delta: dict[str, int]
    delta: dict[str, int]
    estimated: dict[str, int]


def sums(node: Node, args: Args) -> Sums:  # noqa: C901, PLR0912 - the reference's steps, in its order
    assert node.report is not None
    found = Sums(*(dict.fromkeys(KNOWN, 0) for _ in range(4)))
    if args.prodUsageIncludeSys:
        for resource in KNOWN:
            found.prod[resource] += node.report.system.get(resource, 0)
    for pod in node.pods:
        expected, used = estimate(pod, args), pod.used
        prod = pod.service_class == "koord-prod"
        active = prod and used is not None and pod.said_prod
        if active and used is not None:
            for resource in KNOWN:
                found.prod[resource] += used.get(resource, 0)
        if not any(expected.values()):
            continue
        counts = used is None or must_estimate(pod, node.report, args)
        if counts:
            for resource in KNOWN:
                found.delta[resource] += max(0, expected[resource] - (used or {}).get(resource, 0))
        for resource in KNOWN:
            found.estimated[resource] += expected[resource]
        if prod:
            if not active and used is not None:
                used, counts = None, True
            if counts:
                for resource in KNOWN:
                    found.prod_delta[resource] += max(0, expected[resource] - (used or {}).get(resource, 0))
    return found


def node_use(node: Node, args: Args, *, prod: bool, kind: str = "", seconds: float = 0.0) -> dict[str, int]:
    """estimated(node, view) of the reference."""
    found = sums(node, args)
    if prod:
        return {r: found.prod[r] + found.prod_delta[r] for r in KNOWN}
    assert node.report is not None
    base: Amounts | None = node.report.usage
    if kind and seconds:
        base = node.report.windows.get((kind, seconds)) or None
    elif kind:
        lengths = sorted(s for k, s in node.report.windows if k == kind and node.report.windows[k, s])
        if lengths:
            base = node.report.windows[kind, lengths[-1]]
    if base is None:
        return found.estimated
    return {r: base.get(r, 0) + found.delta[r] for r in KNOWN}


def expired(node: Node, args: Args, now: float) -> bool:
    assert node.report is not None
    return node.report.time is None or now - node.report.time >= args.nodeMetricExpirationSeconds


def profile(node: Node, args: Args, pod: Pod) -> tuple[Amounts, bool, str, float]:
    """Thresholds that hold for a pod: percentages, prod view, aggregation type and duration."""
    prod = node.own.prod or args.prodUsageThresholds
    if any(prod.get(r, 0) for r in KNOWN) and pod.service_class == "koord-prod":
        return prod, True, "", 0.0
    if node.own.aggregated and node.own.kind:
        return node.own.aggregated, False, node.own.kind, node.own.seconds
    common = args.aggregated.get("usageThresholds")
    if common and args.aggregated.get("usageAggregationType"):
        return (
            common,  # type: ignore[return-value]
            False,
            str(args.aggregated["usageAggregationType"]),
            float(args.aggregated.get("usageAggregatedDuration", 0)),  # type: ignore[arg-type]
        )
    return node.own.usage or args.usageThresholds, False, "", 0.0


def reaches(total: int, percent: int, offered: int, rounding: str) -> bool:
    if rounding == "upstream":
        return go_round(total / offered * 100) > percent
    return Fraction(total, offered) >= Fraction(percent, 100)


def refused(node: Node, pod: Pod, args: Args, now: float, more: Sequence[Pod] = ()) -> str:
    """Filter: the reason, "" for none. ``more`` are pods that the same round puts there."""
    if pod.daemon:
        return ""
    percent, prod, kind, seconds = profile(node, args, pod)
    if not any(percent.get(r, 0) for r in KNOWN) or node.report is None:
        return ""
    if args.filterExpiredNodeMetrics and expired(node, args, now):
        return "" if args.enableScheduleWhenNodeMetricsExpired else "node(s) nodeMetric expired"
    if node.report.usage is None:
        return ""
    use = node_use(node, args, prod=prod, kind=kind, seconds=seconds)
    mine = estimate(pod, args)
    for resource in KNOWN:
        limit, offered = percent.get(resource, 0), node.allocatable.get(resource, 0)
        if not limit or not offered:
            continue
        others = sum(
            estimate(each, args)[resource] for each in more if not prod or each.service_class == "koord-prod"
        )
        if reaches(use[resource] + others + mine[resource], limit, offered, args.thresholdRounding):
            return f"node(s) {resource} {'aggregated ' if kind else ''}usage exceed threshold"
    return ""


def score(node: Node, pod: Pod, args: Args, now: float) -> int:
    if node.report is None or expired(node, args, now) or node.report.usage is None:
        return 0
    total_weight = sum(args.resourceWeights.values()) + args.dominantResourceWeight
    if total_weight == 0:
        return 0
    prod = args.scoreAccordingProdUsage and pod.service_class == "koord-prod"
    kind = str(args.aggregated.get("scoreAggregationType", ""))
    seconds = float(args.aggregated.get("scoreAggregatedDuration", 0))  # type: ignore[arg-type]
    use = node_use(node, args, prod=prod, kind="" if prod else kind, seconds=seconds)
    mine = estimate(pod, args)
    single = {}
    for resource in KNOWN:
        offered, total = node.allocatable.get(resource, 0), use[resource] + mine[resource]
        single[resource] = 0 if offered == 0 or total > offered else (offered - total) * 100 // offered
    weighted = sum(weight * single[resource] for resource, weight in args.resourceWeights.items())
    return (weighted + args.dominantResourceWeight * min(single.values())) // total_weight
