"""The rules again, incrementally: sets of nodes as bits of an integer, counts per domain, for rivals that try much.

``Layout`` holds what stays, ``Board`` what placements change. Tests hold every verdict against the checker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tests.programs.differential.checker import (
    broken_by_node,
    meets_all,
    node_affinity_admits,
    ports_clash,
    selects,
    selects_all,
    untolerated,
)
from tests.programs.differential.world import Cluster, Node, PodSpec, Spread


@dataclass(frozen=True)
class Rule:
    """A hard spread rule: nodes of each domain, and of those the ones that count (both as bits)."""

    max_skew: int
    domains: tuple[int, ...]
    counted: int
    few: bool
    own: int


@dataclass(frozen=True)
class Effect:
    """What a pod on a node does to pods of spec ``target``.

    ``keeps_out``: keys of the domains that it closes; ``draws``: it is one that they want near; ``counts``: rules of
    theirs that count it.
    """

    target: int
    keeps_out: tuple[str, ...]
    clashes: bool
    draws: bool
    counts: tuple[int, ...]


class Layout:
    """Tables over the nodes and specs of a cluster. ``specs`` are those to be placed; a spec is known by its name."""

    def __init__(self, cluster: Cluster, specs: list[PodSpec]) -> None:
        self.cluster = cluster
        self.specs = specs
        self.nodes = list(cluster.nodes.values())
        self.bit = {node.name: index for index, node in enumerate(self.nodes)}
        self.resources = sorted({"pods"}.union(*(spec.requests for spec in specs)) if specs else {"pods"})
        self.open = [self.mask(partial(self._admits, spec)) for spec in specs]
        self.keyed = [self.mask(partial(_has, keys=[term.key for term in spec.affinity])) for spec in specs]
        self.begins = [bool(spec.affinity) and selects_all(cluster, spec.affinity, spec) for spec in specs]
        self.rules = [
            [self._rule(spec, rule) for rule in spec.spreads if rule.do_not_schedule] for spec in specs
        ]
        self._domains: dict[tuple[str, int], int] = {}
        self._effects: dict[tuple[str, bool], list[Effect]] = {}

    def mask(self, holds: Callable[[Node], bool]) -> int:
        """Nodes for which something holds."""
        return sum(1 << index for index, node in enumerate(self.nodes) if holds(node))

    def request(self, spec: PodSpec) -> list[int]:
        """What a pod takes of each resource."""
        return [1 if resource == "pods" else spec.requests.get(resource, 0) for resource in self.resources]

    def domain(self, key: str, node: int) -> int:
        """Nodes in the domain of a node; none if it lacks the key."""
        if (key, node) not in self._domains:
            value = self.nodes[node].labels.get(key)
            self._domains[key, node] = (
                0 if value is None else self.mask(partial(_carries, key=key, value=value))
            )
        return self._domains[key, node]

    def effects(self, spec: PodSpec, *, terminating: bool = False) -> list[Effect]:
        """What a pod of ``spec``, placed anywhere, does to others."""
        known = self._effects.get((spec.name, terminating))
        if known is None:
            every = [self._effect(spec, index, terminating) for index in range(len(self.specs))]
            known = [each for each in every if each.keeps_out or each.clashes or each.draws or each.counts]
            self._effects[spec.name, terminating] = known
        return known

    def _admits(self, spec: PodSpec, node: Node) -> bool:
        hard = [rule.key for rule in spec.spreads if rule.do_not_schedule]
        return not any(broken_by_node(spec, node)) and _has(node, hard)

    def _rule(self, spec: PodSpec, rule: Spread) -> Rule:
        keys = [each.key for each in spec.spreads if each.do_not_schedule]

        def counted(node: Node) -> bool:
            return (
                _has(node, keys)
                and (not rule.honor_affinity or node_affinity_admits(spec, node))
                and not (rule.honor_taints and untolerated(spec.tolerations, node.taints))
            )

        values = sorted({node.labels[rule.key] for node in self.nodes if rule.key in node.labels})
        domains = tuple(self.mask(partial(_carries, key=rule.key, value=value)) for value in values)
        included = self.mask(counted)
        return Rule(
            max_skew=rule.max_skew,
            domains=domains,
            counted=included,
            few=sum(bool(domain & included) for domain in domains) < rule.min_domains,
            own=int(rule.selector is not None and meets_all(rule.selector, spec.labels)),
        )

    def _effect(self, spec: PodSpec, target: int, terminating: bool) -> Effect:
        other, cluster = self.specs[target], self.cluster
        theirs = [term.key for term in other.anti_affinity if selects(cluster, term, spec)]
        ours = [term.key for term in spec.anti_affinity if selects(cluster, term, other)]
        hard = [rule for rule in other.spreads if rule.do_not_schedule]
        counts = spec.namespace == other.namespace and not terminating
        return Effect(
            target=target,
            keeps_out=tuple(dict.fromkeys(theirs + ours)),
            clashes=any(ports_clash(a, b) for a in spec.ports for b in other.ports),
            draws=bool(other.affinity) and selects_all(cluster, other.affinity, spec),
            counts=tuple(
                index
                for index, rule in enumerate(hard)
                if counts and rule.selector and meets_all(rule.selector, spec.labels)
            ),
        )


def _has(node: Node, keys: list[str]) -> bool:
    return all(key in node.labels for key in keys)


def _carries(node: Node, key: str, value: str) -> bool:
    return node.labels.get(key) == value


class Board:
    """Where a layout's specs may go now."""

    __slots__ = ("_counts", "_fits", "_free", "_layout", "_near", "_requests", "_shut")

    def __init__(self, layout: Layout) -> None:
        """The board with the pods of the layout's cluster on it."""
        self._layout = layout
        self._requests = [layout.request(spec) for spec in layout.specs]
        self._free = [
            [node.allocatable.get(resource, 0) for resource in layout.resources] for node in layout.nodes
        ]
        self._shut = [0] * len(layout.specs)
        self._near = [[0] * len(spec.affinity) for spec in layout.specs]
        self._counts = [[[0] * len(rule.domains) for rule in rules] for rules in layout.rules]
        self._fits = [0] * len(layout.specs)
        for pod, node in layout.cluster.located():
            at = layout.bit[node.name]
            request = layout.request(pod.spec)
            self._free[at] = [left - amount for left, amount in zip(self._free[at], request, strict=True)]
            self._affect(layout.effects(pod.spec, terminating=pod.terminating), at)
        for index in range(len(layout.specs)):
            self._fits[index] = sum(1 << at for at in range(len(layout.nodes)) if self._fit(index, at))

    def copy(self) -> Board:
        """An independent board in the same position."""
        other = object.__new__(Board)
        other._layout, other._requests = self._layout, self._requests
        other._free, other._shut, other._fits = list(self._free), list(self._shut), list(self._fits)
        other._near = [list(row) for row in self._near]
        other._counts = [[list(row) for row in rules] for rules in self._counts]
        return other

    def accepting(self, spec: int) -> int:
        """Nodes that accept a pod of the spec, as bits."""
        layout = self._layout
        mask = self.reachable(spec)
        near = self._near[spec]
        if near and mask:
            together = mask
            for domains in near:
                together &= domains
            begins = layout.begins[spec] and not any(near)
            mask = mask & layout.keyed[spec] if begins else together
        for rule, counts in zip(layout.rules[spec], self._counts[spec], strict=True):
            if not mask:
                break
            mask &= _within_skew(rule, counts)
        return mask

    def reachable(self, spec: int) -> int:
        """Nodes that rules which only ever tighten leave open; no later placement adds to them."""
        return self._layout.open[spec] & self._fits[spec] & ~self._shut[spec]

    def free(self, at: int) -> list[int]:
        """What is left of each resource on a node."""
        return self._free[at]

    def place(self, spec: int, at: int) -> None:
        """Put a pod of the spec on a node, which accepts it."""
        request = self._requests[spec]
        self._free[at] = [left - amount for left, amount in zip(self._free[at], request, strict=True)]
        for index in range(len(self._fits)):
            if self._fits[index] >> at & 1 and not self._fit(index, at):
                self._fits[index] &= ~(1 << at)
        self._affect(self._layout.effects(self._layout.specs[spec]), at)

    def _fit(self, spec: int, at: int) -> bool:
        return all(
            amount <= left or amount == 0
            for amount, left in zip(self._requests[spec], self._free[at], strict=True)
        )

    def _affect(self, effects: list[Effect], at: int) -> None:
        layout = self._layout
        for effect in effects:
            target = effect.target
            for key in effect.keeps_out:
                self._shut[target] |= layout.domain(key, at)
            if effect.clashes:
                self._shut[target] |= 1 << at
            if effect.draws:
                near = self._near[target]
                for index, term in enumerate(layout.specs[target].affinity):
                    near[index] |= layout.domain(term.key, at)
            for index in effect.counts:
                rule = layout.rules[target][index]
                if rule.counted >> at & 1:
                    domain = next(d for d, nodes in enumerate(rule.domains) if nodes >> at & 1)
                    self._counts[target][index][domain] += 1


def _within_skew(rule: Rule, counts: list[int]) -> int:
    """Nodes of the domains that may take one more."""
    fewest = 0
    if not rule.few:
        fewest = min(
            (n for n, domain in zip(counts, rule.domains, strict=True) if domain & rule.counted), default=0
        )
    allowed = 0
    for count, domain in zip(counts, rule.domains, strict=True):
        if count + rule.own - fewest <= rule.max_skew:
            allowed |= domain
    return allowed
