"""What the bridge makes of a solver that asks for evictions without good reason."""

from __future__ import annotations

import logging

import pytest
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pod_groups import NativePodGroup, PodGroup, PodGroupSpec
from poseidon.lifecycle.actions import Bind, Evict
from poseidon.lifecycle.evictions.rate import EvictionLimits, EvictionRate
from poseidon.lifecycle.evictions.review import SYSTEM_CRITICAL, outranks
from poseidon.lifecycle.refused_deltas import Kind, Reason
from poseidon.pod_groups.group_names import NATIVE_POD_GROUP
from poseidon.pods.classes import ClassTable
from poseidon.pods.tasks import Task
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.pod_groups.objects import native
from tests.poseidon.pod_groups.objects import pod as native_pod
from tests.programs.tenants.scene import CRITICAL, labelled

PREEMPT, PLACE = pb.Delta.PREEMPT, pb.Delta.PLACE


class Scene:
    """Two nodes; ``high`` may evict, and waits."""

    def __init__(self, *pods, limits=None):
        self.now = 100.0
        self.state = BridgeState(
            BridgeConfiguration(evictions=limits or EvictionLimits()), clock=lambda: self.now
        )
        self.state.nodes_changed([present(node("n1")), present(node("n2"))])
        self.pods(pod("high", priority=9), *pods)
        self.state.snapshot()
        self.state.take_actions()

    def pods(self, *pods):
        self.state.pods_changed([present(each) for each in pods])

    def round(self, *deltas, gangs=()):
        """What is evicted, and what is refused, by pod and reason."""
        self.state.on_round(pb.RoundResult(round=1, deltas=deltas, gangs=gangs))
        actions = self.state.take_actions()
        evicted = sorted(each.pod.name for each in actions if isinstance(each, Evict))
        reports = {each.task for each in self.state.take_reports() if not each.bound}
        return evicted, reports, dict(self.state.refusals.take_counts())


def go(name, where="n1", **more):
    return pb.Delta(kind=PREEMPT, task=f"pod-{name}", machine=where, **more)


def come(name, *after, where="n1"):
    return pb.Delta(
        kind=PLACE, task=f"pod-{name}", machine=where, depends_on=[f"pod-{each}" for each in after]
    )


def refused(reason, count=1):
    return {(Kind.EVICTION, reason): count}


def test_an_eviction_that_nobody_needs_is_refused_and_reported():
    scene = Scene(pod("low", node="n1"))
    assert scene.round(go("low")) == ([], {"pod-low"}, refused(Reason.NO_REASON))


def test_a_pod_that_is_placed_beside_without_waiting_for_it_is_no_reason():
    scene = Scene(pod("low", node="n1"))
    evicted, _, counts = scene.round(go("low"), come("high"))
    assert (evicted, counts) == ([], refused(Reason.NO_REASON))


def test_nor_is_one_that_comes_to_another_node():
    scene = Scene(pod("low", node="n1"))
    assert scene.round(go("low"), come("high", "low", where="n2")) == (
        [],
        {"pod-low", "pod-high"},
        refused(Reason.NO_REASON),
    )


@pytest.mark.parametrize("coming", ["gone", "bound", "gated", "foreign"])
def test_nor_is_one_that_cannot_be_placed(coming):
    others = {
        "bound": pod("bound", priority=9, node="n2"),
        "gated": pod("gated", priority=9, gated=True),
        "foreign": pod("foreign", priority=9, scheduler="default-scheduler"),
    }
    scene = Scene(pod("low", node="n1"), *filter(None, [others.get(coming)]))
    evicted, reports, counts = scene.round(go("low"), come(coming, "low"))
    assert (evicted, reports) == ([], {"pod-low", f"pod-{coming}"})
    assert counts[Kind.EVICTION, Reason.NO_REASON] == 1


