"""Applications at random: a pod template with one to three of the traits that make placement hard."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.programs.differential.world import (
    HostPort,
    NodeTerm,
    PodSpec,
    PodTerm,
    Requirement,
    Spread,
    Toleration,
)

HOST, ZONE, RACK = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "example.com/rack"
TIERS = ("front", "back")


@dataclass(frozen=True)
class Application:
    """A template, and the names of the applications beside it."""

    spec: PodSpec
    others: tuple[str, ...]
    nodes: tuple[str, ...]


Trait = Callable[[random.Random, Application], PodSpec]


def application(draw: random.Random, name: str, names: list[str], nodes: list[str]) -> PodSpec:
    """The template of an application called ``name`` among ``names``; what it requests is left open."""
    namespace = draw.choice(["default"] * 6 + ["shop", "data"])
    labels = {"app": name, "tier": draw.choice(TIERS)}
    if draw.random() < 0.3:
        labels["version"] = draw.choice(["1", "2"])
    made = Application(
        PodSpec(name, namespace, labels), tuple(other for other in names if other != name), tuple(nodes)
    )
    traits, weights = zip(*TRAITS, strict=True)
    for trait in draw.choices(traits, weights, k=draw.choice([0, 1, 1, 1, 2, 2, 3])):
        made = replace(made, spec=trait(draw, made))
    if draw.random() < 0.25:
        made = replace(made, spec=_prefer(draw, made))
    return made.spec


def keep_away(draw: random.Random, name: str) -> PodSpec:
    """A pod that keeps an application, or a whole tier, out of its domain."""
    selector = _by("app", "app-0") if draw.random() < 0.6 else _by("tier", draw.choice(TIERS))
    term = PodTerm(draw.choice([HOST, HOST, RACK]), selector, ("default", "shop"))
    return PodSpec(name, "default", {"app": name}, {"cpu": 100}, anti_affinity=(term,))


# --- selectors -------------------------------------------------------------------------------------------------------


def _by(key: str, *values: str) -> tuple[Requirement, ...]:
    return (Requirement(key, "In", values),)


def _own(made: Application, draw: random.Random) -> tuple[Requirement, ...]:
    """Selects the application's own pods, sometimes by version too (as matchLabelKeys comes out), or by more."""
    selector = _by("app", made.spec.labels["app"])
    if "version" in made.spec.labels and draw.random() < 0.5:
        selector += _by("version", made.spec.labels["version"])
    elif draw.random() < 0.06:
        selector = (Requirement("app", "Exists"), Requirement("tier", "NotIn", ("none", "front")))
    return selector


def _other(made: Application, draw: random.Random) -> tuple[Requirement, ...]:
    """Selects another application, or a tier."""
    if made.others and draw.random() < 0.85:
        return _by("app", draw.choice(made.others))
    return draw.choice(
        [
            _by("tier", draw.choice(TIERS)),
            (Requirement("version", "DoesNotExist"), Requirement("tier", "In", TIERS)),
            (Requirement("version", "Exists"),),
        ]
    )


def _reach(made: Application, draw: random.Random) -> tuple[tuple[str, ...], tuple[Requirement, ...] | None]:
    """Namespaces of a term: mostly the pod's own; else by name, by label, or all."""
    return draw.choice(
        [
            ((made.spec.namespace,), None),
            ((made.spec.namespace,), None),
            (("default", "shop"), None),
            (("default", "shop", "data"), None),
            ((), _by("team", "blue")),
            (("default",), (Requirement("team", "Exists"),)),
            ((), ()),
        ]
    )


def _term(made: Application, draw: random.Random, key: str, selector: tuple[Requirement, ...]) -> PodTerm:
    return PodTerm(key, selector, *_reach(made, draw))


# --- traits ----------------------------------------------------------------------------------------------------------


def _apart_by_host(draw: random.Random, made: Application) -> PodSpec:
    term = PodTerm(HOST, _own(made, draw), (made.spec.namespace,))
    return replace(made.spec, anti_affinity=(*made.spec.anti_affinity, term))


def _apart_by_domain(draw: random.Random, made: Application) -> PodSpec:
    term = PodTerm(draw.choice([ZONE, RACK, RACK]), _own(made, draw), (made.spec.namespace,))
    return replace(made.spec, anti_affinity=(*made.spec.anti_affinity, term))


def _away_from_another(draw: random.Random, made: Application) -> PodSpec:
    term = _term(made, draw, draw.choice([HOST, HOST, HOST, HOST, RACK, ZONE]), _other(made, draw))
    return replace(made.spec, anti_affinity=(*made.spec.anti_affinity, term))


def _near_another(draw: random.Random, made: Application) -> PodSpec:
    term = _term(made, draw, draw.choice([HOST, RACK, ZONE, ZONE]), _other(made, draw))
    return _drawn_to(draw, made.spec, term)


def _drawn_to(draw: random.Random, spec: PodSpec, term: PodTerm) -> PodSpec:
    """One term of affinity; two only sometimes, since one pod has to match both."""
    return replace(spec, affinity=(*spec.affinity, term) if draw.random() < 0.2 else (term,))


