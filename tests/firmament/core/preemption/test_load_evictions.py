"""Evictions for the sake of thresholds: estimates of tasks that go come back, measured use of machines does not."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.configuration import WeightedModel
from firmament.core.events import ClassDefined, TasksSubmitted
from firmament.core.results import DeltaKind, RoundResult
from tests.cost_models.load_aware import oracle
from tests.cost_models.load_aware.oracle import Args, Node, Pod, Report
from tests.cost_models.load_aware.scenes import BATCH_AND_MID, NOW, cluster, content, of_args, overlay
from tests.cost_models.load_aware.test_against_reference import arguments, nodes, pods
from tests.support.core import messages
from tests.support.effort import examples

EXACT = {"estimatedScalingFactors": {"cpu": 100, "memory": 100}}
ROOMY = {"cpu": 10_000, "memory": 2**40}


def preempted(nodes_: Sequence[Node], waiting: Pod, model: WeightedModel) -> RoundResult:
    """The round of a more important pod on nodes whose pods may all go."""
    core = cluster(nodes_, [], model)
    core.apply([ClassDefined(1000, content(waiting)), TasksSubmitted(1000, (waiting.name,), priority=5)])
    return core.run_round()


def evicted(result: RoundResult) -> list[str]:
    return sorted(delta.uid for delta in result.deltas if delta.kind is DeltaKind.PREEMPT)


def node(
    count: int, *, use: int | None = None, reported: bool = False, service_class: str = "koord-prod"
) -> Node:
    """A node with ``count`` pods of one core; ``use``: what is measured, of each pod a core if that is ``reported``."""
    report = None if use is None else Report(NOW - 10, usage={"cpu": use, "memory": 0})
    used = {"cpu": 1000, "memory": 0} if reported else None
    there = [
        Pod(f"r{index}", service_class, limits={"cpu": 1000}, assigned=NOW - 500, used=used)
        for index in range(count)
    ]
    return Node("n", ROOMY, report, there)


def wanted(cpu: int) -> Pod:
    return Pod("p", limits={"cpu": cpu})


def test_where_estimates_count_alone_they_come_back():
    model = overlay(usageThresholds={"cpu": 50}, missingMetrics="estimate", **EXACT)
    assert len(evicted(preempted([node(4)], wanted(2000), model))) == 2  # 3 + 2 would reach half of 10
    assert evicted(preempted([node(2)], wanted(2000), model)) == []
    assert preempted([node(4)], wanted(5000), model).deltas == ()


def test_what_is_measured_does_not_come_back():
    model = overlay(usageThresholds={"cpu": 50}, **EXACT)
    assert preempted([node(4, use=4000, reported=True)], wanted(2000), model).deltas == ()


def test_what_no_report_shows_yet_comes_back():
    model = overlay(usageThresholds={"cpu": 50}, **EXACT)
    assert len(evicted(preempted([node(3, use=1500)], wanted(2000), model))) == 2  # 1500 + 1000 + 2000


def test_of_prod_pods_their_own_use_comes_back():
    model = overlay(usageThresholds={"cpu": 95}, prodUsageThresholds={"cpu": 50}, **EXACT)
    assert len(evicted(preempted([node(4, use=4000, reported=True)], wanted(2000), model))) == 2
    batch = node(4, use=4000, reported=True, service_class="koord-batch")
    assert evicted(preempted([batch], wanted(2000), model)) == []


def test_who_takes_nothing_of_a_resource_has_others_evicted_for_what_is_exceeded():
    """Of memory the pod takes nothing, but no pod may come while the node is above that threshold."""
    there = [Pod(f"r{index}", limits={"cpu": 1000, "memory": 1000}) for index in range(3)]
    full = Node("n", {"cpu": 10_000, "memory": 4_000}, None, there)
    model = overlay(usageThresholds={"cpu": 65, "memory": 50}, missingMetrics="estimate", **EXACT)
    nothing = Pod("p", "koord-free", limits={"cpu": 1000})
    something = Pod("p", limits={"cpu": 1000, "memory": 999})
    assert len(evicted(preempted([full], nothing, model))) == 2  # of 4000, 2000 would reach a half
    assert len(evicted(preempted([full], something, model))) == 2


def test_with_a_margin_nobody_goes():
    model = overlay(
        usageThresholds={"cpu": 50}, missingMetrics="estimate", usageRisk={"deviation": {"cpu": 20}}, **EXACT
    )
    assert preempted([node(4)], wanted(2000), model).deltas == ()


def test_who_could_not_preempt_is_told_what_would_still_refuse_it():
    model = overlay(usageThresholds={"cpu": 50}, missingMetrics="estimate", **EXACT)
    told = messages(preempted([node(4)], wanted(5000), model), preemption=True)["p"]
    assert told.endswith("preemption: 0/1 nodes are available: 1 node(s) cpu usage exceed threshold.")


def fits(of: Node, stay: Sequence[Pod], waiting: Pod) -> bool:
    """Whether a node has what a pod requests beside those who stay."""
    offered = {**BATCH_AND_MID, **of.allocatable}
    return all(
        sum(pod.requests.get(name, 0) for pod in stay) + amount <= offered.get(name, 0)
        for name, amount in waiting.requests.items()
    )


def enough(of: Node, gone: Sequence[str], waiting: Pod, args: Args) -> bool:
    """Whether a node takes a pod, by the reference, once some of its pods are gone and nothing new is reported."""
    stay = [pod for pod in of.pods if pod.name not in gone]
    after = Node(of.name, of.allocatable, of.report, stay, of.own)
    return not oracle.refused(after, waiting, args, NOW) and fits(of, stay, waiting)


@st.composite
def exceeded(draw: st.DrawFn) -> tuple[list[Node], Args, list[Pod]]:
    """Nodes beyond thresholds of both resources by what is estimated, and pods of which some take nothing of one.

    A byte of memory, scaled, is none; tasks of class koord-free are estimated as nothing at all.
    """
    scene = []
    for index in range(draw(st.integers(1, 2))):
        there = [
            Pod(
                f"p{index}-{number}",
                draw(st.sampled_from(["koord-prod", "koord-free"])),
                limits={"cpu": draw(st.integers(1, 5)) * 500, "memory": draw(st.integers(0, 3)) * 500 + 1},
                assigned=draw(st.sampled_from([NOW - 1, NOW - 1, NOW - 500])),
                used=draw(st.none() | st.just({"cpu": 400, "memory": 100})),
            )
            for number in range(draw(st.integers(1, 5)))
        ]
        usage = {"cpu": draw(st.integers(0, 6)) * 500, "memory": draw(st.integers(0, 4)) * 500}
        scene.append(Node(f"n{index}", {"cpu": 9_000, "memory": 4_000}, Report(NOW - 10, usage=usage), there))
    args = Args(
        usageThresholds={"cpu": draw(st.integers(30, 70)), "memory": draw(st.integers(0, 60))},
        estimatedScalingFactors={"cpu": 100, "memory": 40},
    )
    waiting = [
        Pod(
            f"w{number}",
            draw(st.sampled_from(["koord-prod", "koord-prod", "koord-free"])),
            limits={"cpu": draw(st.integers(1, 3)) * 500, "memory": draw(st.sampled_from([1, 1, 1000]))},
        )
        for number in range(draw(st.integers(1, 3)))
    ]
    return scene, args, waiting


@st.composite
def crowded(draw: st.DrawFn) -> tuple[list[Node], Args]:
    """Nodes near their thresholds, most of whose use is estimated."""
    scene = []
    for index in range(draw(st.integers(1, 2))):
        there = [
            Pod(
                f"p{index}-{number}",
                draw(st.sampled_from(["koord-prod", "koord-prod", "koord-batch"])),
                requests=draw(st.sampled_from([{}, {"cpu": 1000}])),
                limits={"cpu": draw(st.integers(1, 5)) * 500, "memory": draw(st.integers(0, 2)) * 500},
                assigned=draw(st.sampled_from([NOW - 1, NOW - 1, NOW - 500])),
                used=draw(st.none() | st.just({"cpu": 700, "memory": 100})),
                said_prod=draw(st.booleans()),
            )
            for number in range(draw(st.integers(2, 5)))
        ]
        report = Report(NOW - 10, usage={"cpu": draw(st.integers(0, 8)) * 500, "memory": 0})
        scene.append(Node(f"n{index}", {"cpu": 10_000, "memory": 4_000}, report, there))
    prod = draw(st.sampled_from([{}, {"cpu": 40}]))
    return scene, Args(usageThresholds={"cpu": draw(st.integers(50, 80))}, prodUsageThresholds=prod)


@settings(max_examples=examples(100))
@given(nodes(), pods("waiting", placed=False), arguments())
def test_those_who_go_are_enough_by_the_reference(scene: list[Node], waiting: Pod, args: Args) -> None:
    compare(scene, waiting, args)


@settings(max_examples=examples(150))
@given(crowded(), st.integers(1, 6), st.sampled_from(["koord-prod", "koord-batch"]))
def test_no_more_go_than_have_to(case: tuple[list[Node], Args], cores: int, service_class: str) -> None:
    scene, args = case
    name = oracle.EXTENDED.get(service_class, {}).get("cpu", "cpu")
    compare(scene, Pod("waiting", service_class, limits={name: 500 * cores}), args)


@settings(max_examples=examples(100))
@given(exceeded())
def test_a_threshold_is_kept_by_who_takes_nothing_of_the_resource(
    case: tuple[list[Node], Args, list[Pod]],
) -> None:
    scene, args, waiting = case
    compare(scene, waiting[0], args)


@settings(max_examples=examples(100))
@given(exceeded())
def test_all_who_come_together_keep_the_thresholds(case: tuple[list[Node], Args, list[Pod]]) -> None:
    scene, args, waiting = case
    core = cluster(scene, [], of_args(args))
    for number, pod in enumerate(waiting):
        core.apply([ClassDefined(1000 + number, content(pod))])
        core.apply([TasksSubmitted(1000 + number, (pod.name,), priority=5 + number % 2)])
    result = core.run_round()
    gone = evicted(result)
    place = {delta.uid: delta.machine for delta in result.deltas if delta.kind is DeltaKind.PLACE}
    for each in scene:
        stay = [pod for pod in each.pods if pod.name not in gone]
        after = Node(each.name, each.allocatable, each.report, stay, each.own)
        came = [pod for pod in waiting if place.get(pod.name) == each.name]
        for pod in came:
            assert not oracle.refused(after, pod, args, NOW, [other for other in came if other is not pod])


def compare(scene: list[Node], waiting: Pod, args: Args) -> None:
    """Hold a round against all sets of pods that could go."""
    result = preempted(scene, waiting, of_args(args))
    gone = evicted(result)
    where = {delta.machine for delta in result.deltas if delta.kind is DeltaKind.PLACE}
    for each in scene:
        if each.name in where:
            assert enough(each, gone, waiting, args)
    least = [
        count
        for each in scene
        for count in range(len(each.pods) + 1)
        for some in itertools.combinations([pod.name for pod in each.pods], count)
        if enough(each, some, waiting, args)
    ]
    if where:
        assert len(gone) >= min(least)
    # Where a period has no figures, estimates stand in for it, and less is counted on than would come back.
    if not args.aggregated and not any(each.own.kind for each in scene):
        assert bool(where) == bool(least)
        assert len(gone) == min(least, default=0)
