"""Machines of random clusters with all rules are emptied one by one: an independent checker finds every place allowed.

The pods run where they do by no rule of their own; what moves is held to all of its rules, in the order of the moves.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from firmament.core.configuration import CoreConfiguration
from firmament.core.rescheduling.trials import Trials
from firmament.core.results import Delta, DeltaKind
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.programs.differential.checker import accepting_nodes
from tests.programs.differential.drive import check
from tests.programs.differential.generate import WIDE, case
from tests.programs.differential.translation import Classes, machines, namespaces
from tests.programs.differential.world import Case, Cluster, Taint
from tests.support.effort import examples

BLOCKS = examples(4, least=1)
CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
SEEDS = examples(1000, slow=True)


def trials_of(made: Case) -> Trials:
    scheduler = Scheduler(configuration=CoreConfiguration(), solver=OrToolsSolver(), clock=lambda: 0.0)
    cluster = made.cluster
    events = [
        *namespaces(cluster.namespaces),
        *machines(cluster.nodes.values()),
        *Classes().bound(cluster.pods),
    ]
    return Trials(scheduler, events, [uid for uid, pod in cluster.pods.items() if pod.terminating])


def cordoned(cluster: Cluster, machine: str, moving: set[str]) -> Cluster:
    left = cluster.copy()
    node = left.nodes[machine]
    left.nodes[machine] = replace(node, unschedulable=True, taints=(*node.taints, CORDON))
    for uid in moving:
        del left.pods[uid]
    return left


@pytest.mark.parametrize("block", range(BLOCKS))
def test_whoever_moves_is_placed_by_all_rules_and_nobody_stays_who_could_go(block: int):
    emptied = kept = 0
    for seed in range(block, SEEDS, BLOCKS):
        made = case(seed, WIDE)
        trials = trials_of(made)
        untouched = trials.save()
        for machine in made.cluster.nodes:
            moving = set(trials.tasks_on(machine))
            left = cordoned(made.cluster, machine, moving)
            specs = {uid: made.cluster.pods[uid].spec for uid in moving}
            if trials.empty([machine]):
                deltas = [Delta(DeltaKind.PLACE, uid, name) for uid, name in trials.moved.items()]
                outcome = check(left, specs, deltas)
                assert (outcome.faults, outcome.pending) == ((), {}), f"seed {seed}: {machine}"
                emptied += bool(moving)
            elif len(moving) == 1:
                ((uid, spec),) = specs.items()
                places = accepting_nodes(left, spec)
                assert not places or machine in places, f"seed {seed}: {uid} could leave {machine}"
                kept += 1
            trials.restore(untouched)
    assert emptied > 20
    assert kept > 0


@pytest.mark.parametrize("block", range(BLOCKS))
def test_moves_in_waves_are_rehearsed_as_an_independent_checker_has_them(block: int):
    made_moves = refused = 0
    for seed in range(block, SEEDS, BLOCKS):
        made = case(seed, WIDE)
        names = sorted(made.cluster.nodes)
        machine = names[seed % len(names)]
        waves = []
        for uid in sorted(trials_of(made).tasks_on(machine)):
            left = cordoned(made.cluster, machine, {uid})
            places = accepting_nodes(left, made.cluster.pods[uid].spec) or names
            target = places[seed % len(places)]
            if target != machine:
                waves.append({uid: target})
        failed = trials_of(made).rehearse(waves, [machine])
        cluster = cordoned(made.cluster, machine, set())
        for wave in waves:
            ((uid, target),) = wave.items()
            moving = cluster.pods.pop(uid)
            allowed = target in accepting_nodes(cluster, moving.spec)
            assert allowed == (uid not in failed), f"seed {seed}: {uid} to {target}"
            cluster.pods[uid] = moving._replace(node=target) if allowed else moving
            made_moves, refused = made_moves + allowed, refused + (not allowed)
    assert made_moves > 10
    assert refused > 0