def test_nor_is_one_whose_node_is_gone():
    scene = Scene(pod("low", node="n1"))
    scene.state.nodes_changed([gone(node("n1"))])
    evicted, _, counts = scene.round(go("low"), come("high", "low"))
    assert (evicted, counts) == (
        [],
        {(Kind.EVICTION, Reason.NO_REASON): 1, (Kind.BINDING, Reason.NO_NODE): 1},
    )


@pytest.mark.parametrize(
    ("victim", "preemptor"),
    [
        (pod("low", node="n1", priority=9), {}),
        (pod("low", node="n1", priority=CRITICAL, namespace="kube-system"), {}),
        (pod("low", node="n1", priority=10, scheduler="default-scheduler"), {}),
        (pod("low", node="n1", priority=0), {"preemption_policy": "Never"}),
    ],
)
def test_nobody_goes_for_a_pod_that_is_no_more_important_or_evicts_nobody(victim, preemptor):
    scene = Scene(victim)
    made = pod("high", priority=9)
    scene.pods(replace(made, spec=replace(made.spec, **preemptor)))
    evicted, reports, counts = scene.round(go("low"), come("high", "low"))
    assert (evicted, reports, counts) == ([], {"pod-low", "pod-high"}, refused(Reason.NOT_LOWER))


def task(priority, group_priority=None):
    traits = ClassTable().traits(pod("p"))
    return Task("pod-p", "default/p", traits, "", priority, 0.0, group_priority=group_priority)


@pytest.mark.parametrize(
    ("preemptor", "victim", "outranked"),
    [
        (task(5), task(4), True),
        (task(5), task(5), False),
        (task(4), task(5), False),
        (task(5, 2), task(5, 1), True),
        (task(5, 1), task(5, 1), False),
        (task(5, 1), task(5, 2), False),
        (task(5, 2), task(5), False),
        (task(5), task(5, 1), False),
        (task(4, 2), task(5, 1), False),
        (task(5, 1), task(4, 2), True),
        (task(SYSTEM_CRITICAL - 1, 2), task(SYSTEM_CRITICAL - 1, 1), True),
        (task(SYSTEM_CRITICAL, 2), task(SYSTEM_CRITICAL, 1), False),
        (task(SYSTEM_CRITICAL + 1000, 2), task(SYSTEM_CRITICAL + 1000, 1), False),
        (task(SYSTEM_CRITICAL + 1), task(SYSTEM_CRITICAL), True),
    ],
)
def test_a_group_orders_only_its_equals_and_none_that_the_cluster_needs(preemptor, victim, outranked):
    assert outranks(preemptor, victim) is outranked


def test_nobody_goes_where_one_of_those_that_have_to_go_stays():
    scene = Scene(pod("low", node="n1"), pod("mighty", node="n1", priority=10))
    evicted, reports, counts = scene.round(go("low"), go("mighty"), come("high", "low", "mighty"))
    assert (evicted, reports) == ([], {"pod-low", "pod-mighty", "pod-high"})
    assert counts == {(Kind.EVICTION, Reason.NOT_LOWER): 1, (Kind.EVICTION, Reason.IN_VAIN): 1}


def test_a_good_reason_beside_a_bad_one_is_enough():
    scene = Scene(pod("low", node="n1"), pod("mighty", node="n2", priority=10), pod("peer", priority=9))
    evicted, reports, _ = scene.round(
        go("low"), go("mighty", "n2"), come("high", "low"), come("peer", "low", "mighty")
    )
    assert (evicted, reports) == (["low"], {"pod-mighty", "pod-peer"})


def test_a_refused_preemptor_may_be_placed_anew():
    scene = Scene(pod("low", node="n1"))
    scene.round(go("low"), come("high", "low", where="n2"))
    scene.state.on_round(pb.RoundResult(round=2, deltas=[come("high", where="n2")]))
    assert [each for each in scene.state.take_actions() if isinstance(each, Bind)]


# --- gangs ----------------------------------------------------------------------------------------------------------


