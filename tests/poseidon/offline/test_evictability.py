"""Which pods may be moved, as the eviction subresource and tools that empty nodes would have it."""

from __future__ import annotations

import asyncio
import json

import pytest
from click.testing import CliRunner

from poseidon.cli import main
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.seeding import NodeShape
from tests.poseidon.offline.audit.test_audit import audited, moves_of, owned
from tests.poseidon.offline.objects import node, pod
from tests.programs.end_to_end.scene import scene
from tests.support.cluster import pod as api_pod

SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
SCRATCH = [{"name": "scratch", "emptyDir": {}}]


def budget(name="p", *, spec=None, generation=1, **status):
    found = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}, **(spec or {})}
    made = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "shop", "generation": generation},
        "spec": found,
    }
    if status:
        made["status"] = {"observedGeneration": 1, **status}
    return made


def web(*, ready="True", phase="Running", annotations=None, **spec):
    """A pod on node a."""
    metadata = {"labels": {"app": "web"}, "annotations": annotations or {}}
    made = owned("web", "a", metadata=metadata, **spec)
    made["status"] = {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}
    return made


def kept(tmp_path, *objects, options=()):
    """Return why the pod on node a stays there, "" if the node is freed."""
    full = pod("full", cpu=3, phase="Running", nodeName="b")
    found = audited(tmp_path, node("a"), node("b"), full, *objects, options=options)["consolidation"]
    assert found["freed"] == ([] if any(each["node"] == "a" for each in found["staying"]) else ["a"])
    return next((each["reason"] for each in found["staying"] if each["node"] == "a"), "")


