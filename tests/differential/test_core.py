"""The core on random clusters: every placement keeps every rule, nothing placeable waits, and few do better."""

from __future__ import annotations

from statistics import mean

import pytest

from tests.differential.measure import Score, score

SMALL_BLOCK, WIDE_BLOCK, MIDDLE_BLOCK = 125, 50, 4
OF_OPTIMUM = 0.97


def scores(size: str, block: int, length: int) -> list[Score]:
    """Scores of a block of seeds, after making sure that no rule was broken and nothing left behind."""
    found = [score(size, seed, orders=20) for seed in range(block * length, (block + 1) * length)]
    faults = [f"{size} {each.seed}: {fault}" for each in found for fault in each.faults]
    assert faults == []
    return found


@pytest.mark.parametrize("block", range(8))
def test_small_clusters_come_close_to_the_optimum(block: int):
    found = scores("small", block, SMALL_BLOCK)
    placed, best = sum(each.placed for each in found), sum(each.best for each in found)
    assert placed <= best, "the search is not exhaustive, or the checker too mild"
    assert placed >= OF_OPTIMUM * best


@pytest.mark.parametrize("block", range(6))
def test_wider_clusters_keep_the_rules(block: int):
    found = scores("wide", block, WIDE_BLOCK)
    assert sum(each.placed for each in found) > WIDE_BLOCK


@pytest.mark.parametrize("block", range(3))
def test_middle_sized_clusters_are_packed_as_well_as_one_pod_at_a_time(block: int):
    found = scores("middle", block, MIDDLE_BLOCK)
    fewer = [(each.seed, each.placed, each.middle) for each in found if each.placed < each.middle]
    assert fewer == []
    assert mean(each.placed for each in found) >= mean(each.best for each in found)
