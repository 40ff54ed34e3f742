"""The core on random clusters: every placement keeps every rule, nothing placeable waits, and few do better."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

import pytest

from tests.programs.differential.checker import accepting_nodes
from tests.programs.differential.drive import MANNERS, Manner, place
from tests.programs.differential.generate import SMALL, WIDE, Size, case
from tests.programs.differential.measure import Score, score
from tests.programs.differential.world import Case
from tests.support.effort import examples

SMALL_BLOCK, WIDE_BLOCK, MIDDLE_BLOCK = 80, 20, 3
OF_OPTIMUM = 0.97
SEEDS = examples(24)


def scores(size: str, block: int, length: int, orders: int = 1) -> list[Score]:
    """Scores of a block of seeds, after making sure that no rule was broken and nothing left behind."""
    found = [score(size, seed, orders=orders) for seed in range(block * length, (block + 1) * length)]
    faults = [f"{size} {each.seed}: {fault}" for each in found for fault in each.faults]
    assert faults == []
    return found


@pytest.mark.parametrize("block", range(examples(6, least=1)))
def test_small_clusters_come_close_to_the_optimum(block: int):
    found = scores("small", block, SMALL_BLOCK)
    placed, best = sum(each.placed for each in found), sum(each.best for each in found)
    assert placed <= best, "the search is not exhaustive, or the checker too mild"
    assert placed >= OF_OPTIMUM * best


@pytest.mark.parametrize("block", range(examples(6, least=1)))
def test_wider_clusters_keep_the_rules(block: int):
    found = scores("wide", block, WIDE_BLOCK)
    assert sum(each.placed for each in found) > WIDE_BLOCK


@pytest.mark.parametrize("block", range(examples(3, least=1)))
def test_middle_sized_clusters_are_packed_as_well_as_one_pod_at_a_time(block: int):
    found = scores("middle", block, MIDDLE_BLOCK, orders=20)
    fewer = [(each.seed, each.placed, each.middle) for each in found if each.placed < each.middle]
    assert fewer == []
    assert mean(each.placed for each in found) >= mean(each.best for each in found)


@pytest.mark.parametrize("manner", MANNERS.values(), ids=MANNERS)
@pytest.mark.parametrize("size", [SMALL, WIDE], ids=["small", "wide"])
def test_rules_are_kept_in_whatever_manner_the_core_works(manner: Manner, size: Size):
    for seed in range(5000, 5000 + examples(12, least=4)):
        outcome = place(case(seed, size), manner)
        assert (outcome.faults, outcome.left) == ((), ()), f"{size.name} {seed}"


def without_order(made: Case) -> Case:
    """The case without the rules by which one pod may need another to be placed first."""
    cluster = made.cluster.copy()
    for uid, pod in cluster.pods.items():
        cluster.pods[uid] = pod._replace(spec=replace(pod.spec, affinity=(), spreads=()))
    waiting = {uid: replace(spec, affinity=(), spreads=()) for uid, spec in made.waiting.items()}
    return Case(made.seed, cluster, waiting)


def test_more_important_pods_come_first():
    """No pod waits that would be accepted if the less important ones placed in the same round had not been.

    Affinity and spread are left out: by them less important pods may open the way for more important ones.
    """
    manner = MANNERS["three priorities"]
    passed_over = 0
    for seed in range(SEEDS):
        made = without_order(case(seed, WIDE))
        waiting = made.waiting
        outcome = place(made, manner)
        placed = dict(outcome.order)
        for uid, spec in {spec.name: (uid, spec) for uid, spec in outcome.pending.items()}.values():
            without = outcome.cluster.copy()
            for other in placed:
                if manner.priority_of(waiting[other]) < manner.priority_of(spec):
                    del without.pods[other]
            assert accepting_nodes(without, spec) == [], f"wide {seed}: {uid} is passed over"
            passed_over += len(without.pods) < len(outcome.cluster.pods)
    assert passed_over > SEEDS / 3
