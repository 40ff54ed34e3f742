"""Cures as the page tells them, carried out on manifests, as people would with ``kubectl edit``."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from poseidon.testbed.controllers.node_rules import amount

Object = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
HOSTNAME = "kubernetes.io/hostname"
CORDON = "node.kubernetes.io/unschedulable"


def uid_of(pod: Object) -> str:
    return f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"


def placed(objects: list[Object], bindings: Mapping[str, str]) -> list[Object]:
    """The objects once pods run where they are bound to."""
    found = copy.deepcopy(objects)
    for each in found:
        if each["kind"] == "Pod" and (node := bindings.get(uid_of(each))):
            each["spec"]["nodeName"] = node
            each["status"] = {"phase": "Running"}
    return found


def cured_manifests(objects: list[Object], pod: str, cure: Mapping[str, Any]) -> list[Object]:
    """The objects once all that a cure says has been done."""
    found = copy.deepcopy(objects)
    nodes = {each["metadata"]["name"]: each for each in found if each["kind"] == "Node"}
    pods = {uid_of(each): each for each in found if each["kind"] == "Pod"}
    for move in cure["moves"]:
        assert pods[move["pod"]]["spec"]["nodeName"] == move["from"]
        pods[move["pod"]]["spec"]["nodeName"] = move["to"]
    for step in cure["changes"]:
        match step["kind"]:
            case "lower-request":
                _lower(pods[pod]["spec"], step["subject"], step["before"], step["after"])
            case "fewer-replicas":
                found = [each for each in found if not (each["kind"] == "Pod" and uid_of(each) == pod)]
            case "correct-selector" | "widen-rule" | "tolerate" | "drop-constraint":
                _change_rules(pods[pod]["spec"], step)
            case "label-node":
                labels = nodes[step["node"]]["metadata"].setdefault("labels", {})
                assert labels.get(step["subject"]) == step["before"]
                labels.pop(step["subject"], None)
                if step["after"] is not None:
                    labels[step["subject"]] = step["after"]
            case "uncordon-node":
                _uncordon(nodes[step["node"]])
            case "enlarge-node":
                offered = nodes[step["node"]]["status"]
                offered.setdefault("allocatable", {})[step["subject"]] = _quantity(
                    step["subject"], step["after"]
                )
            case "add-node":
                found.append(_like(nodes[step["node"]], cure["node"]))
            case _:
                raise AssertionError(step)
    _sweep(pods[pod]["spec"])
    return found


def _sweep(spec: Object) -> None:
    """Take away the rules that were dropped; until then the others keep their numbers."""
    affinity = spec.get("affinity") or {}
    for each in ("podAffinity", "podAntiAffinity"):
        if required := (affinity.get(each) or {}).get(REQUIRED):
            affinity[each][REQUIRED] = [term for term in required if term is not None]
    if spread := spec.get("topologySpreadConstraints"):
        spec["topologySpreadConstraints"] = [each for each in spread if each is not None]


def _quantity(resource: str, number: int) -> str:
    return f"{number}m" if resource == "cpu" else str(number)


def _lower(spec: Object, resource: str, before: int, after: int) -> None:
    """Take from containers in turn until they are as small in all; what starts before them may need no more either."""
    assert after < before
    left = after - amount(resource, str((spec.get("overhead") or {}).get(resource, 0)))
    for container in spec.get("initContainers", ()):
        taken = _limit(container, resource, left)
        left -= taken if container.get("restartPolicy") == "Always" else 0
    for container in spec["containers"]:
        left -= _limit(container, resource, left)
    if resource in ((whole := spec.get("resources") or {}).get("requests") or {}):
        whole["requests"][resource] = _quantity(resource, after)


def _limit(container: Object, resource: str, most: int) -> int:
    resources = container.get("resources") or {}
    asked = (resources.get("requests") or {}).get(resource, (resources.get("limits") or {}).get(resource, 0))
    left = min(amount(resource, str(asked)), max(most, 0))
    if asked:
        resources.setdefault("requests", {})[resource] = _quantity(resource, left)
    return left


def _toleration(subject: str) -> Object:
    name, effect = subject.rsplit(":", 1)
    key, _, value = name.partition("=")
    operator = {"operator": "Equal", "value": value} if value else {"operator": "Exists"}
    return {"key": key, "effect": effect, **operator}


def _change_rules(spec: Object, step: Mapping[str, Any]) -> None:
    match step["kind"]:
        case "correct-selector":
            _correct(spec, step["before"], step["after"])
        case "widen-rule" if isinstance(step["after"], str):
            kind = step["subject"].removeprefix("required ").partition(" by ")[0]
            spec["affinity"][kind][REQUIRED][step["before"]]["topologyKey"] = step["after"]
        case "widen-rule":
            spec["topologySpreadConstraints"][step["before"]]["maxSkew"] = step["after"]
        case "tolerate":
            spec.setdefault("tolerations", []).append(_toleration(step["subject"]))
        case _:
            _drop(spec, step["subject"], step["before"])


def _correct(spec: Object, before: str, after: str) -> None:
    """Ask for the label ``after`` where a pod asks for ``before``: ``key=value``."""
    (old, value), (key, new) = before.split("=", 1), after.split("=", 1)
    if (spec.get("nodeSelector") or {}).get(old) == value:
        del spec["nodeSelector"][old]
        spec["nodeSelector"][key] = new
        return
    for term in spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]:
        for expression in term.get("matchExpressions", ()):
            if expression["key"] == old and value in expression.get("values", ()):
                expression.update(key=key, values=[new])


def _drop(spec: Object, subject: str, index: int | None) -> None:
    what, _, which = subject.partition(" ")
    affinity = spec.get("affinity") or {}
    if what == "nodeSelector":
        del spec["nodeSelector"][which.partition("=")[0]]
    elif subject == "required nodeAffinity":
        del affinity["nodeAffinity"][REQUIRED]
    elif what == "hostPort":
        number, protocol = which.split("/")
        for container in spec["containers"]:
            for port in container.get("ports", ()):
                if (str(port.get("hostPort")), port.get("protocol", "TCP")) == (number, protocol):
                    del port["hostPort"]
    else:
        assert index is not None
        kind = subject.partition(" by ")[0]
        names = {"required podAntiAffinity": "podAntiAffinity", "required podAffinity": "podAffinity"}
        if kind in names:
            affinity[names[kind]][REQUIRED][index] = None
        else:
            spec["topologySpreadConstraints"][index] = None


def _uncordon(node: Object) -> None:
    spec = node.setdefault("spec", {})
    spec.pop("unschedulable", None)
    spec["taints"] = [each for each in spec.get("taints") or () if each["key"] != CORDON]


def _like(node: Object, name: str) -> Object:
    made = copy.deepcopy(node)
    made["metadata"]["name"] = name
    made["metadata"].pop("uid", None)
    if HOSTNAME in made["metadata"].get("labels", {}):
        made["metadata"]["labels"][HOSTNAME] = name
    _uncordon(made)
    return made
