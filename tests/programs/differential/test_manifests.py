"""Plans over the random clusters that a real kube-scheduler judges elsewhere, held against the checker.

Every binding, taken in the order of admission, keeps every rule; no pod stays pending that some node would accept.
There are no exceptions: a gate, a missing claim and the like are rules that no node keeps.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from firmament.core.results import Delta
from tests.programs.differential.checker import Rule
from tests.programs.differential.manifest_plans import Planned, planned
from tests.support.effort import examples

BLOCKS = 5
SEEDS = examples(25, 5, slow=True)
NEVER_DRAWN = {Rule.NODE_NAME, Rule.NOT_READY}


@pytest.mark.parametrize("block", range(BLOCKS))
def test_plans_over_manifests_keep_every_rule_and_leave_nothing_behind(block: int, tmp_path: Path):
    seeds = range(block, SEEDS, BLOCKS)
    faults = [f"{seed}: {fault}" for seed in seeds for fault in faults_of(planned(seed, tmp_path))]
    assert faults == []


def faults_of(found: Planned) -> Iterable[str]:
    """Lines on what is wrong with a plan."""
    outcome, plan = found.checked(), found.plan
    yield from outcome.faults
    yield from outcome.left
    if len(found.placed) != len(plan.bindings):
        yield f"{len(found.placed)} pods admitted, {len(plan.bindings)} bound"
    if {each.pod for each in plan.pending} != outcome.pending.keys():
        yield "pods without a node that do not count as pending, or the reverse"
    if plan.preemptions or plan.migrations:
        yield "pods have to leave their nodes"
    yield from (f"{each.pod}: waits for a reservation" for each in plan.pending if "reserved" in each.reason)


# --- that the check can fail -----------------------------------------------------------------------------------------


@pytest.mark.full
def test_a_binding_moved_to_a_node_that_breaks_a_rule_is_found(tmp_path: Path):
    """Moved to nodes that are cordoned, of pods that tolerate nothing."""
    moved = 0
    for seed in range(4):
        found = planned(seed, tmp_path)
        one = next(each for each in found.placed if not found.case.waiting[each.uid].tolerations)
        for node in (each.name for each in found.case.cluster.nodes.values() if each.unschedulable):
            outcome = found.checked(with_change(found.placed, one, node))
            expected = f"{one.uid} on {node}: breaks {Rule.CORDON.value}"
            assert any(fault.startswith(expected) for fault in outcome.faults)
            moved += 1
    assert moved > 1


@pytest.mark.full
def test_every_rule_is_seen_to_be_broken_where_all_bindings_move_by_one_node(tmp_path: Path):
    seen: set[str] = set()
    for seed in range(16):
        found = planned(seed, tmp_path)
        names = [*found.case.cluster.nodes]
        following = dict(zip(names, [*names[1:], names[0]], strict=True))
        outcome = found.checked([each._replace(machine=following[each.machine]) for each in found.placed])
        seen.update(*(fault.partition(": breaks ")[2].split(", ") for fault in outcome.faults))
    assert seen == {rule.value for rule in Rule if rule not in NEVER_DRAWN}


@pytest.mark.full
def test_a_pod_without_its_binding_is_found_to_be_left_behind(tmp_path: Path):
    found = planned(0, tmp_path)
    *others, last = found.placed
    assert any(line.startswith(f"{last.uid}: left behind") for line in found.checked(others).left)


def with_change(placed: Iterable[Delta], one: Delta, node: str) -> list[Delta]:
    """Placements, one of them on another node."""
    return [each._replace(machine=node) if each == one else each for each in placed]
