"""Several solvers for one cluster: nothing is lost on the way from one to the next, and nothing placed twice."""

from __future__ import annotations

import pytest

from benchmarks.quality.shards import ShardsOptions, find_losses, measure_shards


@pytest.mark.parametrize("load", [0.3, 1.0])
def test_every_task_is_placed_once_or_has_been_everywhere(load: float) -> None:
    options = ShardsOptions(nodes=60, loads=(load,), shards=(3,), classes=5)
    one, three = measure_shards(options, progress=lambda _: None)["runs"]
    assert one["tasks"] == three["tasks"] > 0
    assert 0.9 * one["tasks"] < three["placed"] <= one["tasks"]
    # What nobody can place has been with all three.
    assert three["moved"] >= 3 * (three["tasks"] - three["placed"])
    if load < 1:
        assert three["placed"] == one["placed"] == one["tasks"]


def test_losses_are_told_only_where_as_many_are_placed() -> None:
    runs = [
        {"load": 0.5, "shards": 1, "placed": 10, "cost": 100},
        {"load": 0.5, "shards": 2, "placed": 10, "cost": 101},
        {"load": 0.5, "shards": 4, "placed": 9, "cost": 80},
    ]
    assert find_losses({"runs": runs}) == {0.5: {1: 0.0, 2: pytest.approx(1.0)}}
