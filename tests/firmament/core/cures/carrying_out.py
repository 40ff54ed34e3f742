"""Cures carried out on plain pods and nodes, by code that knows nothing of the core's."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from firmament.core.changes import CureChange, CureKind
from firmament.core.cures.proposals import Cure
from tests.programs.differential.world import Cluster, Node, PodSpec, PodTerm, Toleration

Rule = TypeVar("Rule")


def carried_out(cure: Cure, cluster: Cluster, spec: PodSpec) -> tuple[Cluster, PodSpec]:
    """The cluster and the pod as they are once all that a cure says has been done."""
    after = cluster.copy()
    for uid, node in cure.moves.items():
        after.pods[uid] = after.pods[uid]._replace(node=node)
    for step in cure.steps:
        spec = _done(step, after, spec)
    return after, spec


def _done(step: CureChange, cluster: Cluster, spec: PodSpec) -> PodSpec:
    if step.machine:
        _done_to_node(step, cluster, cluster.nodes[step.machine])
        return spec
    match step.kind:
        case CureKind.LOWER_REQUEST:
            assert isinstance(step.after, int)
            assert spec.requests[step.subject] == step.before
            assert spec.requests[step.subject] > step.after
            return replace(spec, requests={**spec.requests, step.subject: step.after})
        case CureKind.CORRECT:
            return _corrected(spec, str(step.before), str(step.after))
        case CureKind.TOLERATE:
            name, effect = step.subject.rsplit(":", 1)
            key, _, value = name.partition("=")
            operator = "Equal" if value else "Exists"
            return replace(spec, tolerations=(*spec.tolerations, Toleration(key, operator, value, effect)))
        case CureKind.WIDEN | CureKind.DROP:
            return _widened(step, spec) if step.kind is CureKind.WIDEN else _without(step, spec)
        case _:
            return spec


def _widened(step: CureChange, spec: PodSpec) -> PodSpec:
    assert isinstance(step.before, int)
    if isinstance(step.after, str):
        if "podAntiAffinity" in step.subject:
            return replace(spec, anti_affinity=_by(spec.anti_affinity, step.before, step.after))
        return replace(spec, affinity=_by(spec.affinity, step.before, step.after))
    wider = replace(spec.spreads[step.before], max_skew=int(step.after or 0))
    return replace(spec, spreads=(*spec.spreads[: step.before], wider, *spec.spreads[step.before + 1 :]))


def _by(terms: tuple[PodTerm, ...], index: int, key: str) -> tuple[PodTerm, ...]:
    return (*terms[:index], replace(terms[index], key=key), *terms[index + 1 :])


def _corrected(spec: PodSpec, before: str, after: str) -> PodSpec:
    """The pod asks for the label ``after`` where it asked for ``before``: ``key=value``."""
    (old, value), (key, new) = before.split("=", 1), after.split("=", 1)
    if spec.node_selector.get(old) == value:
        kept = {name: each for name, each in spec.node_selector.items() if name != old}
        return replace(spec, node_selector={**kept, key: new})
    terms = [
        replace(
            term,
            labels=tuple(
                each._replace(key=key, values=(new,)) if each.key == old and value in each.values else each
                for each in term.labels
            ),
        )
        for term in spec.node_terms or ()
    ]
    return replace(spec, node_terms=tuple(terms))


def _done_to_node(step: CureChange, cluster: Cluster, node: Node) -> None:
    match step.kind:
        case CureKind.LABEL_MACHINE:
            labels = {key: value for key, value in node.labels.items() if key != step.subject}
            assert node.labels.get(step.subject) == step.before != step.after
            if step.after is not None:
                labels[step.subject] = str(step.after)
            cluster.nodes[node.name] = replace(node, labels=labels)
        case CureKind.UNCORDON:
            assert node.unschedulable
            cluster.nodes[node.name] = replace(node, unschedulable=False)
        case CureKind.ENLARGE_MACHINE:
            assert isinstance(step.after, int)
            assert node.allocatable.get(step.subject, 0) == step.before
            assert node.allocatable.get(step.subject, 0) < step.after
            cluster.nodes[node.name] = replace(
                node, allocatable={**node.allocatable, step.subject: step.after}
            )
        case CureKind.ADD_MACHINE:
            name = f"{node.name}-more"
            labels = {**node.labels, "kubernetes.io/hostname": name}
            cluster.nodes[name] = replace(node, name=name, labels=labels, unschedulable=False)
        case _:
            raise AssertionError(f"{step.kind} is nothing to do to a node")


def _without(step: CureChange, spec: PodSpec) -> PodSpec:
    what, _, which = step.subject.partition(" ")
    if what == "nodeSelector":
        key = which.partition("=")[0]
        return replace(spec, node_selector={k: v for k, v in spec.node_selector.items() if k != key})
    if step.subject == "required nodeAffinity":
        return replace(spec, node_terms=None)
    if what == "hostPort":
        number, protocol = which.split("/")
        ports = [port for port in spec.ports if (str(port.port), port.protocol) == (number, protocol)]
        return replace(spec, ports=tuple(port for port in spec.ports if port is not ports[0]))
    assert isinstance(step.before, int)
    match step.subject.partition(" by ")[0]:
        case "required podAntiAffinity":
            return replace(spec, anti_affinity=_less(spec.anti_affinity, step.before))
        case "required podAffinity":
            return replace(spec, affinity=_less(spec.affinity, step.before))
        case _:
            return replace(spec, spreads=_less(spec.spreads, step.before))


def _less(rules: tuple[Rule, ...], index: int) -> tuple[Rule, ...]:
    return (*rules[:index], *rules[index + 1 :])
