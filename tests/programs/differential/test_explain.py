"""What the core says of each node agrees with the checker, and the cause that it names is a true one."""

from __future__ import annotations

import pytest

from tests.programs.differential.checker import Rule, broken_rules
from tests.programs.differential.drive import check, core
from tests.programs.differential.generate import WIDE, case
from tests.programs.differential.translation import Classes
from tests.support.effort import examples

CASES = 15
CAUSES = {
    "node(s) were unschedulable": {Rule.CORDON},
    "node(s) were not ready": {Rule.NOT_READY},
    "node(s) had untolerated taint": {Rule.TAINT},
    "node(s) didn't match the requested node name": {Rule.NODE_NAME},
    "node(s) didn't satisfy plugin(s) [NodeAffinity]": {Rule.NODE_AFFINITY},
    "node(s) didn't match Pod's node affinity/selector": {Rule.NODE_AFFINITY},
    "node(s) didn't match PersistentVolume's node affinity": {Rule.VOLUMES},
    "node(s) didn't have free ports": {Rule.PORTS},
    "Insufficient ": {Rule.RESOURCES},
    "Too many pods": {Rule.RESOURCES},
    "node(s) didn't match pod topology spread constraints (missing": {Rule.SPREAD_KEY},
    "node(s) didn't match pod topology spread constraints": {Rule.SPREAD, Rule.SPREAD_KEY},
    "node(s) didn't match pod affinity rules": {Rule.AFFINITY},
    "node(s) didn't match pod anti-affinity rules": {Rule.ANTI_AFFINITY},
    "node(s) didn't satisfy existing pods anti-affinity rules": {Rule.EXISTING_ANTI_AFFINITY},
}
"""Beginnings of reasons in kube-scheduler's words, the longer before the shorter: rules that each may stand for."""


def cause(reason: str) -> set[Rule]:
    return next(rules for words, rules in CAUSES.items() if reason.startswith(words))


@pytest.mark.parametrize("block", range(examples(3, least=1)))
def test_verdict_of_every_node(block: int):
    refused = 0
    for seed in range(block * CASES, (block + 1) * CASES):
        made = case(seed, WIDE)
        scheduler = core(made, Classes())
        outcome = check(made.cluster, made.waiting, scheduler.run_round().deltas)
        one_of_each = {spec.name: uid for uid, spec in made.waiting.items()}
        for uid in one_of_each.values():
            others = outcome.cluster.copy()
            others.pods.pop(uid, None)  # it is judged as if it waited
            for verdict in scheduler.explain(uid).machines:
                broken = broken_rules(others, made.waiting[uid], verdict.machine)
                where = f"case {seed}: {uid} on {verdict.machine}: {verdict.reasons} {broken}"
                assert verdict.feasible == (not broken), where
                assert bool(verdict.reasons) == bool(broken), where
                if verdict.reasons:
                    refused += 1
                    assert cause(verdict.reasons[0]).intersection(broken), where
    assert refused > 100


@pytest.mark.parametrize("block", range(examples(2, least=1)))
def test_reasons_of_pending_pods_account_for_every_node(block: int):
    for seed in range(block * CASES, (block + 1) * CASES):
        made = case(seed, WIDE)
        result = core(made, Classes()).run_round()
        outcome = check(made.cluster, made.waiting, result.deltas)
        told = {uid: group for group in result.unscheduled for uid in group.uids}
        assert set(told) == set(outcome.pending), seed
        for uid, spec in outcome.pending.items():
            broken = {name: broken_rules(outcome.cluster, spec, name) for name in outcome.cluster.nodes}
            resources = [count for reason, count in told[uid].reasons if cause(reason) == {Rule.RESOURCES}]
            others = sum(count for _, count in told[uid].reasons) - sum(resources)
            # A node that lacks several resources counts for each.
            assert others + max(resources, default=0) <= len(broken) <= others + sum(resources), (
                f"{seed} {uid}"
            )
            for reason, count in told[uid].reasons:
                possible = sum(bool(cause(reason).intersection(rules)) for rules in broken.values())
                assert 0 < count <= possible, f"case {seed}: {uid}: {count} {reason}, at most {possible}"
