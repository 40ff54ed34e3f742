"""What moves are for: plans for clusters that are described by objects."""

from __future__ import annotations

import pytest
import yaml
from click.testing import CliRunner

from poseidon.cli import main
from poseidon.embedding import load_configuration
from poseidon.kube.api.metadata import seconds
from poseidon.manifests.loader import load_manifests
from poseidon.rescheduling.initial_cluster import examine
from poseidon.rescheduling.objectives import Objective, ObjectiveOptions
from poseidon.rescheduling.planning import plan_moves
from tests.poseidon.offline.objects import node, pod, pod_group

NOW = "2026-11-24T10:00:10Z"
ALLOWING = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "shop", "labels": {"firmament.io/reschedule": "allow"}},
}
LOAD = """
apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
policy: {name: void}
costModels: [{name: load_threshold, args: {usageThresholds: {cpu: 80}}}]
"""


def owned(name, where, *, cpu=1, **metadata):
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name, "controller": True}
    made = {"ownerReferences": [owner], "creationTimestamp": "2026-11-24T00:00:00Z", **metadata}
    found = pod(name, cpu=cpu, phase="Running", metadata=made, nodeName=where, schedulerName="poseidon")
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-24T00:00:00Z"}
    found["status"]["conditions"] = [scheduled]
    return found


def report(name, pods):
    used = sum(pods.values())
    return {
        "apiVersion": "slo.koordinator.sh/v1alpha1",
        "kind": "NodeMetric",
        "metadata": {"name": name},
        "spec": {"metricCollectPolicy": {"reportIntervalSeconds": 60}},
        "status": {
            "updateTime": "2026-11-24T10:00:00Z",
            "nodeMetric": {"nodeUsage": {"resources": {"cpu": f"{used}m", "memory": "1Gi"}}},
            "podsMetric": [
                {
                    "namespace": "shop",
                    "name": each,
                    "podUsage": {"resources": {"cpu": f"{use}m", "memory": "1Mi"}},
                }
                for each, use in pods.items()
            ],
        },
    }


def planned(tmp_path, *objects, objective, config="", **options):
    path, file = tmp_path / "cluster.yaml", tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump_all([ALLOWING, *objects]))
    file.write_text(config)
    configuration = load_configuration(file if config else None)
    now = seconds(NOW)
    assert now is not None
    chosen = ObjectiveOptions(Objective(objective), **options)
    return plan_moves(load_manifests((str(path),)), configuration, now, chosen, 5)


def moves_of(plan):
    return {
        each.pod.removeprefix("shop/"): (each.source, each.target)
        for wave in plan.waves.waves
        for each in wave
    }


def test_load_leaves_hot_nodes_by_the_fewest_pods(tmp_path):
    uses = {"small": 500, "middle": 1500, "large": 2400}
    pods = [owned(name, "a", cpu="250m") for name in uses]
    found = planned(
        tmp_path,
        *(node(name) for name in ("a", "b")),
        *pods,
        owned("calm", "b"),
        report("a", uses),
        report("b", {"calm": 300}),
        objective="relieve-load",
        config=LOAD,
        hot=(("cpu", 75.0),),
    )
    assert moves_of(found) == {"middle": ("a", "b")}
    assert found.waves.waves[0][0].why == "node a is hot"


def test_a_node_that_cannot_be_relieved_is_told(tmp_path):
    uses = {"one": 2000, "two": 2000}
    found = planned(
        tmp_path,
        node("a"),
        *(owned(name, "a") for name in uses),
        report("a", uses),
        objective="relieve-load",
        config=LOAD,
        hot=(("cpu", 75.0),),
    )
    assert (moves_of(found), found.notes) == (
        {},
        ("node a stays hot: none of its pods has a cooler node to move to",),
    )


PACKING = """
apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
policy: {name: void}
costModels: [{name: gpu_packing, weight: 10}]
"""


def test_a_pod_leaves_the_node_whose_gpus_are_free_otherwise(tmp_path):
    nodes = [node(name) for name in ("full", "nearly-full", "empty-but-one")]
    for each in nodes:
        each["status"]["allocatable"]["nvidia.com/gpu"] = 4
    places = ["full"] * 4 + ["nearly-full"] * 2 + ["empty-but-one"]
    pods = [owned(f"gpu-{number}", where, cpu="100m") for number, where in enumerate(places)]
    for each in pods:
        resources = each["spec"]["containers"][0]["resources"]
        resources["requests"]["nvidia.com/gpu"] = 1
        resources["limits"] = {"nvidia.com/gpu": 1}
    found = planned(tmp_path, *nodes, *pods, objective="lower-cost", config=PACKING)
    # Without it, 4 GPUs of its node would be free; 2 of the other node are.
    assert moves_of(found) == {"gpu-6": ("empty-but-one", "nearly-full")}