def gang_pod(name, **more):
    return labelled(pod(name, **more), {"scheduling.x-k8s.io/pod-group": "train"})


def gang_scene(*pods, needed=2):
    scene = Scene()
    group = PodGroup(
        metadata=ObjectMeta(name="train", namespace="default", uid="train"),
        spec=PodGroupSpec(min_member=needed),
    )
    scene.state.gangs.get_handler("PodGroup")([present(group)])
    scene.pods(*pods)
    scene.state.take_actions()
    return scene


FAILED = pb.GangState(
    job="PodGroup/default/train", state=pb.GangState.FAILED, message="not whole in time", needed=2
)
WHOLE = pb.GangState(job="PodGroup/default/train", state=pb.GangState.BOUND, running=2, needed=2)


def test_members_of_a_gang_that_lacks_others_may_go():
    scene = gang_scene(gang_pod("a", node="n1"), gang_pod("b"))
    assert scene.round(go("a"), gangs=[FAILED])[0] == ["a"]


@pytest.mark.parametrize("victim", ["a", "plain"])
def test_members_of_a_whole_gang_and_pods_in_none_stay_whatever_the_solver_says(victim):
    scene = gang_scene(gang_pod("a", node="n1"), gang_pod("b", node="n2"), pod("plain", node="n1"))
    assert scene.round(go(victim), gangs=[FAILED]) == ([], {f"pod-{victim}"}, refused(Reason.NO_REASON))


def test_a_gang_that_has_been_whole_is_not_given_up():
    scene = gang_scene(gang_pod("a", node="n1"), gang_pod("b", node="n2"))
    scene.round(gangs=[WHOLE])
    scene.state.pods_changed([gone(pod("b"))])
    assert scene.round(go("a"), gangs=[FAILED])[0] == []


def test_a_gang_that_makes_way_does_so_on_all_its_nodes():
    scene = gang_scene(gang_pod("a", node="n1"), gang_pod("b", node="n2"))
    assert scene.round(go("a"), go("b", "n2"), come("high", "a", "b"))[0] == ["a", "b"]


def test_a_gang_with_a_single_member_on_a_node_may_be_given_up():
    scene = gang_scene(gang_pod("a", node="n1"), needed=3)
    assert scene.round(go("a"), gangs=[FAILED])[0] == ["a"]


def evictions_of(scene, *deltas):
    """What each pod is evicted for, and together with whom."""
    scene.state.on_round(pb.RoundResult(round=7, deltas=deltas))
    actions = scene.state.take_actions()
    return {each.pod.name: (each.message, each.together) for each in actions if isinstance(each, Evict)}


@pytest.mark.parametrize(
    ("namespace", "named"), [("default", "high"), ("elsewhere", "pod-high")], ids=["same", "another"]
)
def test_who_evicts_is_named_to_readers_of_its_own_namespace_alone(namespace, named):
    scene = Scene(pod("low", node="n1", namespace=namespace))
    name = named if namespace == "elsewhere" else f"default/{named}"
    found = evictions_of(scene, go("low"), come("high", "low"))
    assert found == {"low": (f"Preempted by pod {name} on node n1", "")}


def test_a_group_that_is_disrupted_as_a_whole_leaves_as_a_whole():
    scene = Scene()
    scene.state.gangs.get_handler(NATIVE_POD_GROUP)([present(whole_group("train"))])
    members = [native_pod("a", native="train", node="n1"), native_pod("b", native="train", node="n2")]
    scene.pods(*members)
    scene.state.take_actions()
    found = evictions_of(scene, go("a"), go("b", "n2"), come("high", "a", "b"))
    assert found.keys() == {"a", "b"}
    assert {together for _, together in found.values()} == {
        "scheduling.k8s.io/PodGroup/default/train, round 7"
    }


