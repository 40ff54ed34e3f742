"""Makes pods that have very many rules, labels or the like, as a tenant may create them to slow down other tenants."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import count, islice
from types import MappingProxyType
from typing import Any, NamedTuple

Object = dict[str, Any]

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
MALLORY = "mallory"
"""Namespace of the hostile pods."""


Fill = Callable[[Object, "Room"], None]


class Room(NamedTuple):
    """How many bytes of JSON, and how many entries, a hostile pod may use for the field that it overfills.

    ``first``: number of the first entry, so that pods of one shape differ in each of them.
    """

    size: int
    most: int | None = None
    first: int = 0


def hostile_pod(shape: str, room: Room, number: int = 0) -> Object:
    """Return a pod that overfills one field, named by a key of ``SHAPES``; it differs for each ``number``."""
    name = f"hostile-{number}"
    pod: Object = {
        "metadata": {
            "name": name,
            "namespace": MALLORY,
            "uid": name,
            "labels": {"app": MALLORY, "copy": name},
        },
        "spec": {"schedulerName": "poseidon", "containers": [{"name": "c", "image": "mallory"}]},
    }
    SHAPES[shape].fill(pod, room)
    return pod


def _filled(entries: Iterator[Any], room: Room) -> list[Any]:
    """Return as many entries as the limits of ``Room`` allow."""
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


def _preferred(expression: Callable[[int], Object]) -> Fill:
    def fill(pod: Object, room: Room) -> None:
        terms = (
            {"weight": n % 100 + 1, "preference": {"matchExpressions": [expression(n)]}}
            for n in count(room.first)
        )
        _node_affinity(pod, **{_PREFERRED: _filled(terms, room)})

    return fill


def _required(pod: Object, room: Room) -> None:
    terms = ({"matchExpressions": [_expression("rack", "In", f"rack-{n}")]} for n in count(room.first))
    _node_affinity(pod, **{_REQUIRED: {"nodeSelectorTerms": _filled(terms, room)}})


def _required_expressions(pod: Object, room: Room) -> None:
    expressions = (_expression(HOSTNAME, "NotIn", f"node-{n}") for n in count(room.first))
    _node_affinity(
        pod, **{_REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": _filled(expressions, room)}]}}
    )


def _required_values(pod: Object, room: Room) -> None:
    values = _filled((f"node-{n:05d}" for n in count(room.first)), room)
    terms = [{"matchExpressions": [_expression(HOSTNAME, "In", *values)]}]
    _node_affinity(pod, **{_REQUIRED: {"nodeSelectorTerms": terms}})


def _fields(pod: Object, room: Room) -> None:
    terms = (
        {"matchFields": [_expression("metadata.name", "In", f"node-{n:05d}")]} for n in count(room.first)
    )
    _node_affinity(pod, **{_REQUIRED: {"nodeSelectorTerms": _filled(terms, room)}})


def _node_selector(pod: Object, room: Room) -> None:
    pod["spec"]["nodeSelector"] = dict(_filled(((f"key-{n}", "v") for n in count(room.first)), room))


def _tolerations(pod: Object, room: Room) -> None:
    tolerations = (
        {"key": "dedicated", "operator": "Equal", "value": f"team-{n}x"} for n in count(room.first)
    )
    pod["spec"]["tolerations"] = _filled(tolerations, room)


def _labelled(number: int) -> str:
    """Return a label key that all nodes have; each topology key may occur in one spread constraint only."""
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
            for n in count(room.first)
        )
        pod["spec"]["topologySpreadConstraints"] = _filled(constraints, room)

    return fill


def _pod_term(selector: Object, key: str = HOSTNAME) -> Object:
    return {"topologyKey": key, "namespaceSelector": {}, "labelSelector": selector}


def _pod_affinity(kind: str, rule: str, selector: Callable[[int], Object]) -> Fill:
    def fill(pod: Object, room: Room) -> None:
        terms: Iterator[Object] = (_pod_term(selector(n)) for n in count(room.first))
        if rule == _PREFERRED:
            terms = ({"weight": 1, "podAffinityTerm": term} for term in terms)
        pod["spec"]["affinity"] = {kind: {rule: _filled(terms, room)}}

    return fill


def _pod_expressions(pod: Object, room: Room) -> None:
    expressions = (_expression("app", "NotIn", f"x-{n}") for n in count(room.first))
    term = _pod_term({"matchExpressions": _filled(expressions, room)})
    pod["spec"]["affinity"] = {"podAntiAffinity": {_REQUIRED: [term]}}


def _pod_values(pod: Object, room: Room) -> None:
    values = _filled((f"x-{n}" for n in count(room.first)), room)
    term = _pod_term({"matchExpressions": [_expression("app", "NotIn", *values)]})
    pod["spec"]["affinity"] = {"podAntiAffinity": {_REQUIRED: [term]}}


def _pod_namespaces(pod: Object, room: Room) -> None:
    term = {
        "topologyKey": HOSTNAME,
        "namespaces": _filled((f"team-{n}" for n in count(room.first)), room),
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
        for n in count(room.first)
    )
    pod["spec"]["containers"][0]["ports"] = _filled(ports, room)


def _containers(pod: Object, room: Room) -> None:
    containers = (
        {"name": f"c{n}", "image": "web", "resources": {"requests": {"cpu": "1m"}}} for n in count(room.first)
    )
    pod["spec"]["containers"] = _filled(containers, room)


def _images(pod: Object, room: Room) -> None:
    pod["spec"]["containers"] = _filled(
        ({"name": f"c{n}", "image": f"image-{n % 50}"} for n in count(room.first)), room
    )


def _resources(pod: Object, room: Room) -> None:
    names = ((f"example.com/r{n}", "1") for n in count(room.first))
    pod["spec"]["containers"][0]["resources"] = {"requests": dict(_filled(names, room))}


def _disks(pod: Object, room: Room) -> None:
    disks = ({"name": f"v{n}", "gcePersistentDisk": {"pdName": f"disk-{n // 2}"}} for n in count(room.first))
    pod["spec"]["volumes"] = _filled(disks, room)


def _size(pod: Object, room: Room) -> None:
    """Fill a pod with nothing special, except a size that no other pod has."""
    requests = {"cpu": f"{room.first % 1_000 + 1}m", "memory": f"{room.first + 1}Mi"}
    pod["spec"]["containers"][0]["resources"] = {"requests": requests}


def _too_large(pod: Object, room: Room) -> None:
    """Give a pod a request that no other pod has and no node can hold."""
    requests = {"cpu": "2k", "memory": f"{room.first + 1}Mi"}
    pod["spec"]["containers"][0]["resources"] = {"requests": requests}


def _few_rules(**rules: Fill) -> Fill:
    """Give a pod a request that no other pod has, and a few common rules."""

    def fill(pod: Object, room: Room) -> None:
        _size(pod, room)
        for rule in rules.values():
            rule(pod, room)

    return fill


def _own_spread(pod: Object, _room: Room) -> None:
    own = {"matchLabels": {"copy": pod["metadata"]["name"]}}
    pod["spec"]["topologySpreadConstraints"] = [
        {"maxSkew": 5, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": own}
        for key in (ZONE, HOSTNAME)
    ]


def _own_terms(pod: Object, room: Room) -> None:
    terms = [
        {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"copy": f"hostile-{room.first + each}"}}}
        for each in range(4)
    ]
    pod["spec"]["affinity"] = {"podAntiAffinity": {_REQUIRED: terms}}


def _own_nodes(pod: Object, room: Room) -> None:
    pod["spec"]["nodeSelector"] = {f"tier-{room.first % 28}": str(room.first % 2)}
    values = [f"rack-{(room.first * each) % 200}" for each in range(1, 60)]
    terms = [{"matchExpressions": [_expression("rack", "In", *values)]}]
    _node_affinity(pod, **{_REQUIRED: {"nodeSelectorTerms": terms}})


def _apart_from_each_other(pod: Object, room: Room) -> None:
    terms = (
        {
            "topologyKey": _labelled(n),
            "labelSelector": {"matchExpressions": [_expression("copy", "NotIn", f"x{n}")]},
        }
        for n in count(room.first)
    )
    pod["spec"]["affinity"] = {"podAntiAffinity": {_REQUIRED: _filled(terms, room)}}


def _labels(pod: Object, room: Room) -> None:
    pod["metadata"]["labels"] = dict(_filled(((f"key-{n}", f"value-{n}") for n in count(room.first)), room))


def _volumes(pod: Object, room: Room) -> None:
    volumes = (
        {"name": f"v{n}", "persistentVolumeClaim": {"claimName": f"claim-{n}"}} for n in count(room.first)
    )
    pod["spec"]["volumes"] = _filled(volumes, room)


class Shape(NamedTuple):
    """A kind of hostile pods, and their number."""

    fill: Fill
    """Fills a pod with the excess."""
    limit: int | None
    """Most entries up to which the solver treats such a pod like any other; None: no limit."""
    copies: bool = False
    """Whether all pods are alike."""
    gang: bool = False
    """Whether the pods are members of one gang."""
    times: int = 1
    """Factor on the number of pods."""
    runs: bool = True
    """Whether some node could run the pods."""
    most: int = sys.maxsize
    """Most pods, with which a gang is at its limit."""


SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "preferred terms": Shape(
            _preferred(lambda n: _expression("rack", "In", f"rack-{n % 200}", f"x{n}")), 500
        ),
        "preferred terms on new keys": Shape(_preferred(lambda n: _expression(f"key-{n}", "Exists")), 500),
        "preferred terms, Gt": Shape(_preferred(lambda n: _expression(HOSTNAME, "Gt", f"{n}")), 500),
        "required terms": Shape(_required, 500),
        "required expressions": Shape(_required_expressions, 500),
        "required values": Shape(_required_values, 20_000),
        "required fields": Shape(_fields, 500),
        "node selector": Shape(_node_selector, 500),
        "tolerations": Shape(_tolerations, 1_000),
        "spread, required": Shape(_spread("DoNotSchedule", _labelled), 16),
        "spread, soft": Shape(_spread("ScheduleAnyway", _labelled), 16),
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
        "disks": Shape(_disks, 500),
        "sizes": Shape(_size, 1, times=8),
        "sizes that no node has": Shape(_too_large, 1, times=8, runs=False),
        "sizes, a gang": Shape(_size, 1, gang=True, most=390),
        "sizes, too large a gang": Shape(_size, 1, gang=True, times=4),
        "sizes that no node has, a gang": Shape(_too_large, 1, gang=True, runs=False, most=390),
        "kinds with a few rules about nodes": Shape(_few_rules(nodes=_own_nodes), 1, times=4),
        "kinds with a few rules about nodes, a gang": Shape(
            _few_rules(nodes=_own_nodes), 1, gang=True, most=350
        ),
        "kinds with two spread constraints": Shape(_few_rules(spread=_own_spread), 1, times=2),
        "kinds with two spread constraints, a gang": Shape(
            _few_rules(spread=_own_spread), 1, gang=True, most=175
        ),
        "kinds with four terms": Shape(_few_rules(terms=_own_terms), 1, times=4),
        "pod anti-affinity among all": Shape(_apart_from_each_other, 100),
        "pod anti-affinity among all, seven terms": Shape(_apart_from_each_other, 7),
        "pod anti-affinity among all, copies": Shape(_apart_from_each_other, 100, copies=True),
        "pod anti-affinity among all, a gang": Shape(_apart_from_each_other, 1, gang=True, most=44),
        "pod anti-affinity among all, seven terms, a gang": Shape(
            _apart_from_each_other, 7, gang=True, most=16
        ),
        "pod anti-affinity among all, too large a gang": Shape(_apart_from_each_other, 100, gang=True),
        "pod anti-affinity among all, a gang of copies": Shape(
            _apart_from_each_other, 100, copies=True, gang=True
        ),
        "spread, required, copies": Shape(_spread("DoNotSchedule", _labelled), 16, copies=True),
        "labels": Shape(_labels, None),
        "volumes": Shape(_volumes, None),
    }
)
"""Kinds of excess by name, each with the function that fills a pod."""
