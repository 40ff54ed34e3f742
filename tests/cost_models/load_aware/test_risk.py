"""``usageRisk``: room below thresholds for what pods use beyond what is expected of them."""

from __future__ import annotations

import math
from collections import Counter
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.interface import ModelArgumentError
from cost_models.load_aware.arguments import read_settings
from tests.cost_models.load_aware import oracle
from tests.cost_models.load_aware.oracle import Args, Node, Pod, Report
from tests.cost_models.load_aware.scenes import NOW, cluster, of_args, overlay, verdicts
from tests.cost_models.load_aware.test_against_reference import arguments, nodes, pods
from tests.support.core import placed
from tests.support.effort import examples

FRESH = NOW - 10
EXACT = {"cpu": 100, "memory": 70}


def variance(node: Node, args: Args, resource: str, deviation: float, *, prod: bool) -> float:
    """Of what the pods of a node use, one after another."""
    assert node.report is not None
    total = 0.0
    for pod in node.pods:
        if prod and pod.service_class != "koord-prod":
            continue
        expected = oracle.estimate(pod, args)[resource]
        figure = None if pod.used is None or (prod and not pod.said_prod) else pod.used.get(resource, 0)
        if figure is None or (oracle.must_estimate(pod, node.report, args) and expected > figure):
            total += (deviation * expected) ** 2
        else:
            total += 2 * (deviation * figure) ** 2
    return total


def bound(node: Node, pod: Pod, args: Args, there: list[Pod], risk: tuple[float, float]) -> bool:
    """Whether expected use and quantile times deviation stay within every threshold that the pod is held to."""
    percent, prod, kind, seconds = oracle.profile(node, args, pod)
    held = any(percent.get(resource, 0) for resource in oracle.KNOWN) and not pod.daemon
    if not held or node.report is None or node.report.usage is None:
        return True
    if args.filterExpiredNodeMetrics and oracle.expired(node, args, NOW):
        return True
    deviation, z = risk
    use = oracle.node_use(node, args, prod=prod, kind=kind, seconds=seconds)
    alike = [each for each in there if not each.daemon and oracle.profile(node, args, each)[1] == prod]
    for resource in oracle.KNOWN:
        limit, offered = percent.get(resource, 0), node.allocatable.get(resource, 0)
        if not limit or not offered:
            continue
        more = [oracle.estimate(each, args)[resource] for each in alike]
        spread = variance(node, args, resource, deviation, prod=prod) + sum(
            (deviation * e) ** 2 for e in more
        )
        half = 0.5 if args.thresholdRounding == "upstream" else 0.0
        if use[resource] + sum(more) + z * math.sqrt(spread) > (limit + half) / 100 * offered + 1e-6:
            return False
    return True


@st.composite
def crowded(draw: st.DrawFn) -> list[Node]:
    """Nodes that are used by a part, by pods that reports show, or not, or not yet."""
    found = []
    for index in range(draw(st.integers(1, 3))):
        node = Node(f"n{index}", {"cpu": 10_000, "memory": 10**13})
        node.pods = [
            draw(pods(f"p{index}-{number}", placed=True)) for number in range(draw(st.integers(0, 3)))
        ]
        node.report = Report(FRESH, usage={"cpu": draw(st.integers(0, 5_000)), "memory": 10**9})
        node.own.prod = draw(st.sampled_from([{}, {}, {"cpu": 40}]))
        found.append(node)
    return found


@settings(max_examples=examples(150))
@given(
    nodes() | crowded(),
    st.lists(st.integers(0, 9), min_size=3, max_size=3),
    st.data(),
    arguments() | st.just(Args()),
    st.sampled_from([(5, 10.0), (20, 1.0), (80, 0.1)]),
)
def test_no_round_leaves_less_than_the_margin(
    scene: list[Node], copies: list[int], data: st.DataObject, args: Args, risk: tuple[int, float]
):
    args.aggregated = {}
    for node in scene:
        node.own.kind = ""
    todo = []
    for kind, count in enumerate(copies):
        model = data.draw(pods(f"k{kind}", placed=False))
        todo += [
            Pod(f"k{kind}-{copy}", model.service_class, model.requests, model.limits, daemon=model.daemon)
            for copy in range(count)
        ]
    given = {"deviation": {"cpu": risk[0], "memory": risk[0]}, "tolerance": risk[1]}
    result = cluster(scene, todo, of_args(args, usageRisk=given)).run_round()
    there: dict[str, list[Pod]] = {node.name: [] for node in scene}
    for pod in todo:
        if pod.name in placed(result):
            there[placed(result)[pod.name]].append(pod)
    figures = (risk[0] / 100, NormalDist().inv_cdf(1 - risk[1] / 100))
    for node in scene:
        assert all(bound(node, pod, args, there[node.name], figures) for pod in there[node.name])


