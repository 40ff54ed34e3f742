"""Builds the kubectl commands that carry out a cure, if kubectl can do so."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from poseidon.kube.api.pods import Pod
from poseidon.offline.audit.findings import CureStep, format_quantity
from poseidon.pods.requests_and_limits import amounts

_WITH_TEMPLATE = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController"})
_HASH = "pod-template-hash"
_ANTI, _NEAR = "required podAntiAffinity", "required podAffinity"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class _Target(NamedTuple):
    """The object in which to change the spec of a pod: the pod, or the workload that has its template.

    ``name`` is the object's name as kubectl expects it; ``path`` is the JSON pointer to the pod spec in the object.
    """

    namespace: str
    name: str
    path: str

    @property
    def is_pod(self) -> bool:
        """Whether the object is the pod itself; Kubernetes allows changes of only a few fields of a pod."""
        return self.path == "/spec"

    def patch(self, *operations: dict[str, Any]) -> str:
        """Return the kubectl command that applies a JSON patch to the object."""
        content = shlex.quote(json.dumps(operations, separators=(",", ":")))
        return f"kubectl -n {self.namespace} patch {self.name} --type=json -p {content}"


def commands(pod: Pod, steps: Sequence[CureStep]) -> tuple[str, ...]:
    """Return a command for each step of a cure; () if some step has no command."""
    found = [_command(pod, each) for each in steps]
    return tuple(found) if all(found) else ()


def _command(pod: Pod, step: CureStep) -> str:
    """Return the command for a step, or "" if no command can carry it out."""
    target, found = _target(pod), ""
    match step.kind:
        case "label-node" | "annotate-node":
            verb = step.kind.removesuffix("-node")
            overwrite = " --overwrite" if None not in (step.before, step.after) else ""
            to = shlex.quote(f"{step.subject}-" if step.after is None else f"{step.subject}={step.after}")
            found = f"kubectl {verb} node {shlex.quote(step.node)} {to}{overwrite}"
        case "uncordon-node":
            found = f"kubectl uncordon {shlex.quote(step.node)}"
        case "tolerate":
            found = _tolerate(pod, target, step)
        case _ if not target.is_pod:
            found = _of_template(pod, target, step)
    return found


def _of_template(pod: Pod, target: _Target, step: CureStep) -> str:
    """Return the command for a change that only a pod's template allows, or "" if the pod has no template."""
    operations: list[dict[str, Any]] = []
    match step.kind:
        case "lower-request":
            return _lower(pod, target, step)
        case "fewer-replicas":
            return f"kubectl -n {target.namespace} scale {target.name} --replicas={step.after}"
        case "correct-selector":
            operations = list(_corrections(pod, target, step))
        case "widen-rule" if isinstance(step.after, str):
            if path := _path_of(step):
                path = f"{target.path}/{path}/topologyKey"
                operations = [{"op": "replace", "path": path, "value": step.after}]
        case "widen-rule":
            path = f"{target.path}/topologySpreadConstraints/{step.before}/maxSkew"
            operations = [{"op": "replace", "path": path, "value": step.after}]
        case "drop-constraint" if path := _path_of(step):
            operations = [{"op": "remove", "path": f"{target.path}/{path}"}]
    return target.patch(*operations) if operations else ""


def _target(pod: Pod) -> _Target:
    """Return the object that contains a pod's template, or the pod itself if no template can be changed."""
    namespace, owner = pod.metadata.namespace or "default", pod.metadata.controller()
    if owner is None or owner.kind not in _WITH_TEMPLATE:
        return _Target(namespace, f"pod/{pod.metadata.name}", "/spec")
    kind, name = owner.kind, owner.name
    suffix = f"-{pod.metadata.labels.get(_HASH, '')}"
    if kind == "ReplicaSet" and len(suffix) > 1 and name.endswith(suffix):
        kind, name = "Deployment", name.removesuffix(suffix)
    return _Target(namespace, f"{kind.lower()}/{name}", "/spec/template/spec")


def _tolerate(pod: Pod, target: _Target, step: CureStep) -> str:
    name, _, effect = step.subject.rpartition(":")
    key, _, value = name.partition("=")
    toleration = {"key": key, "operator": "Equal" if value else "Exists", "effect": effect}
    if value:
        toleration["value"] = value
    if pod.spec.tolerations:
        return target.patch({"op": "add", "path": f"{target.path}/tolerations/-", "value": toleration})
    return target.patch({"op": "add", "path": f"{target.path}/tolerations", "value": [toleration]})


def _lower(pod: Pod, target: _Target, step: CureStep) -> str:
    """Return the command that lowers a pod's request, or "" if several of its containers request the resource."""
    asks = {
        each.name: amounts(each.resources.requests, "requests", []).get(step.subject, 0)
        for each in pod.spec.containers
    }
    asks = {name: amount for name, amount in asks.items() if amount}
    if len(asks) != 1:
        return ""
    ((name, amount),) = asks.items()
    less = amount - (int(step.before or 0) - int(step.after or 0))
    if less <= 0:
        return ""
    stated = f"{step.subject}={format_quantity(step.subject, less, down=True)}"
    limits = f" --limits={stated}" if "/" in step.subject else ""
    return f"kubectl -n {target.namespace} set resources {target.name} -c {name} --requests={stated}{limits}"


def _corrections(pod: Pod, target: _Target, step: CureStep) -> Iterator[dict[str, Any]]:
    key, value = str(step.before).split("=", 1)
    new, wanted = str(step.after).split("=", 1)
    if step.subject == "nodeSelector":
        path = f"{target.path}/nodeSelector"
        if new == key:
            yield {"op": "replace", "path": f"{path}/{_escape(key)}", "value": wanted}
        else:
            yield {"op": "remove", "path": f"{path}/{_escape(key)}"}
            yield {"op": "add", "path": f"{path}/{_escape(new)}", "value": wanted}
        return
    rules = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    if rules is None or rules.required is None:
        return
    for term, each in enumerate(rules.required.node_selector_terms):
        for index, found in enumerate(each.match_expressions):
            if found.key == key and value in found.values:
                place = f"affinity/nodeAffinity/{_REQUIRED}/nodeSelectorTerms/{term}/matchExpressions/{index}"
                meant = {"key": new, "operator": "In", "values": [wanted]}
                yield {"op": "replace", "path": f"{target.path}/{place}", "value": meant}
                return


def _path_of(step: CureStep) -> str:
    """Return the path, within the pod spec, of the rule that a step changes, or "" if the rule has no single path."""
    rule, _, rest = step.subject.partition(" by ")
    if rule.startswith("nodeSelector "):
        return f"nodeSelector/{_escape(rule.removeprefix('nodeSelector ').partition('=')[0])}"
    if rule == "required nodeAffinity":
        return f"affinity/nodeAffinity/{_REQUIRED}"
    if rest and rule == "topologySpreadConstraint":
        return f"topologySpreadConstraints/{step.before}"
    kind = {_ANTI: "podAntiAffinity", _NEAR: "podAffinity"}.get(rule)
    return f"affinity/{kind}/{_REQUIRED}/{step.before}" if kind else ""


def _escape(key: str) -> str:
    """Return a key escaped for a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")