def test_without_a_model_that_looks_at_load_the_reason_is_told(tmp_path):
    uses = {"one": 2000, "two": 2000}
    pods = [owned(name, "a") for name in uses]
    found = planned(
        tmp_path,
        node("a"),
        node("b"),
        *pods,
        report("a", uses),
        objective="relieve-load",
        hot=(("cpu", 75.0),),
    )
    assert found.notes[-1].startswith("the use of single pods is known only with a cost model")


def test_nodes_are_freed_that_are_named(tmp_path):
    pods = [owned("p", "a"), owned("q", "b"), owned("r", "b")]
    nodes = [node(name) for name in ("a", "b")]
    free = planned(tmp_path, *nodes, *pods, objective="free-nodes")
    assert (free.freed, moves_of(free)) == (("a",), {"p": ("a", "b")})
    named = planned(tmp_path, *nodes, *pods, objective="free-nodes", nodes=("b", "c"))
    assert (named.freed, set(moves_of(named))) == (("b",), {"q", "r"})
    assert named.notes == ("node c is not known",)


def test_a_node_with_a_pod_that_stays_is_not_freed(tmp_path):
    held = owned("p", "a", annotations={"firmament.io/reschedule": "deny"})
    found = planned(
        tmp_path, node("a"), node("b"), held, owned("q", "b"), objective="free-nodes", nodes=("a",)
    )
    assert (found.freed, found.notes) == (
        (),
        ("node a cannot be freed now: pod shop/p is not allowed to move",),
    )


def test_a_node_that_a_waiting_pod_gets_is_not_freed(tmp_path):
    waits = pod("waits", cpu=3)
    objects = [node("a"), node("b"), owned("p", "a", cpu=1), owned("q", "b", cpu=2), waits]
    found = planned(tmp_path, *objects, objective="free-nodes", nodes=("a", "b"))
    assert moves_of(found) == {}
    assert "pod shop/waits waits, and gets this node in the next round" in found.notes[0]


def test_what_is_emptied_for_a_waiting_pod_is_not_cordoned(tmp_path):
    waits = pod("waits", cpu=4)
    objects = [node("a"), node("b"), node("c"), owned("p", "a", cpu=1), owned("q", "b", cpu=1), waits]
    found = planned(tmp_path, *objects, owned("r", "c", cpu=2), objective="free-nodes")
    room = {move.source for wave in found.waves.waves for move in wave if "makes room" in move.why}
    assert len(room) == 1, "the pod that waits gets a whole node"
    assert len(found.freed) == 1
    assert room.isdisjoint(found.freed)


def test_what_an_earlier_plan_has_not_freed_is_given_back(tmp_path):
    left = node("a", cpu=4, unschedulable=True)
    left["metadata"]["annotations"] = {"firmament.io/freed": "true"}
    held = owned("p", "a", annotations={"firmament.io/reschedule": "deny"})
    found = planned(tmp_path, left, node("b"), held, objective="free-nodes")
    assert (found.freed, found.given_back) == ((), ("a",))


def test_a_gang_that_waits_gets_its_nodes(tmp_path):
    member = {"labels": {"scheduling.x-k8s.io/pod-group": "gang"}}
    gang = [pod(f"m{index}", cpu=4, metadata=member, schedulerName="poseidon") for index in range(2)]
    running = [owned("p", "a"), owned("q", "b"), owned("r", "c", cpu=2)]
    found = planned(
        tmp_path,
        *(node(name) for name in "abc"),
        *running,
        pod_group("gang", 2),
        *gang,
        objective="make-room",
    )
    assert moves_of(found) == {"p": ("a", "c"), "q": ("b", "c")}
    assert {each.why for wave in found.waves.waves for each in wave} == {"makes room for shop/m0"}


def test_owners_are_not_told_the_names_of_others(tmp_path):
    waits = pod("large", cpu=4, schedulerName="poseidon")
    waits["metadata"]["namespace"] = "other"
    running = [owned("p", "a"), owned("q", "b")]
    found = planned(tmp_path, node("a"), node("b"), *running, waits, objective="make-room")
    assert [each.why for wave in found.waves.waves for each in wave] == [
        "makes room for a pod of another namespace"
    ]


