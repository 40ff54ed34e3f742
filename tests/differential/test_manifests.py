"""Plans over the random clusters that a real kube-scheduler judges elsewhere, held against the checker.

``MANIFEST_SEEDS=300`` takes as many clusters instead of the usual few.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.judge.generation import random_cluster
from benchmarks.judge.objects import NAMESPACES, OURS, Object, named
from firmament.core.results import Delta, DeltaKind
from poseidon.embedding import load_configuration
from poseidon.manifests.loader import load_manifests
from poseidon.plan import Plan, make_plan
from tests.differential.checker import Rule
from tests.differential.drive import Outcome, check
from tests.differential.manifests import case_of
from tests.differential.world import Case

BLOCKS = 5
SEEDS = int(os.environ.get("MANIFEST_SEEDS", "25"))


@dataclass(frozen=True)
class Decided:
    """A cluster, what the plan does to it, and the placements in the order of their admission."""

    case: Case
    plan: Plan
    placed: tuple[Delta, ...]

    def checked(self, placed: tuple[Delta, ...] | None = None) -> Outcome:
        """The checker's word on the placements, or on others instead."""
        return check(self.case.cluster, self.case.waiting, self.placed if placed is None else placed)


def decided(seed: int, folder: Path) -> Decided:
    """The random cluster of a seed, planned."""
    return planned(seed, [*namespaces(), *random_cluster(seed).objects()], folder)


def planned(seed: int, objects: list[Object], folder: Path) -> Decided:
    """Plan a cluster out of its manifests."""
    path = folder / f"{seed}.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")
    plan = make_plan(load_manifests([str(path)]), load_configuration(None), 0.0, frozenset({OURS}))
    nodes = {each.pod: each.node for each in plan.bindings}
    placed = tuple(Delta(DeltaKind.PLACE, pod, nodes[pod]) for pod in plan.admitted)
    return Decided(case_of(seed, objects), plan, placed)


def namespaces() -> list[Object]:
    """The namespaces of all clusters."""
    return [
        {**(made := named("Namespace", name)), "metadata": {**made["metadata"], "labels": labels}}
        for name, labels in NAMESPACES.items()
    ]


@pytest.mark.parametrize("block", range(BLOCKS))
def test_plans_over_manifests_keep_every_rule_and_leave_nothing_behind(block: int, tmp_path: Path):
    faults: list[str] = []
    placed = 0
    for seed in range(block, SEEDS, BLOCKS):
        found = decided(seed, tmp_path)
        outcome = found.checked()
        placed += len(outcome.order)
        faults += [f"{seed}: {fault}" for fault in (*outcome.faults, *outcome.left)]
        assert {each.pod for each in found.plan.pending} == outcome.pending.keys(), seed
        assert len(found.placed) == len(found.plan.bindings), seed
        assert (found.plan.preemptions, found.plan.migrations) == ((), ()), seed
        reserved = [each.pod for each in found.plan.pending if "reserved" in each.reason]
        assert reserved == [], seed
    assert faults == []
    assert placed > SEEDS


# --- that the check can fail ------------------------------------------------------------------------------------------


def test_a_binding_moved_to_a_node_that_breaks_a_rule_is_found(tmp_path: Path):
    """Moved to a node that is cordoned, by pods that tolerate nothing."""
    moved = 0
    for seed in range(5):
        found = decided(seed, tmp_path)
        cordoned = [node.name for node in found.case.cluster.nodes.values() if node.unschedulable]
        intolerant = [each for each in found.placed if not found.case.waiting[each.uid].tolerations]
        for node in cordoned:
            one = intolerant[moved % len(intolerant)]
            changed = tuple(each._replace(machine=node) if each == one else each for each in found.placed)
            assert any(
                fault.startswith(f"{one.uid} on {node}: breaks {Rule.CORDON.value}")
                for fault in found.checked(changed).faults
            )
            moved += 1
    assert moved > 1


def test_every_rule_is_seen_to_be_broken_where_all_bindings_move_by_one_node(tmp_path: Path):
    seen: set[str] = set()
    for seed in range(10):
        found = decided(seed, tmp_path)
        names = [*found.case.cluster.nodes]
        following = dict(zip(names, [*names[1:], names[0]], strict=True))
        moved = tuple(each._replace(machine=following[each.machine]) for each in found.placed)
        seen |= broken(found.checked(moved).faults)
    never_drawn = {Rule.NODE_NAME, Rule.NOT_READY}
    assert seen == {rule.value for rule in Rule if rule not in never_drawn}


def test_a_pod_without_its_binding_is_found_to_be_left_behind(tmp_path: Path):
    for seed in range(5):
        found = decided(seed, tmp_path)
        last = found.placed[-1]
        left = found.checked(found.placed[:-1]).left
        named_alike = [
            uid for uid, spec in found.case.waiting.items() if spec == found.case.waiting[last.uid]
        ]
        assert any(line.startswith(f"{uid}: left behind") for line in left for uid in named_alike)


def broken(faults: Iterable[str]) -> set[str]:
    """The rules that lines name."""
    return {rule for fault in faults for rule in fault.partition(": breaks ")[2].split(", ")}
