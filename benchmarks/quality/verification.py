"""Checks by the manifests alone whether placements obey the rules of their pods, so that no figure hides a broken
rule.

Looks at the end of a run, one rule after another: node selectors and required node affinity, zones of bound volumes,
required pod affinity and anti-affinity, and DoNotSchedule spread. It shares no code with the scheduler. Terms with
other namespaces are counted as unchecked.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

Object = dict[str, Any]
Labels = Mapping[str, str]


def count_broken_rules(objects: Iterable[Object], node_of: Mapping[str, str]) -> dict[str, int]:
    """Count pods per broken rule. ``node_of``: node by ``namespace/name`` of all pods that have one."""
    check = _Check(objects, node_of)
    broken: Counter[str] = Counter()
    for uid, node in node_of.items():
        for rule in check.iter_broken(check.pods[uid], check.labels[node]):
            broken[rule] += 1
    return dict(broken)


class _Check:
    def __init__(self, objects: Iterable[Object], node_of: Mapping[str, str]) -> None:
        self.pods: dict[str, Object] = {}
        self.labels: dict[str, dict[str, str]] = {}
        self._volumes: dict[str, Object] = {}
        self._claims: dict[str, Object] = {}
        self._counts: dict[str, Counter[str]] = {}
        self._eligible: dict[str, set[str]] = {}
        for each in objects:
            metadata = each["metadata"]
            match each["kind"]:
                case "Node":
                    # The name is added to the labels, so that matchFields can be checked in the same way.
                    self.labels[metadata["name"]] = {**_labels(each), "": metadata["name"]}
                case "Pod":
                    self.pods[f"{metadata['namespace']}/{metadata['name']}"] = each
                case "PersistentVolume":
                    self._volumes[metadata["name"]] = each
                case "PersistentVolumeClaim":
                    self._claims[f"{metadata['namespace']}/{metadata['name']}"] = each
        self._groups: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._groups_with: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
        for uid, node in node_of.items():
            pod = self.pods[uid]
            group = (pod["metadata"]["namespace"], json.dumps(_labels(pod), sort_keys=True))
            self._groups[group][node] += 1
            for pair in _labels(pod).items():
                self._groups_with[pair].add(group)

    def iter_broken(self, pod: Object, node: Labels) -> Iterable[str]:
        """Yield names of the rules that a pod breaks on a node."""
        spec, affinity = pod["spec"], pod["spec"].get("affinity", {})
        if not self._selects(spec, node):
            yield "node affinity"
        if not all(self._reachable(pod, volume, node) for volume in spec.get("volumes", ())):
            yield "volume"
        for term in _list_required(affinity, "podAffinity"):
            others, anywhere, own = self._find_others(pod, term, node)
            if not others and not (own and not anywhere):
                yield "affinity"
        for term in _list_required(affinity, "podAntiAffinity"):
            others, _, _ = self._find_others(pod, term, node)
            if others and term["topologyKey"] in node:
                yield "anti-affinity"
        for constraint in spec.get("topologySpreadConstraints", ()):
            if constraint["whenUnsatisfiable"] == "DoNotSchedule" and self._is_skewed(pod, constraint, node):
                yield "topology spread"
        if any("namespaces" in term or "namespaceSelector" in term for term in _all_terms(affinity)):
            yield "unchecked"

    def _selects(self, spec: Object, node: Labels) -> bool:
        wanted: Labels = spec.get("nodeSelector", {})
        required = spec.get("affinity", {}).get("nodeAffinity", {})
        selector = required.get("requiredDuringSchedulingIgnoredDuringExecution")
        return wanted.items() <= node.items() and (selector is None or _any_term(selector, node))

    def _reachable(self, pod: Object, volume: Object, node: Labels) -> bool:
        claim = volume.get("persistentVolumeClaim")
        if claim is None:
            return True
        known = self._claims.get(f"{pod['metadata']['namespace']}/{claim['claimName']}")
        name = known["spec"].get("volumeName", "") if known else ""
        if not name:
            return True
        affinity = self._volumes[name]["spec"].get("nodeAffinity")
        return affinity is None or _any_term(affinity["required"], node)

    def _find_others(self, pod: Object, term: Object, node: Labels) -> tuple[int, int, bool]:
        """Return other pods that a term selects, in the node's domain and anywhere, and whether it selects the pod
        itself.
        """
        counts = self._domain_counts(pod, term)
        own = _matches(term.get("labelSelector", {}), _labels(pod))
        here = counts[node.get(term["topologyKey"], "")] if term["topologyKey"] in node else 0
        return here - own, counts.total() - own, own

    def _is_skewed(self, pod: Object, constraint: Object, node: Labels) -> bool:
        key = constraint["topologyKey"]
        if key not in node:
            return True
        counts = self._domain_counts(pod, constraint)
        least = min(counts[domain] for domain in self._domains(pod, key))
        return bool(counts[node[key]] - least > constraint["maxSkew"])

    def _domains(self, pod: Object, key: str) -> set[str]:
        spec = {name: pod["spec"].get(name, {}) for name in ("nodeSelector", "affinity")}
        text = json.dumps([key, spec["nodeSelector"], spec["affinity"].get("nodeAffinity")], sort_keys=True)
        if text not in self._eligible:
            self._eligible[text] = {
                node[key] for node in self.labels.values() if key in node and self._selects(spec, node)
            }
        return self._eligible[text]

    def _domain_counts(self, pod: Object, term: Object) -> Counter[str]:
        """Return pods of the same namespace that the term selects, by domain; pods on nodes without the key
        do not count.
        """
        key, namespace = term["topologyKey"], pod["metadata"]["namespace"]
        selector = term.get("labelSelector", {})
        text = json.dumps([key, namespace, selector], sort_keys=True)
        if text not in self._counts:
            counts: Counter[str] = Counter()
            for group in self._candidates(selector):
                if group[0] == namespace and _matches(selector, json.loads(group[1])):
                    for node, count in self._groups[group].items():
                        if key in self.labels[node]:
                            counts[self.labels[node][key]] += count
            self._counts[text] = counts
        return self._counts[text]

    def _candidates(self, selector: Object) -> Iterable[tuple[str, str]]:
        """Return groups of pods that may match: pods with one of the required labels, or all pods."""
        for pair in selector.get("matchLabels", {}).items():
            return self._groups_with[pair]
        return self._groups


def _list_required(affinity: Object, kind: str) -> list[Object]:
    return list(affinity.get(kind, {}).get("requiredDuringSchedulingIgnoredDuringExecution", ()))


def _all_terms(affinity: Object) -> list[Object]:
    return _list_required(affinity, "podAffinity") + _list_required(affinity, "podAntiAffinity")


def _labels(obj: Object) -> dict[str, str]:
    return dict(obj["metadata"].get("labels", {}))


def _any_term(selector: Object, node: Labels) -> bool:
    return any(_term(term, node) for term in selector["nodeSelectorTerms"])


def _term(term: Object, node: Labels) -> bool:
    fields = [{**each, "key": ""} for each in term.get("matchFields", ())]
    expressions = [*term.get("matchExpressions", ()), *fields]
    return bool(expressions) and all(_expression(each, node) for each in expressions)


def _matches(selector: Object, labels: Labels) -> bool:
    return selector.get("matchLabels", {}).items() <= labels.items() and all(
        _expression(each, labels) for each in selector.get("matchExpressions", ())
    )


def _expression(expression: Object, labels: Labels) -> bool:
    value = labels.get(expression["key"])
    match expression["operator"]:
        case "In":
            return value in expression["values"]
        case "NotIn":
            return value not in expression["values"]
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case operator:
            raise ValueError(f"operator {operator!r} is not checked")