def _together(draw: random.Random, made: Application) -> PodSpec:
    """A group with affinity to itself, which someone has to begin."""
    term = PodTerm(draw.choice([HOST, RACK, RACK, ZONE, ZONE]), _own(made, draw), (made.spec.namespace,))
    return _drawn_to(draw, made.spec, term)


def _spread(draw: random.Random, made: Application) -> PodSpec:
    keys = draw.choice([(ZONE,), (ZONE,), (HOST,), (ZONE, HOST), (RACK,)])
    rules = tuple(_spread_rule(draw, made, key) for key in keys)
    return replace(made.spec, spreads=(*made.spec.spreads, *rules))


def _spread_rule(draw: random.Random, made: Application, key: str) -> Spread:
    selector: tuple[Requirement, ...] | None = _own(made, draw)
    odd = draw.random()
    if odd < 0.08:
        selector = _other(made, draw)  # a selector that may not match the pod itself
    elif odd < 0.11:
        selector = draw.choice([(), None])
    return Spread(
        key,
        selector,
        max_skew=draw.choice([1, 1, 1, 2, 3]),
        min_domains=draw.choice([1, 1, 1, 2, 3, 4]),
        honor_affinity=draw.random() < 0.7,
        honor_taints=draw.random() < 0.4,
    )


def _port(draw: random.Random, made: Application) -> PodSpec:
    ports = {
        HostPort(
            draw.choice([80, 8080]),
            draw.choice(["TCP", "TCP", "UDP"]),
            draw.choice(["", "", "10.0.0.1", "::1"]),
        )
        for _ in range(draw.choice([1, 1, 2]))
    }
    return replace(made.spec, ports=tuple(sorted(ports)))


def _selected_nodes(draw: random.Random, made: Application) -> PodSpec:
    zones = tuple(sorted(draw.sample(["zone-0", "zone-1", "zone-2"], draw.randint(1, 2))))
    term = draw.choice(
        [
            NodeTerm((Requirement(ZONE, "In", zones),)),
            NodeTerm((Requirement("disk", "Exists"),)),
            NodeTerm((Requirement("disk", "DoesNotExist"), Requirement(ZONE, "NotIn", zones))),
            NodeTerm((Requirement("size", "Gt", (draw.choice(["1", "2"]),)),)),
            NodeTerm((Requirement("size", "Lt", ("3",)),)),
            NodeTerm(fields=(Requirement("metadata.name", "NotIn", (draw.choice(made.nodes),)),)),
        ]
    )
    if draw.random() < 0.3:
        return replace(made.spec, node_selector={"disk": "ssd"})
    further = (NodeTerm((Requirement("size", "In", ("4",)),)),) if draw.random() < 0.3 else ()
    return replace(made.spec, node_terms=(term, *further))


def _tolerant(draw: random.Random, made: Application) -> PodSpec:
    toleration = draw.choice(
        [
            Toleration("dedicated", "Equal", "batch"),
            Toleration("dedicated", "Exists"),
            Toleration("dedicated", "Equal", "web", "NoSchedule"),
            Toleration(operator="Exists"),
        ]
    )
    return replace(made.spec, tolerations=(toleration,))


def _pinned(draw: random.Random, made: Application) -> PodSpec:
    node = draw.choice(made.nodes)
    if draw.random() < 0.3:
        return replace(made.spec, node_name=node)
    return replace(made.spec, node_terms=(NodeTerm(fields=(Requirement("metadata.name", "In", (node,)),)),))


def _volumes(draw: random.Random, made: Application) -> PodSpec:
    zonal = (NodeTerm((Requirement(ZONE, "In", (draw.choice(["zone-0", "zone-1"]),)),)),)
    local = tuple(NodeTerm((Requirement(HOST, "In", (name,)),)) for name in draw.sample(made.nodes, 2))
    return replace(made.spec, volumes=(draw.choice([zonal, zonal, local]),))


def _prefer(draw: random.Random, made: Application) -> PodSpec:
    """Preferences: they may cost a place, and must never cost a pod."""
    weight = draw.choice([1, 50, 100])
    near = replace(_term(made, draw, ZONE, _other(made, draw)), weight=weight)
    apart = replace(_term(made, draw, HOST, _own(made, draw)), weight=weight)
    return replace(
        made.spec,
        preferred_nodes=((weight, NodeTerm((Requirement("disk", "Exists"),))),)
        if draw.random() < 0.5
        else (),
        preferred_affinity=(near,) if draw.random() < 0.5 else (),
        preferred_anti_affinity=(apart,) if draw.random() < 0.5 else (),
        spreads=(*made.spec.spreads, Spread(ZONE, _own(made, draw), do_not_schedule=False))
        if draw.random() < 0.5
        else made.spec.spreads,
    )


TRAITS: tuple[tuple[Trait, float], ...] = (
    (_apart_by_host, 5),
    (_apart_by_domain, 2.5),
    (_away_from_another, 4),
    (_near_another, 4),
    (_together, 3),
    (_spread, 6),
    (_port, 2),
    (_selected_nodes, 3),
    (_tolerant, 1.5),
    (_pinned, 0.7),
    (_volumes, 1.5),
)
"""How applications come to be hard to place, and how often."""
