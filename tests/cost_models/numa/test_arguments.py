"""The arguments of ``numa_fit``: defaults, what each value means, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from cost_models.interface import ModelArgumentError
from cost_models.numa.arguments import STRATEGIES, NumaOptions, read_options
from cost_models.numa.records import POLICIES


def test_defaults():
    assert read_options({}) == NumaOptions(
        strategy="LeastAllocated",
        weights={},
        proposal=False,
        kubelet_sidecars=False,
        modelled=frozenset(),
        pod_hints=False,
        distance_cost=0.0,
        refuse_unknown=False,
        stale_after=0.0,
        stale="use",
        settle=0.0,
        discard_reserved=False,
        evicting=False,
    )


@pytest.mark.parametrize(
    ("given", "field", "expected"),
    [
        ({"memoryAlignment": "proposal"}, "proposal", True),
        ({"sidecars": "kubelet"}, "kubelet_sidecars", True),
        (
            {"modelledPolicies": ["best-effort", "restricted"]},
            "modelled",
            frozenset({POLICIES.index("best-effort"), POLICIES.index("restricted")}),
        ),
        ({"podHints": True}, "pod_hints", True),
        ({"distanceCost": 100}, "distance_cost", 100.0),
        ({"missingTopology": "refuse"}, "refuse_unknown", True),
        ({"staleAfterSeconds": 5}, "stale_after", 5.0),
        ({"staleTopology": "ignore"}, "stale", "ignore"),
        ({"settleSeconds": 86400}, "settle", 86400.0),
        ({"discardReservedNodes": True}, "discard_reserved", True),
        ({"preemptionMode": "Enabled"}, "evicting", True),
        ({"cacheResyncPeriodSeconds": 1, "cache": {"x": 1}}, "strategy", "LeastAllocated"),
        ({"scoringStrategy": {"type": "LeastNUMANodes"}}, "strategy", "LeastNUMANodes"),
        (
            {
                "scoringStrategy": {
                    "resources": [{"name": "cpu", "weight": 3}, {"name": "x", "weight": 0}, {"name": "y"}]
                }
            },
            "weights",
            {"cpu": 3, "x": 1, "y": 1},
        ),
    ],
)
def test_each_argument_sets_its_option(given: dict[str, Any], field: str, expected: object):
    found = read_options(given)
    assert getattr(found, field) == expected
    others = [name for name in NumaOptions.__slots__ if name != field]
    assert [getattr(found, name) for name in others] == [getattr(NumaOptions(), name) for name in others]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"distanceCost": 100.5}, "numa_fit: distanceCost is 100.5; it must be a number, 0 to 100"),
        ({"settleSeconds": 86401}, "settleSeconds is 86401; it must be a number, 0 to 86400"),
        ({"modelledPolicies": ["none"]}, "it must be a list of some of restricted, best-effort"),
        ({"staleTopology": "keep"}, "it must be one of use, ignore, refuse"),
        ({"podHint": True}, "unknown argument 'podHint'"),
        ({"scoringStrategy": {"type": "Some"}}, f"it must be one of {', '.join(STRATEGIES)}"),
        ({"scoringStrategy": {"kind": 1}}, "numa_fit: scoringStrategy: unknown argument 'kind'"),
        (
            {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 1.5}]}},
            "weight of cpu is 1.5; it must be a whole number, 0 to 100",
        ),
        ({"scoringStrategy": {"resources": [{"name": "cpu", "weight": 101}]}}, "weight is 101"),
        ({"scoringStrategy": {"resources": [{"weight": 1}]}}, "name is ''; it must be a non-empty text"),
        ({"scoringStrategy": {"resources": [{"name": "cpu", "much": 1}]}}, "unknown argument 'much'"),
    ],
)
def test_what_is_refused(given: dict[str, Any], message: str):
    with pytest.raises(ModelArgumentError) as refused:
        read_options(given)
    assert message in str(refused.value)
