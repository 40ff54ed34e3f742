"""Filter, raw cost and score of one pod are upstream's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cost_models.interface import ModelArgumentError
from cost_models.network_aware.network_overhead import NetworkOverhead
from cost_models.network_aware.verdict import normalise
from cost_models.pairs import PairVerdict, PlacedKinds
from tests.cost_models.network_aware.scenes import app_group, columns, kind, topology
from tests.cost_models.network_aware.upstream import Cluster, judge, scores

NAMES = ("a", "b", "c")
REGIONS, ZONES = ("", "r1", "r2"), ("", "z1", "z2", "r1")


def verdict(
    cluster: Cluster,
    dependencies: list[tuple[str, str, int, int]],
    workload: str = "a",
    **args: object,
) -> PairVerdict:
    """What the model says of one more pod of ``workload``."""
    model = NetworkOverhead(**args)
    records = {
        "NetworkTopology": {"default/nt-default": topology(cluster.region, cluster.zone)},
        "AppGroup": {"default/app": app_group(NAMES, dependencies)},
    }
    machines = columns(cluster.where, records)
    kinds = [kind(name) for name in NAMES]
    placed = PlacedKinds(
        np.array([NAMES.index(name) for name, _ in cluster.placed], dtype=np.int64),
        np.array([host for _, host in cluster.placed], dtype=np.int64),
    )
    terms = model.pair_terms(machines, kinds)
    return model.pair_verdict(machines, terms, NAMES.index(workload), placed)


_costs = st.integers(0, 40)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Up to six nodes, some without labels; a region may be named like a zone."""
    where = draw(
        st.lists(st.tuples(st.sampled_from(REGIONS), st.sampled_from(ZONES)), min_size=1, max_size=6)
    )
    pairs = st.dictionaries(
        st.sampled_from(("r1", "r2", "z1", "z2")),
        st.dictionaries(st.sampled_from(("r1", "r2", "z1", "z2")), _costs),
    )
    placed = draw(st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, len(where) - 1)), max_size=8))
    return Cluster(where, draw(pairs), draw(pairs), placed)


@given(
    clusters(),
    st.lists(st.tuples(st.just("a"), st.sampled_from(NAMES), st.integers(0, 40), st.just(0)), max_size=4),
)
def test_agrees_with_upstream(cluster: Cluster, dependencies: list[tuple[str, str, int, int]]) -> None:
    said = verdict(cluster, dependencies).assessment
    own = [(target, limit) for _, target, limit, _ in dependencies]
    expected = [judge(cluster, own, node) for node in range(len(cluster.where))]
    passing = [satisfied >= violated for satisfied, violated, _ in expected]
    assert np.broadcast_to(said.raw, (1, len(passing)))[0].tolist() == [cost for *_, cost in expected]
    feasible = [True] * len(passing) if said.feasible is None else said.feasible[0].tolist()
    assert feasible == passing
    score = scores([cost for (*_, cost), passes in zip(expected, passing, strict=True) if passes])
    assert said.score is not None
    assert said.score[0][np.array(passing)].tolist() == score


REGION_COSTS = {"us-west-1": {"us-east-1": 20}, "us-east-1": {"us-west-1": 20}}
ZONE_COSTS = {"Z1": {"Z2": 5}, "Z2": {"Z1": 5}, "Z3": {"Z4": 10}, "Z4": {"Z3": 10}}
FIGURE = [("us-west-1", "Z1"), ("us-west-1", "Z1"), ("us-west-1", "Z2"), ("us-west-1", "Z2")] + [
    ("us-east-1", zone) for zone in ("Z3", "Z3", "Z4", "Z4")
]


@pytest.mark.parametrize(("limit", "remaining"), [(15, 4), (30, 8)])
def test_filter_example_of_the_proposal(limit: int, remaining: int) -> None:
    said = verdict(Cluster(FIGURE, REGION_COSTS, ZONE_COSTS, [("b", 0)]), [("a", "b", limit, 0)]).assessment
    assert said.feasible is not None
    assert np.flatnonzero(said.feasible[0]).tolist() == list(range(remaining))


def test_score_example_of_the_proposal() -> None:
    said = verdict(Cluster(FIGURE[:4], REGION_COSTS, ZONE_COSTS, [("b", 0)]), [("a", "b", 15, 0)]).assessment
    assert said.score is not None
    assert said.raw[0].tolist() == [0, 1, 5, 5]
    assert said.score[0].tolist() == [100, 80, 0, 0]


def test_a_line_for_each_dependency() -> None:
    said = verdict(
        Cluster(FIGURE, REGION_COSTS, ZONE_COSTS, [("b", 0), ("c", 4)]),
        [("a", "b", 15, 0), ("a", "c", 15, 0)],
    )
    assert said.details[2] == (
        "b: 1 placed, cost 5, 1 satisfied and 0 violated by maxNetworkCost 15",
        "c: 1 placed, cost 20, 0 satisfied and 1 violated by maxNetworkCost 15",
    )


def test_without_a_topology_all_machines_are_alike() -> None:
    model = NetworkOverhead()
    machines = columns(FIGURE, {"AppGroup": {"default/app": app_group(NAMES, [("a", "b", 1, 0)])}})
    assert model.pair_terms(machines, [kind(name) for name in NAMES]) is None


def test_an_unknown_list_of_weights_is_empty() -> None:
    said = verdict(
        Cluster(FIGURE, REGION_COSTS, ZONE_COSTS, [("b", 0)]), [("a", "b", 15, 0)], weightsName="Other"
    ).assessment
    assert said.raw[0].tolist() == [0, 1, 100, 100, 100, 100, 100, 100]
    assert said.feasible is not None
    assert said.feasible.all()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"weightName": "x"}, "network_overhead: unknown argument 'weightName'"),
        ({"namespaces": []}, "namespaces is \\[\\]"),
        ({"strictMaxNetworkCost": 1}, "strictMaxNetworkCost is 1; it must be true or false"),
        ({"networkTopologyName": ""}, "networkTopologyName is ''"),
    ],
)
def test_bad_arguments(args: dict[str, object], message: str) -> None:
    with pytest.raises(ModelArgumentError, match=message):
        NetworkOverhead(**args)


@pytest.mark.parametrize(
    ("cost", "feasible", "expected"),
    [
        ([3.0, 3.0], [False, False], [0.0, 0.0]),
        ([3.0, 9.0], [True, False], [100.0, 0.0]),
        ([0.0, 9.0], [True, False], [0.0, 0.0]),
        ([0.0, 0.0], [True, True], [0.0, 0.0]),
        ([4.0, 4.0], [True, True], [100.0, 100.0]),
        ([2.0, 5.0, 3.0], [True, True, True], [100.0, 0.0, 67.0]),
        ([2.0, 5.0, 3.0, 100.0], [True, True, True, False], [100.0, 0.0, 67.0, 0.0]),
    ],
)
def test_scores_are_normalised_over_the_machines_that_are_left(
    cost: list[float], feasible: list[bool], expected: list[float]
):
    assert normalise(np.array(cost), np.array(feasible)).tolist() == expected