@pytest.mark.parametrize(("until", "moves"), [("2026-11-24T10:05:00Z", 0), ("2026-11-24T09:55:00Z", 1)])
def test_a_pod_that_is_being_moved_is_not_planned_again_for_a_while(tmp_path, until, moves):
    under_way = {"firmament.io/move-to": "b", "firmament.io/move-until": until}
    found = planned(tmp_path, node("a"), node("b"), owned("p", "a", annotations=under_way), owned("q", "b"),
                    objective="free-nodes", nodes=("a",))  # fmt: skip
    assert len(moves_of(found)) == moves


def test_nobody_waits(tmp_path):
    assert moves_of(planned(tmp_path, node("a"), owned("p", "a"), objective="make-room")) == {}


@pytest.mark.parametrize("said", ["cpu", "cpu=", "=80", "cpu=0", "cpu=101", "cpu=nan"])
def test_a_threshold_that_makes_no_sense_is_one_line(said):
    result = CliRunner().invoke(main, ["reschedule", "--objective", "relieve-load", "--hot", said])
    assert result.exit_code == 2
    assert f"{said!r} is not RESOURCE=PERCENT; write for example cpu=80" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("may_go", [False, True])
def test_pods_with_local_data_move_only_if_that_may_be_left_behind(tmp_path, may_go):
    scratch = owned("p", "a", cpu="100m")
    scratch["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    objects = [node("a"), node("b"), scratch, owned("q", "b", cpu=2)]
    found = planned(tmp_path, *objects, objective="free-nodes", local_data_may_go=may_go)
    assert found.freed == (("a",) if may_go else ("b",))


def zoned(name, zone, **spec):
    made = node(name, **spec)
    made["metadata"]["labels"]["topology.kubernetes.io/zone"] = zone
    return made


def spread(name, where, key="topology.kubernetes.io/zone"):
    made = owned(name, where, cpu="100m", labels={"app": "x"})
    made["spec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "x"}},
        }
    ]
    return made


def test_a_node_that_is_the_last_of_a_zone_is_not_freed(tmp_path):
    objects = [zoned("a", "1"), zoned("b", "2"), spread("p", "a"), spread("q", "b")]
    found = planned(tmp_path, *objects, objective="free-nodes")
    assert (found.freed, moves_of(found)) == ((), {})


def test_two_nodes_are_not_freed_whose_pods_cannot_be_together(tmp_path):
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}]}}  # fmt: skip
    pods = [owned(name, name, cpu="100m", labels={"app": "x"}) for name in ("a", "b")]
    for each in pods:
        each["spec"]["affinity"] = apart
    keep = pod("keep", phase="Running", nodeName="c")
    found = planned(tmp_path, node("a"), node("b"), node("c"), keep, *pods, objective="free-nodes")
    assert len(found.freed) == 1
    assert {target for _, target in moves_of(found).values()} == {"c"}


def test_a_node_that_failed_is_not_tried_again_until_something_changes(tmp_path):
    def plan(*more):
        objects = [marked, node("b"), owned("p", "a"), owned("q", "b", cpu=2), *more]
        return planned(tmp_path, *objects, objective="free-nodes")

    marked = node("a")
    found = plan()
    assert found.freed == ("a",)
    marked["metadata"]["annotations"] = {"firmament.io/not-freed": found.state}
    again = plan()
    assert (moves_of(again).keys() & {"p"}, "a" in again.freed) == (set(), False)
    assert again.notes[-1].startswith("node a could not be freed before, and nothing has changed since; ")
    assert plan(node("c")).freed != ()
    assert plan(owned("r", "b", cpu="100m")).freed == ("a",)


def test_unless_it_is_said_pods_with_local_data_stay(tmp_path):
    scratch = owned("p", "a", cpu="100m")
    scratch["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump_all([ALLOWING, node("a"), scratch, owned("q", "a")]))
    now = seconds(NOW)
    assert now is not None
    manifests = load_manifests((str(path),))
    found = examine(manifests, load_configuration(None), now)
    left_behind = examine(manifests, load_configuration(None), now, local_data_may_go=True)
    assert len(left_behind.prices) == 2
    [stays] = left_behind.prices.keys() - found.prices.keys()
    assert found.pods[stays].metadata.name == "p"
    assert stays in found.staying
