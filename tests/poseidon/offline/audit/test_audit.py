"""`poseidon audit` of files and of a live cluster: its moves keep every rule, and what must not move stays."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from poseidon.cli import main
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.kubeconfig import write_kubeconfig
from poseidon.testbed.seeding import NodeShape
from tests.poseidon.offline.objects import node, pod, pod_group
from tests.programs.end_to_end.scene import free_port, scene
from tests.support.cluster import pod as api_pod

EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "12-audit"
HOST = "kubernetes.io/hostname"


def owned(name, where, *, owner="ReplicaSet", cpu=1, metadata=None, **spec):
    reference = {"apiVersion": "apps/v1", "kind": owner, "name": "own", "uid": "own", "controller": True}
    made = {"ownerReferences": [reference], **(metadata or {})}
    return pod(name, cpu=cpu, phase="Running", metadata=made, nodeName=where, **spec)


def audited(tmp_path, *objects, options=()):
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    result = CliRunner().invoke(main, ["audit", "-f", str(path), "-o", "json", *options])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def kinds_of(found):
    return [each["kind"] for each in found["cures"]]


def moves_of(found):
    return {each["pod"]: (each["from"], each["to"]) for each in found["consolidation"]["moves"]}


def test_three_nodes_become_two(tmp_path):
    pods = [owned(f"{name}-{index}", name, cpu=1) for name in ("a", "b", "c") for index in range(2)]
    found = audited(tmp_path, *(node(name, cpu=3) for name in "abc"), *pods)
    freed = found["consolidation"]["freed"]
    assert (len(freed), found["consolidation"]["mostFreed"]) == (1, 1)
    assert {source for source, _ in moves_of(found).values()} == set(freed)
    assert len(moves_of(found)) == 2


def test_pods_without_nodes_wait(tmp_path):
    found = audited(tmp_path, pod("a"))
    assert found["consolidation"]["freed"] == []
    (waiting,) = found["pending"]
    assert waiting["reason"].startswith("0/0 nodes are available")


def crowded(**metadata):
    """Eight pods on one of two nodes."""
    pods = [owned(f"p{index}", "a", cpu=1, metadata=metadata) for index in range(8)]
    return [node("a", cpu=10), node("b", cpu=10), *pods]


PACKING = """
apiVersion: firmament.io/v1alpha1
kind: SchedulerConfiguration
policy: {name: void}
costModels: [{name: gpu_packing, weight: 10}]
"""


def test_where_models_look_at_devices_pods_move_one_by_one(tmp_path):
    nodes = [node(name) for name in ("nearly-full", "empty-but-one")]
    for each in nodes:
        each["status"]["allocatable"]["nvidia.com/gpu"] = 4
    pods = [
        owned(f"p{number}", where) for number, where in enumerate(["nearly-full"] * 2 + ["empty-but-one"])
    ]
    for each in pods:
        each["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": 1}
    (tmp_path / "config.yaml").write_text(PACKING)
    costs = audited(tmp_path, *nodes, *pods, options=["--config", str(tmp_path / "config.yaml")])["costs"]
    assert [(each["pod"], each["to"]) for each in costs["moves"]] == [("shop/p2", "nearly-full")]
    # Of 4 GPUs, 3 are free for each of the first two, and 4 for the other one, 2 on the other node.
    each_gpu = costs["now"] / (3 + 3 + 4)
    assert costs["now"] - costs["after"] == pytest.approx(2 * each_gpu)
    assert costs["frontier"] == [{"moves": 1, "saved": 2 * each_gpu, "mostSaved": costs["now"]}]
    assert costs["lowest"] == 0


def test_pods_that_crowd_cost_less_apart(tmp_path):
    costs = audited(tmp_path, *crowded(), options=["--move-cost", "1"])["costs"]
    assert len(costs["moves"]) == 4
    assert {(each["from"], each["to"]) for each in costs["moves"]} == {("a", "b")}
    assert costs["lowest"] == costs["after"] < costs["now"]
    assert costs["now"] - costs["frontier"][-1]["mostSaved"] == pytest.approx(costs["lowest"], abs=0.01)
    few = audited(tmp_path, *crowded(), options=["--move-cost", "1", "--most-moves", "2"])["costs"]
    assert len(few["moves"]) == 2
    assert few["lowest"] == costs["lowest"] < few["after"] < few["now"]


def test_a_move_that_saves_less_than_it_costs_is_none(tmp_path):
    assert audited(tmp_path, *crowded(), options=["--move-cost", "1000"])["costs"]["moves"] == []
    dear = {"annotations": {"firmament.io/move-cost": "1000"}}
    assert audited(tmp_path, *crowded(**dear), options=["--move-cost", "1"])["costs"]["moves"] == []


@pytest.mark.parametrize("stated", ["much", "-1", "nan", "inf"])
def test_a_price_that_makes_no_sense_is_told_and_the_pod_stays(tmp_path, stated):
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump_all(crowded(annotations={"firmament.io/move-cost": stated})))
    result = CliRunner().invoke(main, ["audit", "-f", str(path), "-o", "json"])
    assert result.exit_code == 0
    assert (
        f"pod shop/p0: annotation firmament.io/move-cost is '{stated}'; it must be a number" in result.stderr
    )
    assert json.loads(result.stdout)["costs"] is None


def test_people_read_what_moves_would_save(tmp_path):
    path, page = tmp_path / "cluster.yaml", tmp_path / "audit.html"
    path.write_text(yaml.safe_dump_all(crowded()))
    command = ["audit", "-f", str(path), "--move-cost", "1", "--html", str(page)]
    shown = CliRunner().invoke(main, command).stdout
    assert "4 moves would bring that to" in shown
    assert "CHEAPER ELSEWHERE" in shown
    assert "4 moves would bring that to" in page.read_text()


def test_rules_between_pods_hold_after_the_moves(tmp_path):
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "x"}}}
            ]
        }
    }
    pods = [owned(name, name, metadata={"labels": {"app": "x"}}, affinity=apart) for name in ("a", "b", "c")]
    found = audited(tmp_path, *(node(name) for name in "abcd"), *pods)
    assert found["consolidation"]["freed"] == ["d"]
    assert moves_of(found) == {}


@pytest.mark.parametrize(
    ("keeper", "says"),
    [
        (
            owned("p", "a", metadata={"annotations": {"karpenter.sh/do-not-disrupt": "true"}}),
            "do-not-disrupt",
        ),
        (pod("p", phase="Running", nodeName="a"), "no controller"),
    ],
)
def test_what_must_not_move_keeps_its_node(tmp_path, keeper, says):
    found = audited(tmp_path, node("a"), node("b"), keeper, owned("q", "b"))
    (staying,) = found["consolidation"]["staying"]
    assert (staying["node"], staying["pod"]) == ("a", "shop/p")
    assert says in staying["reason"]
    assert moves_of(found) == {"shop/q": ("b", "a")}


def test_a_budget_that_allows_nothing_keeps_nodes(tmp_path):
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "all", "namespace": "shop"},
        "spec": {"maxUnavailable": 0, "selector": {}},
    }
    found = audited(tmp_path, node("a"), node("b"), owned("p", "a"), owned("q", "b"), budget)
    assert {each["node"] for each in found["consolidation"]["staying"]} == {"a", "b"}
    assert found["consolidation"]["freed"] == []


def test_pods_of_daemon_sets_go_with_their_nodes(tmp_path):
    found = audited(
        tmp_path, node("a"), node("b"), owned("d-a", "a", owner="DaemonSet"), owned("d-b", "b", owner="DaemonSet"),
        owned("p", "a"),
    )  # fmt: skip
    assert found["consolidation"]["freed"] == ["b"]
    assert moves_of(found) == {}


def test_pods_that_are_being_deleted_need_no_other_place(tmp_path):
    leaving = owned("leaving", "b", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    found = audited(tmp_path, node("a"), node("b"), owned("p", "a", cpu=2), leaving)
    assert found["consolidation"]["freed"] == ["b"]
    assert moves_of(found) == {}


def test_moves_are_bounded(tmp_path):
    pods = [owned(f"{name}-{index}", name, cpu="100m") for name in ("a", "b") for index in range(3)]
    found = audited(tmp_path, node("a"), node("b"), *pods, options=("--most-moves", "2"))
    assert (found["consolidation"]["freed"], found["consolidation"]["mostFreed"]) == ([], 1)


def test_the_example():
    found = json.loads(CliRunner().invoke(main, ["audit", "-f", str(EXAMPLE), "-o", "json"]).stdout)
    assert found["consolidation"]["freed"] == ["web-1"]
    assert found["overcommitted"] == [{"node": "db-1", "lacking": {"cpu": 1000}}]
    assert [each["pod"] for each in found["pending"]] == ["default/db-c"]


async def test_a_live_cluster_is_read_and_left_as_it_is(tmp_path):
    async with scene(tmp_path) as s:
        nodes = await s.nodes(3, [NodeShape("four", cpu="4", memory="16Gi")])
        reference = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": "r",
            "uid": "r",
            "controller": True,
        }
        for index, name in enumerate(nodes):
            made = api_pod(f"p{index}", cpu="1", nodeName=name, schedulerName="another")
            made["metadata"]["ownerReferences"] = [reference]
            made["status"] = {"phase": "Running"}
            create_object(s.operations, made)
        before = s.operations.store.revision
        words = ["audit", "--kubeconfig", str(s.stack.kubeconfig), "-o", "json"]
        result = await asyncio.to_thread(CliRunner().invoke, main, words)
        assert result.exit_code == 0, result.output
        found = json.loads(result.stdout)["consolidation"]
        assert (len(found["freed"]), found["mostFreed"], len(found["moves"])) == (2, 2, 2)
        assert s.operations.store.revision == before


def test_bad_input_is_one_line(tmp_path):
    write_kubeconfig(tmp_path / "kubeconfig", f"http://127.0.0.1:{free_port()}")
    gone = CliRunner().invoke(main, ["audit", "--kubeconfig", str(tmp_path / "kubeconfig")])
    assert (gone.exit_code, len(gone.stderr.splitlines())) == (1, 1)
    both = CliRunner().invoke(main, ["audit", "-f", str(EXAMPLE), "--context", "x"])
    assert (both.exit_code, "leave -f away" in both.stderr) == (2, True)


def test_room_for_a_pod_that_waits_is_made_by_the_fewest_moves(tmp_path):
    running = [owned("large", "a", cpu=2), owned("small", "a", cpu=1), owned("other", "b", cpu=1)]
    waits = pod("waits", cpu=3)
    found = audited(tmp_path, node("a"), node("b", cpu=3), *running, waits)
    assert [each["pod"] for each in found["pending"]] == ["shop/waits"]
    (cure,) = (each for each in found["cures"] if each["kind"] == "move-others")
    assert (cure["pod"], cure["node"]) == ("shop/waits", "a")
    assert cure["moves"] == [{"pod": "shop/large", "from": "a", "to": "b"}]
    assert cure["text"] == "move shop/large to b"


def test_what_must_not_move_makes_no_room(tmp_path):
    kept = owned("large", "a", cpu=2, metadata={"annotations": {"karpenter.sh/do-not-disrupt": "true"}})
    found = audited(tmp_path, node("a"), node("b", cpu=3), kept, pod("waits", cpu=4))
    assert "move-others" not in kinds_of(found)


def test_pods_that_rules_keep_out_have_no_cure_by_moves(tmp_path):
    found = audited(
        tmp_path, node("a"), node("b"), owned("p", "a"), pod("waits", cpu=1, nodeSelector={"disk": "fast"})
    )
    assert len(found["pending"]) == 1
    assert kinds_of(found) == ["label-node", "drop-constraint"]
    assert found["cures"][0]["changes"] == [
        {"kind": "label-node", "subject": "disk", "node": "a", "before": None, "after": "fast"}
    ]
    assert [each["text"] for each in found["cures"]] == [
        "label node a with disk=fast",
        "do without nodeSelector disk=fast",
    ]


def test_room_that_others_get_is_not_given_twice(tmp_path):
    """Both wait; one gets the room that there is, and the cure of the other leaves it there."""
    pods = [owned("large", "a", cpu=3), pod("first", cpu=3), pod("second", cpu=3)]
    found = audited(tmp_path, node("a"), node("b"), *pods)
    assert len(found["pending"]) == 1
    assert kinds_of(found) == ["lower-request", "enlarge-node", "add-node"]
    assert {each["changes"][0]["after"] for each in found["cures"] if each["kind"] == "lower-request"} == {
        1000
    }


def test_cures_in_words_for_people(tmp_path):
    cordoned = node("a", cpu=1, unschedulable=True)
    tainted = node("b", cpu=1, taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}])
    path, page = tmp_path / "cluster.yaml", tmp_path / "audit.html"
    path.write_text(yaml.safe_dump_all([cordoned, tainted, pod("waits", cpu="500m")]))
    result = CliRunner().invoke(main, ["audit", "-f", str(path), "--html", str(page)])
    assert "tolerate the taint gpu=yes:NoSchedule" in result.stdout
    assert "uncordon node a" in result.stdout
    assert "tolerate the taint gpu=yes:NoSchedule" in page.read_text()
    assert "of them have a cure" in page.read_text()


def test_gangs_are_cured_as_a_whole(tmp_path):
    member = {"labels": {"scheduling.x-k8s.io/pod-group": "gang"}}
    pods = [pod(f"m{index}", cpu=3, metadata=member) for index in range(2)]
    gang = (pod_group("gang", 2), *pods)
    found = audited(tmp_path, node("a"), *gang)
    assert len(found["pending"]) == 2
    assert [each["text"] for each in found["cures"] if each["pod"] == "shop/m0"] == [
        "request 2 of cpu instead of 3; then all 2 pods that wait together have places",
        "a gang of 1 pod instead of 2, with its minimum lowered by as many",
        "one more node like a; then all 2 pods that wait together have places",
    ]
    running = [owned("p", "a", cpu=2), owned("q", "b", cpu=2)]
    cured = audited(tmp_path, *(node(name) for name in "abc"), *running, *gang)["cures"]
    cured = [each for each in cured if each["moves"]]
    assert [(each["pod"], each["kind"]) for each in cured] == [
        ("shop/m0", "move-others"),
        ("shop/m1", "move-others"),
    ]
    assert {each["text"] for each in cured} == {
        f"move {cured[0]['moves'][0]['pod']} to {cured[0]['moves'][0]['to']}; then all 2 pods of its gang have places"
    }


RACKS = {"a": ("r1", "z1"), "b": ("r2", "z1"), "c": ("r3", "z2")}


def in_racks():
    for name, (rack, zone) in RACKS.items():
        made = node(name, cpu=2)
        made["metadata"]["labels"] |= {"rack": rack, "topology.kubernetes.io/zone": zone}
        yield made


def test_a_gang_may_go_by_a_coarser_label(tmp_path):
    """Four fit no rack, and no zone holds more than four: the next level is enough."""
    gang = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "shop"},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 4}},
            "schedulingConstraints": {"topology": [{"key": "rack"}]},
        },
    }
    pods = [pod(f"m{index}", cpu=1, schedulingGroup={"podGroupName": "g"}) for index in range(4)]
    found = audited(tmp_path, *in_racks(), gang, *pods)
    after = " (create it anew: the field cannot be changed); then all 4 pods that wait together have places"
    assert [each["text"] for each in found["cures"] if each["pod"] == "shop/m0"][:2] == [
        f"topology.kubernetes.io/zone instead of rack in the topology constraint of PodGroup shop/g{after}",
        f"do without topology constraint of PodGroup shop/g by rack{after}",
    ]


def test_an_affinity_may_go_by_a_coarser_label(tmp_path):
    """Two fit a rack: the third is to be in its zone."""
    terms = [{"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "web"}}}]
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    template = pod("web", cpu=1, metadata={"labels": {"app": "web"}}, affinity=near)
    web = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": template["spec"]},
        },
    }
    found = audited(tmp_path, *in_racks(), web)
    (cure,) = (each for each in found["cures"] if each["kind"] == "widen-rule")
    assert cure["text"] == "topology.kubernetes.io/zone instead of rack in the required podAffinity"
    assert '"op":"replace"' in cure["commands"][0]


def test_what_is_said_of_a_whole_gang_is_one_row(tmp_path):
    member = {"labels": {"scheduling.x-k8s.io/pod-group": "gang"}}
    selector = {"disk": "ssd"}
    pods = [pod(f"m{index}", cpu=3, metadata=member, nodeSelector=selector) for index in range(2)]
    labelled = node("a")
    labelled["metadata"]["labels"] = {**labelled["metadata"].get("labels", {}), **selector}
    path = tmp_path / "input.json"
    path.write_text(
        json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": [labelled, node("b"), pod_group("gang", 2), *pods]}
        )
    )
    shown = CliRunner().invoke(main, ["audit", "-f", str(path)]).stdout
    rows = [line for line in shown.splitlines() if line.startswith("shop/m")]
    assert all(row.startswith("shop/m0 and 1 more ") for row in rows)
    assert any(
        "do without nodeSelector disk=ssd; then all 2 pods that wait together have places" in row
        for row in rows
    )


def test_pods_that_run_against_rules_about_their_nodes(tmp_path):
    labelled = node("b")
    labelled["metadata"]["labels"]["disk"] = "slow"
    tainted = node("c", taints=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}])
    pods = [
        owned("wrong", "b", nodeSelector={"disk": "fast"}),
        owned("right", "b", nodeSelector={"disk": "slow"}),
        owned("early", "c"),
        owned("tolerant", "c", tolerations=[{"key": "gpu", "operator": "Exists"}]),
        owned("daemon", "c", owner="DaemonSet"),
        owned("cordoned", "a"),
    ]
    found = audited(tmp_path, node("a", unschedulable=True), labelled, tainted, *pods)
    assert {each["pod"]: each["reason"] for each in found["misplaced"]} == {
        "shop/wrong": "node(s) didn't match Pod's node affinity/selector",
        "shop/early": "node(s) had untolerated taint(s)",
    }


def test_as_one_page_that_shows_names_as_text(tmp_path):
    hostile = "<script>alert(1)</script>"
    labelled = node("a", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])
    path = tmp_path / "cluster.yaml"
    waits = pod("waits", cpu=1, schedulingGates=[{"name": hostile}])
    path.write_text(yaml.safe_dump_all([labelled, node("b"), owned("p", "a"), pod("big", cpu=99), waits]))
    page = tmp_path / "audit.html"
    result = CliRunner().invoke(main, ["audit", "-f", str(path), "--html", str(page)])
    assert result.exit_code == 0, result.stderr
    text = page.read_text()
    (answers,) = re.findall(r'<script type="application/json" id="answers">(.*?)</script>', text)
    sections = {each["title"]: each for each in json.loads(answers)["report"]["sections"]}
    assert ["shop/p", "a", "node(s) had untolerated taint(s)"] in sections["Misplaced pods"]["table"]["rows"]
    assert [each[1] for each in sections["Why pods wait"]["chart"]["items"]] == [1.0, 1.0]
    assert hostile not in text
    refused = CliRunner().invoke(main, ["audit", "-f", str(path), "--html", str(tmp_path / "no" / "page")])
    assert (refused.exit_code, "No such file" in refused.stderr) == (2, True)


def test_nodes_that_are_hot_by_measured_use(tmp_path):
    report = {
        "apiVersion": "slo.koordinator.sh/v1alpha1",
        "kind": "NodeMetric",
        "metadata": {"name": "a"},
        "status": {
            "updateTime": "2026-11-24T10:00:00Z",
            "nodeMetric": {"nodeUsage": {"resources": {"cpu": "3500m", "memory": "1Gi"}}},
        },
    }
    objects = (node("a"), node("b"), report, owned("p", "a"))
    now = ("--now", "2026-11-24T10:00:10Z")
    assert audited(tmp_path, *objects, options=now)["hot"] == [
        {"node": "a", "resource": "cpu", "percent": 87.5}
    ]
    assert audited(tmp_path, *objects, options=(*now, "--hot", "cpu=90"))["hot"] == []


def with_device(name, where, *, owned_by=True):
    """A running pod with a device of its node, by a claim of its own, or one that others may use."""
    claim = f"{name}-gpu"
    made = owned(name, where)
    named = {"resourceClaimTemplateName": "gpu"} if owned_by else {"resourceClaimName": claim}
    made["spec"]["resourceClaims"] = [{"name": "gpu", **named}]
    made["status"]["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": claim}]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True}
    result = {"request": "gpu", "driver": "gpus", "pool": where, "device": "d0"}
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    return made, {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": claim,
            "namespace": made["metadata"]["namespace"],
            "ownerReferences": [owner] if owned_by else [],
        },
        "spec": {"devices": {"requests": [request]}},
        "status": {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": name, "uid": name}],
        },
    }


def devices_of(where, count):
    pool = {"name": where, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"d{index}"} for index in range(count)]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": where},
        "spec": {"driver": "gpus", "nodeName": where, "pool": pool, "devices": devices},
    }


def test_a_pod_with_devices_of_its_own_moves_where_there_are_some(tmp_path):
    gpu = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
    nodes = [node(name, cpu=4) for name in ("a", "b", "c")]
    pods = [*with_device("one", "a"), *with_device("shared", "c", owned_by=False)]
    found = audited(tmp_path, gpu, *nodes, *pods, devices_of("a", 1), devices_of("c", 2))
    assert moves_of(found) == {"shop/one": ("a", "c")}
    found = audited(tmp_path, gpu, *nodes, *pods, devices_of("a", 1), devices_of("c", 1))
    assert moves_of(found) == {}
    assert {each["pod"]: each["reason"] for each in found["consolidation"]["staying"]} == {
        "shop/shared": "has a claim of devices that others may use"
    }


def test_a_claim_may_ask_for_fewer_devices(tmp_path):
    gpu = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": 4}}
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "four", "namespace": "shop"},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }
    waits = pod("waits", cpu=1, resourceClaims=[{"name": "g", "resourceClaimTemplateName": "four"}])
    found = audited(tmp_path, gpu, template, node("a", cpu=4), devices_of("a", 2), waits)
    [fewer, more] = found["cures"]
    assert (fewer["kind"], fewer["commands"]) == ("fewer-devices", [])
    assert fewer["text"].startswith(
        "2 devices instead of 4 in request gpu of claim g (create its template anew"
    )
    assert (more["kind"], more["commands"]) == ("add-devices", [])
    assert more["text"] == "2 more devices like gpus/a/d0 on node a"
