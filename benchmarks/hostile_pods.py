"""Pods of one megabyte, each with too much of one thing: what one tenant may create to slow down all the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count, islice
from types import MappingProxyType
from typing import Any, NamedTuple

Object = dict[str, Any]

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


Fill = Callable[[Object, "Room"], None]


class Room(NamedTuple):
    """How many bytes of JSON a pod has for what there is too much of, and how many entries it may take at most."""

    size: int
    most: int | None = None


def hostile_pod(shape: str, room: Room) -> Object:
    """A pod that has as much of one thing, a key of ``SHAPES``, as there is room for."""
    pod: Object = {
        "metadata": {
            "name": "hostile",
            "namespace": "mallory",
            "uid": "hostile",
            "labels": {"app": "mallory"},
        },
        "spec": {"schedulerName": "poseidon", "containers": [{"name": "c", "image": "mallory"}]},
    }
    SHAPES[shape].fill(pod, room)
    return pod


def _fill(entries: Iterator[Any], room: Room) -> list[Any]:
    """As many entries as there is room for."""
    found, left = [], room.size
    for entry in islice(entries, room.most):
        left -= len(repr(entry)) + 1
        if left < 0:
            break
        found.append(entry)
    return found


def _expression(key: str, operator: str, *values: str) -> Object:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def _node_affinity(pod: Object, **rules: Any) -> None:
    pod["spec"]["affinity"] = {"nodeAffinity": rules}


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _fill_preferred(expression: Callable[[int], Object]) -> Fill:
    def fill(pod: Object, room: Room) -> None:
        terms = (
            {"weight": n % 100 + 1, "preference": {"matchExpressions": [expression(n)]}} for n in count()
        )
        _node_affinity(pod, **{_PREFERRED: _fill(terms, room)})

    return fill


def _fill_required(pod: Object, room: Room) -> None:
    terms = ({"matchExpressions": [_expression("rack", "In", f"rack-{n}")]} for n in count())
    _node_affinity(pod, **{_REQUIRED: {"nodeSelectorTerms": _fill(terms, room)}})


def _fill_required_expressions(pod: Object, room: Room) -> None:
    expressions = (_expression(HOSTNAME, "NotIn", f"node-{n}") for n in count())
    _node_affinity(
        pod, **{_REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": _fill(expressions, room)}]}}
    )


def _fill_required_values(pod: Object, room: Room) -> None:
    values = _fill((f"node-{n:05d}" for n in count()), room)
    terms = [{"matchExpressions": [_expression(HOSTNAME, "In", *values)]}]
    _node_affinity(pod, **{_REQUIRED: {"nodeSelectorTerms": terms}})


def _fields(pod: Object, room: Room) -> None:
    terms = ({"matchFields": [_expression("metadata.name", "In", f"node-{n:05d}")]} for n in count())
    _node_affinity(pod, **{_REQUIRED: {"nodeSelectorTerms": _fill(terms, room)}})


def _node_selector(pod: Object, room: Room) -> None:
    pod["spec"]["nodeSelector"] = dict(_fill(((f"key-{n}", "v") for n in count()), room))


def _tolerations(pod: Object, room: Room) -> None:
    tolerations = ({"key": "dedicated", "operator": "Equal", "value": f"team-{n}x"} for n in count())
    pod["spec"]["tolerations"] = _fill(tolerations, room)


def _make_label_key(number: int) -> str:
    """A key that all nodes have; each may be spread over but once."""
    return (HOSTNAME, ZONE, "rack", "generation", *(f"tier-{each}" for each in range(28)))[number % 32]


def _spread(when: str, key: Callable[[int], str]) -> Fill:
    def fill(pod: Object, room: Room) -> None:
        constraints = (
            {
                "maxSkew": n + 1,
                "topologyKey": key(n),
                "whenUnsatisfiable": when,
                "labelSelector": {"matchLabels": {"app": f"app-{n}"}},
            }
            for n in count()
        )
        pod["spec"]["topologySpreadConstraints"] = _fill(constraints, room)

    return fill


def _pod_term(selector: Object, key: str = HOSTNAME) -> Object:
    return {"topologyKey": key, "namespaceSelector": {}, "labelSelector": selector}


def _pod_affinity(kind: str, rule: str, selector: Callable[[int], Object]) -> Fill:
    def fill(pod: Object, room: Room) -> None:
        terms: Iterator[Object] = (_pod_term(selector(n)) for n in count())
        if rule == _PREFERRED:
            terms = ({"weight": 1, "podAffinityTerm": term} for term in terms)
        pod["spec"]["affinity"] = {kind: {rule: _fill(terms, room)}}

    return fill


def _pod_expressions(pod: Object, room: Room) -> None:
    expressions = (_expression("app", "NotIn", f"x-{n}") for n in count())
    term = _pod_term({"matchExpressions": _fill(expressions, room)})
    pod["spec"]["affinity"] = {"podAntiAffinity": {_REQUIRED: [term]}}


def _pod_values(pod: Object, room: Room) -> None:
    values = _fill((f"x-{n}" for n in count()), room)
    term = _pod_term({"matchExpressions": [_expression("app", "NotIn", *values)]})
    pod["spec"]["affinity"] = {"podAntiAffinity": {_REQUIRED: [term]}}


def _pod_namespaces(pod: Object, room: Room) -> None:
    term = {
        "topologyKey": HOSTNAME,
        "namespaces": _fill((f"team-{n}" for n in count()), room),
        "labelSelector": {},
    }
    pod["spec"]["affinity"] = {"podAntiAffinity": {_REQUIRED: [term]}}


def _ports(pod: Object, room: Room) -> None:
    ports = (
        {
            "containerPort": n % 65_535 + 1,
            "hostPort": n % 65_535 + 1,
            "protocol": ("TCP", "UDP")[n // 65_535 % 2],
        }
        for n in count()
    )
    pod["spec"]["containers"][0]["ports"] = _fill(ports, room)


def _containers(pod: Object, room: Room) -> None:
    containers = (
        {"name": f"c{n}", "image": "web", "resources": {"requests": {"cpu": "1m"}}} for n in count()
    )
    pod["spec"]["containers"] = _fill(containers, room)


def _images(pod: Object, room: Room) -> None:
    pod["spec"]["containers"] = _fill(({"name": f"c{n}", "image": f"image-{n % 50}"} for n in count()), room)


def _resources(pod: Object, room: Room) -> None:
    names = ((f"example.com/r{n}", "1") for n in count())
    pod["spec"]["containers"][0]["resources"] = {"requests": dict(_fill(names, room))}


def _labels(pod: Object, room: Room) -> None:
    pod["metadata"]["labels"] = dict(_fill(((f"key-{n}", f"value-{n}") for n in count()), room))


def _volumes(pod: Object, room: Room) -> None:
    volumes = ({"name": f"v{n}", "persistentVolumeClaim": {"claimName": f"claim-{n}"}} for n in count())
    pod["spec"]["volumes"] = _fill(volumes, room)


class Shape(NamedTuple):
    """``limit``: entries up to which the solver takes such a pod for one like any other; None: there is no limit."""

    fill: Fill
    limit: int | None


SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "preferred terms": Shape(
            _fill_preferred(lambda n: _expression("rack", "In", f"rack-{n % 200}", f"x{n}")), 500
        ),
        "preferred terms on new keys": Shape(
            _fill_preferred(lambda n: _expression(f"key-{n}", "Exists")), 500
        ),
        "preferred terms, Gt": Shape(_fill_preferred(lambda n: _expression(HOSTNAME, "Gt", f"{n}")), 500),
        "required terms": Shape(_fill_required, 500),
        "required expressions": Shape(_fill_required_expressions, 500),
        "required values": Shape(_fill_required_values, 20_000),
        "required fields": Shape(_fields, 500),
        "node selector": Shape(_node_selector, 500),
        "tolerations": Shape(_tolerations, 1_000),
        "spread, required": Shape(_spread("DoNotSchedule", _make_label_key), 16),
        "spread, soft": Shape(_spread("ScheduleAnyway", _make_label_key), 16),
        "spread over new keys": Shape(_spread("DoNotSchedule", lambda n: f"key-{n}"), 16),
        "pod affinity, required": Shape(
            _pod_affinity(
                "podAffinity", _REQUIRED, lambda n: {"matchLabels": {"app": f"app-{n % 500}", f"k{n}": "v"}}
            ),
            100,
        ),
        "pod affinity, preferred": Shape(
            _pod_affinity("podAffinity", _PREFERRED, lambda n: {"matchLabels": {"app": f"app-{n}"}}), 100
        ),
        "pod anti-affinity, required": Shape(
            _pod_affinity("podAntiAffinity", _REQUIRED, lambda n: {"matchLabels": {"app": f"app-{n}"}}), 100
        ),
        "pod anti-affinity to all": Shape(
            _pod_affinity(
                "podAntiAffinity",
                _REQUIRED,
                lambda n: {"matchExpressions": [_expression("app", "NotIn", f"app-{n % 500}", f"x{n}")]},
            ),
            100,
        ),
        "pod affinity, expressions": Shape(_pod_expressions, 500),
        "pod affinity, values": Shape(_pod_values, 20_000),
        "pod affinity, namespaces": Shape(_pod_namespaces, 20_000),
        "host ports": Shape(_ports, 1_000),
        "containers": Shape(_containers, 200),
        "images": Shape(_images, 200),
        "resource names": Shape(_resources, 128),
        "labels": Shape(_labels, None),
        "volumes": Shape(_volumes, None),
    }
)
"""What there is too much of, and how a pod is filled with it."""
