"""Makes random rules: by nodes' labels and taints, and by other pods."""

from __future__ import annotations

import random

from benchmarks.judge.random_cluster.objects import (
    APPS,
    HOSTNAME,
    NAMESPACES,
    REGION,
    TIERS,
    ZONE,
    Object,
    chance,
    expression,
    some,
)

KEYS = (HOSTNAME, HOSTNAME, ZONE, ZONE, REGION, "rack")
TOLERATIONS: tuple[Object, ...] = (
    {"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"},
    {"key": "dedicated", "operator": "Equal", "value": "other", "effect": "NoSchedule"},
    {"key": "spot", "operator": "Exists"},
    {"key": "level", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "level", "operator": "Gt", "value": "6"},
    {"key": "level", "operator": "Lt", "value": "7"},
    {"operator": "Exists", "effect": "NoExecute"},
    {"operator": "Exists"},
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"},
)


def node_rules(draw: random.Random, nodes: list[Object]) -> Object:
    """Return a pod's rules about nodes, as parts of its spec."""
    spec: Object = {}
    if chance(draw, 0.15):
        spec["nodeSelector"] = draw.choice(({"disk": "ssd"}, {"disk": "nvme"}, {ZONE: "a"}, {"rack": "r1"}))
    affinity: Object = {}
    if chance(draw, 0.3):
        terms = [_node_term(draw, nodes) for _ in range(draw.choice((1, 1, 2)))]
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if chance(draw, 0.15):
        preferred = {"weight": draw.randint(1, 100), "preference": _node_term(draw, nodes)}
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [preferred]
    if affinity:
        spec["affinity"] = {"nodeAffinity": affinity}
    if chance(draw, 0.35):
        spec["tolerations"] = some(draw, TOLERATIONS, 2)
    return spec


def _node_term(draw: random.Random, nodes: list[Object]) -> Object:
    names = [each["metadata"]["name"] for each in nodes]
    fields = [expression("metadata.name", draw.choice(("In", "NotIn")), draw.choice(names))]
    if chance(draw, 0.1):
        return {"matchFields": fields}
    choices = (
        expression("disk", "In", *some(draw, ("ssd", "hdd", "nvme"), 2)),
        expression("disk", "NotIn", "hdd"),
        expression("disk", draw.choice(("Exists", "DoesNotExist"))),
        expression("cores", "Gt", draw.choice(("2", "4"))),
        expression("cores", "Lt", "8"),
        expression(ZONE, "In", *some(draw, "abcd", 2)),
        expression("rack", "Exists"),
    )
    term: Object = {"matchExpressions": some(draw, choices, 2)}
    if chance(draw, 0.08):
        term["matchFields"] = fields
    return term


def pod_rules(draw: random.Random, app: str) -> Object:
    """Return a pod's rules about other pods, as parts of its spec."""
    affinity: Object = {}
    if chance(draw, 0.15):
        affinity["podAffinity"] = _inter_pod(draw, app, ZONE)
    if chance(draw, 0.25):
        affinity["podAntiAffinity"] = _inter_pod(draw, app, HOSTNAME)
    spec: Object = {"affinity": affinity} if affinity else {}
    if chance(draw, 0.35):
        spec["topologySpreadConstraints"] = _constraints(draw, app)
    return spec


def _inter_pod(draw: random.Random, app: str, usual: str) -> Object:
    rules: Object = {}
    if chance(draw, 0.75):
        terms = [_pod_term(draw, app, usual) for _ in range(draw.choice((1, 1, 1, 2)))]
        rules["requiredDuringSchedulingIgnoredDuringExecution"] = terms
    if not rules or chance(draw, 0.3):
        preferred = {"weight": draw.randint(1, 100), "podAffinityTerm": _pod_term(draw, app, usual)}
        rules["preferredDuringSchedulingIgnoredDuringExecution"] = [preferred]
    return rules


def _pod_term(draw: random.Random, app: str, usual: str) -> Object:
    key = usual if chance(draw, 0.6) else draw.choice(KEYS)
    term: Object = {"topologyKey": key, "labelSelector": _selector(draw, app)}
    if chance(draw, 0.2):
        term["namespaces"] = some(draw, tuple(NAMESPACES), 2)
    if chance(draw, 0.2):
        chosen: tuple[Object, ...] = (
            {},
            {"matchLabels": {"stage": "production"}},
            {"matchExpressions": [expression("team", "In", "red")]},
        )
        term["namespaceSelector"] = draw.choice(chosen)
    if chance(draw, 0.15):
        term[draw.choice(("matchLabelKeys", "mismatchLabelKeys"))] = ["version"]
    return term


def _selector(draw: random.Random, app: str) -> Object:
    other = draw.choice(APPS)
    return draw.choice(
        (
            {"matchLabels": {"app": app}},
            {"matchLabels": {"app": app}},
            {"matchLabels": {"app": other}},
            {"matchExpressions": [expression("app", "In", app, other)]},
            {
                "matchExpressions": [
                    expression("tier", "NotIn", draw.choice(TIERS)),
                    expression("app", "Exists"),
                ]
            },
            {"matchLabels": {"tier": draw.choice(TIERS)}, "matchExpressions": [expression("app", "In", app)]},
        )
    )


def _constraints(draw: random.Random, app: str) -> list[Object]:
    keys = draw.sample([HOSTNAME, ZONE, ZONE, "rack"], draw.choice((1, 1, 2)))
    return [_constraint(draw, app, key) for key in dict.fromkeys(keys)]


def _constraint(draw: random.Random, app: str, key: str) -> Object:
    hard = chance(draw, 0.75)
    constraint: Object = {
        "topologyKey": key,
        "maxSkew": draw.choice((1, 1, 2, 3)),
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": app}} if chance(draw, 0.7) else _selector(draw, app),
    }
    if hard and chance(draw, 0.25):
        constraint["minDomains"] = draw.choice((2, 3, 5))
    if chance(draw, 0.25):
        constraint["nodeAffinityPolicy"] = draw.choice(("Honor", "Ignore"))
    if chance(draw, 0.25):
        constraint["nodeTaintsPolicy"] = draw.choice(("Honor", "Ignore"))
    if chance(draw, 0.15):
        constraint["matchLabelKeys"] = ["version"]
    return constraint