def whole_group(name):
    found = native(name, 2)
    mode = convert_object({"spec": {"disruptionMode": {"all": {}}}}, NativePodGroup).spec.disruption_mode
    return replace(found, spec=replace(found.spec, disruption_mode=mode))


# --- how many -------------------------------------------------------------------------------------------------------


def test_evictions_that_have_no_reason_do_not_count():
    scene = Scene(
        pod("idle", node="n1"), pod("low", node="n1"), limits=EvictionLimits(per_second=1.0, burst=1)
    )
    evicted, _, counts = scene.round(go("idle"), go("low"), come("high", "low"))
    assert (evicted, counts) == (["low"], refused(Reason.NO_REASON))


def test_too_many_at_a_time_are_refused_and_may_go_later():
    crowd = [pod(f"low-{index}", node="n1") for index in range(4)]
    preemptors = [pod(f"high-{index}", priority=9) for index in range(4)]
    scene = Scene(*crowd, *preemptors, limits=EvictionLimits(per_second=1.0, burst=2))
    asked = [go(f"low-{index}") for index in range(4)]
    asked += [come(f"high-{index}", f"low-{index}") for index in range(4)]
    evicted, reports, counts = scene.round(*asked)
    assert (evicted, counts) == (["low-0", "low-1"], refused(Reason.RATE, 2))
    assert reports == {"pod-low-2", "pod-low-3", "pod-high-2", "pod-high-3"}
    scene.now += 1.0
    assert scene.round(go("low-2"), go("low-3"), *asked[6:])[0] == ["low-2"]


def test_what_goes_together_is_not_divided():
    now = 0.0
    rate = EvictionRate(EvictionLimits(per_second=2.0, burst=4), lambda: now)
    assert rate.allows(3)
    assert not rate.allows(2)
    now = 1.0
    assert not rate.allows(10)
    now = 1.5
    assert rate.allows(10), "a full bucket lets more go than it holds"
    now = 4.0
    assert not rate.allows(1), "and pays for it later"


def test_a_long_pause_lets_no_more_go_than_a_burst():
    now = 0.0
    rate = EvictionRate(EvictionLimits(per_second=2.0, burst=4), lambda: now)
    now = 1000.0
    assert [rate.allows(1) for _ in range(5)] == [True, True, True, True, False]
    now = 2000.0
    assert rate.allows(4)
    assert not rate.allows(1)


def test_who_asks_too_early_pays_nothing():
    now = 0.0
    rate = EvictionRate(EvictionLimits(per_second=1.0, burst=2), lambda: now)
    assert rate.allows(2)
    for now in (0.25, 0.5, 0.75):  # noqa: B007 - the rate reads it
        assert not rate.allows(1)
    now = 1.0
    assert rate.allows(1)


def test_the_first_refusal_of_a_kind_is_logged(caplog):
    scene = Scene(pod("low", node="n1"), pod("low-2", node="n1"))
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            scene.round(go("low"), go("low-2"))
    [record] = [each for each in caplog.records if "refused" in each.message]
    assert "reason=no_reason" in record.message


# --- bindings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "where", "reason"),
    [
        (None, "n1", Reason.GONE),
        (pod("x", scheduler="default-scheduler"), "n1", Reason.GONE),
        (pod("x", node="n2"), "n1", Reason.ELSEWHERE),
        (pod("x"), "nowhere", Reason.NO_NODE),
        (pod("x", gated=True), "n1", Reason.GONE),
    ],
)
def test_bindings_that_make_no_sense_are_counted(made, where, reason):
    scene = Scene(*filter(None, [made]))
    assert scene.round(come("x", where=where)) == ([], {"pod-x"}, {(Kind.BINDING, reason): 1})


def test_a_node_that_does_not_take_the_pod_is_counted():
    scene = Scene(pod("x", cpu="9"))
    scene.round(come("x"))
    assert scene.state.refusal("pod-x", "n1")
    assert scene.state.refusals.take_counts() == {(Kind.BINDING, Reason.UNFIT): 1}