ROOM = {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1}
NONE = {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1}
SICK = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 1}
ALWAYS = {"unhealthyPodEvictionPolicy": "AlwaysAllow"}
IF_HEALTHY = {"unhealthyPodEvictionPolicy": "IfHealthyBudget"}
UNREADY = {"ready": "False"}
NO_DISRUPTION = "PodDisruptionBudget p allows no disruption"
SEVERAL = "is covered by several PodDisruptionBudgets (p, q), which evictions do not support"
UNCOUNTED = "PodDisruptionBudget p has changed, and its controller has not counted since"
CASES = [
    ("one with room", [budget(**ROOM)], {}, ""),
    ("one without", [budget(**NONE)], {}, NO_DISRUPTION),
    ("two with room", [budget(**ROOM), budget("q", **ROOM)], {}, SEVERAL),
    ("two, and one always lets those go that are not ready", [budget(spec=ALWAYS, **NONE), budget("q", **ROOM)],
     UNREADY, SEVERAL),
    ("two, and a pod that does not run yet", [budget(**NONE), budget("q", **NONE)],
     {"phase": "Pending", "ready": "False"}, ""),
    ("a second one of others", [budget(**ROOM), budget("q", spec={"selector": {"matchLabels": {"app": "db"}}}, **NONE)],
     {}, ""),
    ("a second one without a selector", [budget(**ROOM), budget("q", spec={"selector": None}, **NONE)], {}, ""),
    ("a second one about all", [budget(**ROOM), budget("q", spec={"selector": {}}, **ROOM)], {}, SEVERAL),
    ("always, not ready", [budget(spec=ALWAYS, **SICK)], UNREADY, ""),
    ("always, ready", [budget(spec=ALWAYS, **NONE)], {}, NO_DISRUPTION),
    ("always, not ready and not counted", [budget(spec=ALWAYS, generation=2, **SICK)], UNREADY, ""),
    ("if healthy, and it is", [budget(spec=IF_HEALTHY, **NONE)], UNREADY, ""),
    ("by default as if healthy", [budget(**NONE)], UNREADY, ""),
    ("if healthy, and it is not", [budget(spec=IF_HEALTHY, **SICK)], UNREADY, NO_DISRUPTION),
    ("nobody has to be healthy", [budget(disruptionsAllowed=0, currentHealthy=0, desiredHealthy=0)],
     UNREADY, NO_DISRUPTION),
    ("a change is not counted", [budget(generation=2, **ROOM)], {}, UNCOUNTED),
    ("a change is counted", [budget(generation=1, **ROOM)], {}, ""),
    ("evictions are not confirmed",
     [budget(**ROOM, disruptedPods={f"x{index}": "2026-01-01T00:00:00Z" for index in range(2001)})], {},
     "PodDisruptionBudget p has too many evictions that its controller has not seen yet"),
    ("written by hand, one may go", [budget(spec={"maxUnavailable": 1})], {}, ""),
    ("written by hand, it is not ready", [budget(spec={"maxUnavailable": 1})], UNREADY, NO_DISRUPTION),
    ("written by hand, always", [budget(spec={"maxUnavailable": 0, **ALWAYS})], UNREADY, ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("budgets", "pod", "reason"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_budgets_are_asked_as_the_api_server_asks_them(tmp_path, budgets, pod, reason):
    assert kept(tmp_path, web(**pod), *budgets) == reason


FOLDER = "has local data in volume scratch (emptyDir)"
HOST = [{"name": "logs", "hostPath": {"path": "/var/log"}}]
MEMORY = [{"name": "m", "emptyDir": {"medium": "Memory"}}]
PROJECTED = [
    {"name": "token", "projected": {"sources": []}},
    {"name": "conf", "configMap": {"name": "c"}},
    {"name": "labels", "downwardAPI": {}},
]


@pytest.mark.parametrize(
    ("volumes", "annotations", "reason"),
    [
        (SCRATCH, {}, FOLDER),
        (HOST, {}, "has local data in volume logs (hostPath)"),
        (MEMORY, {}, ""),
        (PROJECTED, {}, ""),
        ([*MEMORY, *SCRATCH], {}, FOLDER),
        (SCRATCH, {SAFE: "true"}, ""),
        (HOST, {SAFE: "true"}, ""),
        (SCRATCH, {SAFE: "yes"}, FOLDER),
        (SCRATCH, {VOLUMES: "other, scratch"}, ""),
        ([*SCRATCH, *HOST], {VOLUMES: "scratch"}, "has local data in volume logs (hostPath)"),
        ([], {SAFE: "false"}, f"has the annotation {SAFE}: false"),
    ],
)
def test_local_data_keeps_a_pod_unless_it_may_be_left_behind(tmp_path, volumes, annotations, reason):
    assert kept(tmp_path, web(volumes=volumes, annotations=annotations)) == reason


@pytest.mark.parametrize("volumes", [SCRATCH, HOST])
def test_an_option_leaves_local_data_behind(tmp_path, volumes):
    options = ["--delete-emptydir-data"]
    assert kept(tmp_path, web(volumes=volumes), options=options) == ""
    forbidden = web(volumes=volumes, annotations={SAFE: "false"})
    assert kept(tmp_path, forbidden, options=options) == f"has the annotation {SAFE}: false"


def test_what_may_be_left_behind_overrides_no_budget(tmp_path):
    assert kept(tmp_path, web(annotations={SAFE: "true"}), budget(**NONE)) == NO_DISRUPTION


def gang(mode, least=2):
    policy = {"gang": {"minCount": least}}
    version = "v1alpha2" if isinstance(mode, str) else "v1alpha3"
    return {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "shop"},
        "spec": {"schedulingPolicy": policy, "disruptionMode": mode},
    }


@pytest.mark.parametrize(
    ("mode", "least", "reason"),
    [
        ("PodGroup", 2, "is in gang shop/g, which is disrupted as a whole"),
        ({"all": {}}, 2, "is in gang shop/g, which is disrupted as a whole"),
        ("Pod", 2, ""),
        ({"single": {}}, 2, ""),
        ("PodGroup", 1, ""),
    ],
)
def test_no_member_of_a_gang_that_is_disrupted_as_a_whole_moves_by_itself(tmp_path, mode, least, reason):
    in_gang = {"schedulingGroup": {"podGroupName": "g"}}
    other = owned("other", "b", cpu="100m", **in_gang)
    member = owned("member", "a", cpu="500m", **in_gang)
    assert kept(tmp_path, gang(mode, least), member, other) == reason


@pytest.mark.parametrize(
    ("of_root", "of_group", "reason"),
    [
        ({"single": {}}, {"single": {}}, ""),
        ({"single": {}}, {"all": {}}, "is in group g of shop/root, which is disrupted as a whole"),
        ({"all": {}}, {"all": {}}, "is in gang shop/root, which is disrupted as a whole"),
    ],
)
def test_no_member_of_a_group_in_a_tree_that_is_disrupted_as_a_whole_moves(
    tmp_path, of_root, of_group, reason
):
    root = gang(of_root) | {"kind": "CompositePodGroup", "metadata": {"name": "root", "namespace": "shop"}}
    root["spec"]["schedulingPolicy"] = {"gang": {"minGroupCount": 1}}
    group = gang(of_group, 1)
    group["spec"]["parentCompositePodGroupName"] = "root"
    member = owned("member", "a", cpu="500m", schedulingGroup={"podGroupName": "g"})
    assert kept(tmp_path, root, group, member) == reason


def test_static_pods_go_with_their_nodes_whoever_names_them(tmp_path):
    static = owned("static", "a", owner="Node")
    mirror = owned("mirror", "a", metadata={"annotations": {"kubernetes.io/config.mirror": "x"}})
    found = audited(tmp_path, node("a"), node("b"), static, mirror, owned("p", "b", cpu=4))
    assert (found["consolidation"]["freed"], moves_of(found)) == (["a"], {})


async def test_a_live_cluster_gets_the_same_answers(tmp_path):
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}
    pods = {
        "scratch": ({}, SCRATCH, {}, "True"),
        "safe": ({}, SCRATCH, {VOLUMES: "scratch"}, "True"),
        "memory": ({}, MEMORY, {}, "True"),
        "twice": ({"app": "twice"}, [], {}, "True"),
        "sick": ({"app": "sick"}, [], {}, "False"),
        "held": ({"app": "held"}, [], {}, "True"),
    }
    budgets = [
        budget("p", spec={"selector": {"matchLabels": {"app": "twice"}}}),
        budget("q", spec={"selector": {"matchLabels": {"app": "twice"}}}),
        budget("always", spec={"maxUnavailable": 0, "selector": {"matchLabels": {"app": "sick"}}, **ALWAYS}),
        budget("none", spec={"maxUnavailable": 0, "selector": {"matchLabels": {"app": "held"}}}),
    ]
    async with scene(tmp_path) as s:
        shop = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
        create_object(s.operations, shop)
        nodes = await s.nodes(len(pods), [NodeShape("four", cpu="4", memory="16Gi")])
        for name, (labels, volumes, annotations, ready) in pods.items():
            made = api_pod(name, cpu="100m", nodeName=nodes.pop(), schedulerName="another", volumes=volumes)
            made["metadata"] |= {
                "namespace": "shop", "labels": labels, "annotations": annotations, "ownerReferences": [reference]
            }  # fmt: skip
            made["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
            create_object(s.operations, made)
        for each in budgets:
            create_object(s.operations, each)
        s.operations.disruptions.refresh()
        words = ["audit", "--kubeconfig", str(s.stack.kubeconfig), "-o", "json"]
        result = await asyncio.to_thread(CliRunner().invoke, main, words)
    assert result.exit_code == 0, result.output
    staying = json.loads(result.stdout)["consolidation"]["staying"]
    assert {each["pod"]: each["reason"] for each in staying} == {
        "shop/scratch": FOLDER,
        "shop/twice": SEVERAL,
        "shop/held": "PodDisruptionBudget none allows no disruption",
    }
