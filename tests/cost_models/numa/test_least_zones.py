"""Scores by the fewest zones, against choosing zones machine by machine; and which zones a set has."""

from __future__ import annotations

import json
import random
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from cost_models.numa import least_zones
from cost_models.numa.arguments import NumaOptions
from cost_models.numa.least_zones import _enough, _nearest, _sets, least_zones_scores
from cost_models.numa.records import LARGEST
from cost_models.numa.requests import compile_requests, pods_of
from cost_models.numa.zones import ZoneReader
from tests.cost_models.numa.builders import container, payload, shape, zone
from tests.support.effort import examples

RESOURCES = ("cpu", "gpu")


def score_one(record: dict[str, Any], units: list[dict[str, int]]) -> int:
    """Upstream's way for one machine and one pod: unit by unit, set by set."""
    step = 100 // record.get("maxNUMANodes", 8)
    zones = record["zones"]
    left = [{name: each["available"] for name, each in one["resources"].items()} for one in zones]
    most, all_optimal = 0, True
    for unit in units:
        asked = {name: amount for name, amount in unit.items() if amount}
        if not any(name in each for name in asked for each in left):
            continue
        best: tuple[int, ...] | None = None
        for size in range(1, len(zones) + 1):
            every = list(combinations(range(len(zones)), size))
            spans = {
                some: sum(int(zones[i]["costs"].get(str(j), 255)) for i in some for j in some) / size**2
                for some in every
            }
            fits = [
                some
                for some in every
                if all(name in left[i] for i in some for name in asked)
                and all(sum(left[i][name] for i in some) >= amount for name, amount in asked.items())
            ]
            if fits:
                best = min(fits, key=lambda some: spans[some])
                all_optimal &= spans[best] == min(spans.values())
                break
        if best is None:
            return 0
        most = max(most, len(best))
        for name, amount in asked.items():
            rest = amount
            for place in best:
                taken = min(left[place][name], rest)
                left[place][name] -= taken
                rest -= taken
    return 100 if most == 0 else 100 - most * step + (step // 2 if all_optimal else 0)


def scores(
    records: list[dict[str, Any]], *pods: list[dict[str, int]], scope: str = "container"
) -> np.ndarray:
    options = NumaOptions()
    rows = [shape(*(container(f"c{n}", "app", **unit) for n, unit in enumerate(pod))) for pod in pods]
    given = {
        f"m{n}": json.dumps({"policy": "none", "scope": scope, **each}).encode()
        for n, each in enumerate(records)
    }
    table, notes = ZoneReader().read(list(given), given)
    assert notes == ()
    assert table is not None
    table = table.add_resources(["cpu", "example.com/gpu"])
    made = compile_requests(
        pods_of(rows, np.zeros((len(rows), 1), np.int64), ("cpu",), options), table.resources, options
    )
    return least_zones_scores(table, table.amounts[0].copy(), made, len(rows))


def test_scores_are_those_of_choosing_set_by_set():
    for seed in range(examples(60, least=25)):
        draw = random.Random(seed)
        records = []
        for _ in range(3):
            count = draw.randint(1, 4)
            zones = []
            for number in range(count):
                amounts = {"cpu": draw.randint(0, 6)}
                if draw.random() < 0.7:
                    amounts["example.com/gpu"] = draw.randint(0, 3)
                costs = {
                    other: 10 if other == number else draw.choice((20, 21, 30)) for other in range(count)
                }
                zones.append(zone(number, amounts, costs))
            records.append({"zones": zones, "maxNUMANodes": draw.choice((4, 8))})
        pods = [
            [
                {"cpu": draw.randint(1, 5), **({"gpu": draw.randint(1, 3)} if draw.random() < 0.4 else {})}
                for _ in range(draw.randint(1, 3))
            ]
            for _ in range(3)
        ]
        names = [
            [{"example.com/gpu" if k == "gpu" else k: v for k, v in unit.items()} for unit in pod]
            for pod in pods
        ]
        expected = [[score_one(each, pod) for each in records] for pod in names]
        assert scores(records, *pods).tolist() == expected, seed


def test_in_pod_scope_the_pod_is_one_unit():
    record = {"zones": [zone(0, {"cpu": 4}), zone(1, {"cpu": 4})]}
    pod = [{"cpu": 3}, {"cpu": 3}]
    assert scores([record], pod).tolist() == [[100 - 12 + 6]]
    assert scores([record], pod, scope="pod").tolist() == [[100 - 24 + 6]]


def test_of_equally_near_sets_the_first_is_taken():
    """Three zones, each as far from the others; the second container finds room only if the first took 0 and 1."""
    far = {0: 10, 1: 20, 2: 20}
    zones = [
        zone(0, {"cpu": 2}, far),
        zone(1, {"cpu": 2}, {0: 20, 1: 10, 2: 20}),
        zone(2, {"cpu": 2}, {0: 20, 1: 20, 2: 10}),
    ]
    assert scores([{"zones": zones}], [{"cpu": 4}, {"cpu": 2}]).tolist() == [[100 - 24 + 6]]
    assert scores([{"zones": zones}], [{"cpu": 4}, {"cpu": 3}]).tolist() == [[0]]


@pytest.mark.parametrize("at_once", [1, 2, 128])
def test_however_many_sets_are_compared_at_a_time(monkeypatch: pytest.MonkeyPatch, at_once: int):
    monkeypatch.setattr(least_zones, "SETS_AT_ONCE", at_once)
    zones = [
        zone(0, {"cpu": 1}, {0: 10, 1: 20, 2: 40}),
        zone(1, {"cpu": 4}, {0: 20, 1: 10, 2: 30}),
        zone(2, {"cpu": 4}, {0: 40, 1: 30, 2: 10}),
    ]
    assert scores([{"zones": zones}], [{"cpu": 5}], [{"cpu": 8}]).tolist() == [[82], [76]]


class TestSets:
    def test_they_come_in_order_and_no_more_than_are_compared(self, monkeypatch: pytest.MonkeyPatch):
        assert _sets(3, 2).tolist() == [[0, 1], [0, 2], [1, 2]]
        assert not _sets(3, 2).flags.writeable
        _sets.cache_clear()
        monkeypatch.setattr(least_zones, "MOST_SETS", 2)
        assert _sets(3, 2).tolist() == [[0, 1], [0, 2]]
        _sets.cache_clear()

    def test_the_nearest_with_enough(self):
        left = np.array([[[2, 2, 2]]])
        between = np.array([[[1, 9, 5], [9, 1, 3], [5, 3, 1]]])
        there, lists = np.ones((1, 3), np.bool_), np.ones((1, 3), np.bool_)
        found, best, zones = _nearest(left, there, lists, between, np.array([4]), 2)
        assert (found.tolist(), best.tolist(), zones.tolist()) == ([True], [True], [[1, 2]])
        scarce = np.array([[[2, 2, 1]]])
        found, best, zones = _nearest(scarce, there, lists, between, np.array([4]), 2)
        assert (found.tolist(), best.tolist(), zones.tolist()) == ([True], [False], [[0, 1]])
        assert not _nearest(left, there, lists, between, np.array([5]), 2)[0][0]
        some = np.array([[True, False, True]])
        assert _nearest(left, there, some, between, np.array([4]), 2)[2].tolist() == [[0, 2]]
        assert not _nearest(left, np.array([[True, True, False]]), some, between, np.array([4]), 2)[0][0]

    @pytest.mark.parametrize("scale", [1, LARGEST // 2])
    def test_sums_are_exact_also_of_large_amounts(self, scale: int):
        left = np.array([[[1, 2, 3]]], dtype=np.int64) * scale
        member = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        assert _enough(left, np.array([3 * scale]), member).tolist() == [[True, True]]
        assert _enough(left, np.array([3 * scale + 1]), member).tolist() == [[False, True]]
        assert _enough(left, np.array([5 * scale + 1]), member).tolist() == [[False, False]]


def test_machines_without_record_or_zones():
    options = NumaOptions()
    records = {"a": b"", "b": payload(), "c": payload(zone(0, {"cpu": 1}))}
    table, _ = ZoneReader().read(["a", "b", "c"], {name: each for name, each in records.items() if each})
    assert table is not None
    rows = [shape(container("c", cpu=1)), shape(container("c", cpu=2)), shape(qos="Burstable")]
    made = compile_requests(
        pods_of(rows, np.zeros((3, 1), np.int64), ("cpu",), options), table.resources, options
    )
    found = least_zones_scores(table, table.amounts[0], made, 3)
    assert found.tolist() == [[0, 100, 94], [0, 100, 0], [100, 100, 100]]
