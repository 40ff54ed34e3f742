"""Adds labels to machines that name their HyperNode (of Volcano) in each tier."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping

from poseidon.kube.api.other_projects.hyper_nodes import (
    NO_TIERS,
    HyperNode,
    HyperNodeMember,
    Tiers,
    name_tier,
)
from poseidon.kube.parsing.defects import shorten
from poseidon.nodes.added_labels import AddedLabels
from poseidon.pod_rules.label_selectors import matches_labels

_log = logging.getLogger(__name__)

HYPER_NODE = "HyperNode"
"""The type of a HyperNode's members that are HyperNodes themselves."""
LONGEST_PATTERN = 256
MOST_REPETITIONS = 3
"""Limits of a pattern, because each repetition may multiply the time to match a long name."""
_REPEATED_GROUP = re.compile(r"\)[*+{]")
_REPETITION = re.compile(r"[*+]|\{\d*,")


class HyperNodes(AddedLabels):
    """The HyperNodes that are known, and the nodes in them."""

    def __init__(self) -> None:
        super().__init__()
        self._found: dict[str, HyperNode] = {}
        self._members: _Members | None = None

    @property
    def tiers(self) -> Tiers:
        """The tiers of all known HyperNodes."""
        return self._compile().tiers

    def put(self, uid: str, found: HyperNode) -> None:
        """Add or update a HyperNode."""
        known = self._found.get(uid)
        self._found[uid] = found
        if known is None or known.spec != found.spec:
            self._members = None

    def remove(self, uid: str) -> None:
        """Remove a HyperNode; an unknown HyperNode is ignored."""
        if self._found.pop(uid, None) is not None:
            self._members = None

    def take_labels(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yield, each once, the nodes whose labels by tiers have changed, with these labels."""
        if not self._found and not self._labels:
            return
        yield from self._take_changed(self._compile().make_labels)

    def _compile(self) -> _Members:
        """Return the members of all HyperNodes, computed again if HyperNodes have changed."""
        if self._members is None:
            self._members = _Members({each.metadata.name: each for each in self._found.values()})
            self._todo.update(self._nodes)
        return self._members


class _Members:
    """The members of all HyperNodes; ``found``: HyperNodes by name."""

    def __init__(self, found: Mapping[str, HyperNode]) -> None:
        self._tier = {name: each.spec.tier for name, each in found.items()}
        self._parent: dict[str, str] = {}
        self._exact: dict[str, list[str]] = {}
        self._patterns: list[tuple[re.Pattern[str], str]] = []
        self._selecting: list[tuple[HyperNodeMember, str]] = []
        for name in sorted(found):
            for index, member in enumerate(found[name].spec.members):
                fault = self._add(name, member)
                if fault:
                    _log.warning(
                        'HyperNode has a defect name=%s defect="spec.members[%d].selector.%s"',
                        name,
                        index,
                        fault,
                    )
        names = {each.spec.tier_name: each.spec.tier for _, each in sorted(found.items())}
        names.pop("", None)
        levels = tuple(sorted({*self._tier.values()}))
        self.tiers = Tiers(levels, names) if found else NO_TIERS

    def _add(self, name: str, member: HyperNodeMember) -> str:
        """Add a member; return what is wrong with its selector, "" for nothing."""
        exact, regex = member.selector.exact_match, member.selector.regex_match
        if member.type == HYPER_NODE:
            if exact is not None:
                self._parent.setdefault(exact.name, name)
            return "" if exact is not None else "exactMatch: missing; name the HyperNode"
        if exact is not None:
            self._exact.setdefault(exact.name, []).append(name)
        elif regex is not None:
            fault = _find_pattern_fault(regex.pattern)
            if fault:
                return f"regexMatch.pattern: {shorten(repr(regex.pattern))} {fault}; no node is taken by it"
            self._patterns.append((re.compile(regex.pattern), name))
        elif member.selector.label_match is not None:
            self._selecting.append((member, name))
        return ""

    def make_labels(self, node: str, labels: Mapping[str, str]) -> dict[str, str]:
        """Return the labels of a node: for each tier, its HyperNode of the highest tier up to that one."""
        inside = {*self._list_all(node, labels)}
        ranked = sorted(inside, key=lambda name: (-self._tier[name], name))
        found = {}
        for tier in self.tiers.levels:
            name = next((name for name in ranked if self._tier[name] <= tier), "")
            if name:
                found[name_tier(tier)] = name
        return found

    def _list_all(self, node: str, labels: Mapping[str, str]) -> Iterator[str]:
        """Yield the HyperNodes that contain a node, directly or through other HyperNodes."""
        direct = [*self._exact.get(node, ())]
        direct += [name for pattern, name in self._patterns if pattern.search(node)]
        for member, name in self._selecting:
            selector = member.selector.label_match
            if selector is not None and (selector.match_labels or selector.match_expressions):
                direct += [name] if matches_labels(selector, labels) else []
        for each in direct:
            at, seen = each, set[str]()
            while at in self._tier and at not in seen:
                seen.add(at)
                yield at
                at = self._parent.get(at, "")


def _find_pattern_fault(pattern: str) -> str:
    """Return why a pattern is refused, such as because it may take too much time; "" if it is accepted."""
    if len(pattern) > LONGEST_PATTERN:
        return f"is longer than {LONGEST_PATTERN} characters"
    if not pattern:
        return "is empty"
    if _REPEATED_GROUP.search(pattern) or len(_REPETITION.findall(pattern)) > MOST_REPETITIONS:
        return f"repeats a group, or more than {MOST_REPETITIONS} things; use a simpler one, or labelMatch"
    try:
        re.compile(pattern, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is no regular expression: {error}"
    return ""