def batch(count: int, cpu: int) -> list[Pod]:
    return [Pod(f"t-{i}", "koord-batch", limits={"kubernetes.io/batch-cpu": cpu}) for i in range(count)]


def empty(name: str) -> Node:
    return Node(name, {"cpu": 100_000, "memory": 10**13}, Report(FRESH, usage={"cpu": 0}))


@pytest.mark.parametrize(("deviation", "tolerance"), [(10, 1), (30, 1), (30, 0.1), (30, 50)])
def test_machines_take_as_many_as_the_bound_allows(deviation: int, tolerance: float):
    """Alike machines that are filled: the tangent touches the root there, but for whole tasks nothing is lost."""
    risk = {"deviation": {"cpu": deviation}, "tolerance": tolerance}
    core = cluster(
        [empty("a"), empty("b")], batch(150, 1_000), overlay(estimatedScalingFactors=EXACT, usageRisk=risk)
    )
    z = NormalDist().inv_cdf(1 - tolerance / 100)
    most = max(k for k in range(100) if k * 1_000 + z * deviation * 10 * math.sqrt(k) < 65_000)
    counts = Counter(placed(core.run_round()).values())
    assert set(counts) == {"a", "b"}
    assert all(most - 1 <= count <= most for count in counts.values())
    assert most == 64 if tolerance == 50 else most < 64


def test_the_margin_is_as_likely_exceeded_as_is_tolerated():
    """What the normal approximation promises, held against draws of pods that wander evenly by a fifth."""
    deviation = 100 * 0.2 / math.sqrt(3)
    risk = {"deviation": {"cpu": deviation}, "tolerance": 2}
    args = overlay(estimatedScalingFactors=EXACT, usageRisk=risk)
    count = Counter(placed(cluster([empty("a")], batch(100, 1_500), args).run_round()).values())["a"]
    draws = np.random.default_rng(1).uniform(0.8, 1.2, (20_000, count)).sum(axis=1) * 1_500
    assert 0.0 < float((draws >= 65_000).mean()) <= 0.02


def test_figures_that_were_drawn_keep_twice_the_variance():
    """A reported pod: the present differs from its last figure by two draws; one that is only estimated, by one."""

    def room(used: int | None) -> int:
        node = empty("a")
        node.pods = [
            Pod(f"r{i}", "koord-batch", limits={"kubernetes.io/batch-cpu": 2_000}, assigned=NOW - 900)
            for i in range(10)
        ]
        for pod in node.pods:
            pod.used = None if used is None else {"cpu": used}
        node.report = Report(FRESH, usage={"cpu": 0 if used is None else 10 * used})
        risk = {"deviation": {"cpu": 50}}
        args = overlay(estimatedScalingFactors=EXACT, usageRisk=risk)
        return len(placed(cluster([node], batch(200, 500), args).run_round()))

    assert room(None) > room(2_000)


def test_it_is_off_by_default():
    assert read_settings({}).risk.deviation == {}
    assert read_settings({"usageRisk": {"deviation": {"cpu": 0}}}).risk.deviation == {}
    node = Node("a", {"cpu": 10_000, "memory": 10**12}, Report(FRESH, usage={"cpu": 5_400}))
    pod = Pod("t", "koord-batch", limits={"kubernetes.io/batch-cpu": 1_000})
    for risk, feasible in (({}, True), ({"deviation": {"cpu": 10}}, False)):
        args = overlay(estimatedScalingFactors=EXACT, usageRisk=risk)
        verdict, reasons = verdicts(cluster([node], [pod], args), "t")["a"]
        assert verdict.feasible == feasible
        assert reasons == (() if feasible else ("node(s) cpu usage exceed threshold",))


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"deviation": {"cpu": 101}}, "usageRisk: deviation.cpu is 101; it must be a number from 0 to 100"),
        ({"deviation": {"cpu": "5"}}, "usageRisk: deviation.cpu is '5'; it must be a number"),
        ({"deviation": 5}, "usageRisk: deviation is 5; it must be a map"),
        ({"tolerance": 0}, "usageRisk: tolerance is 0; it must be a number, 0.001 to 50"),
        ({"margin": 1}, "usageRisk: unknown argument 'margin'; known: deviation, tolerance"),
    ],
)
def test_mistakes(given: dict[str, object], line: str):
    with pytest.raises(ModelArgumentError) as caught:
        read_settings({"usageRisk": given})
    assert str(caught.value).startswith(f"load_threshold: {line}")
