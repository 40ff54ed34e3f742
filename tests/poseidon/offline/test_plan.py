"""``poseidon plan``: what is bound, what waits and why, and the shape of the answer."""

from __future__ import annotations

import pytest
import yaml

from poseidon.embedding import load_configuration
from poseidon.manifests.loader import load_manifests
from poseidon.offline.cluster import build_offline_cluster
from tests.poseidon.offline.objects import affinity, node, pod
from tests.support.storage import claim, using, volume

KEYS = ["bindings", "preemptions", "migrations", "pending", "groups", "appGroups", "round"]
ROUND_KEYS = [
    "machines", "tasks", "classes", "arcs", "waves", "passes", "solves", "certified", "gap", "cost", "seconds",
]  # fmt: skip


@pytest.fixture
def plan(run, write):
    """Return a function that plans objects and returns the JSON answer."""

    def planned(*objects, arguments=()):
        return run(
            "plan", "-f", write(*objects), "-o", "json", "--now", "2026-01-31T12:00:00Z", *arguments
        ).json

    return planned


def bound(answer):
    return {each["pod"]: each["node"] for each in answer["bindings"]}


def reasons(answer):
    return {each["pod"]: each["reason"] for each in answer["pending"]}


def test_the_answer_has_all_keys_and_is_sorted(plan):
    answer = plan(node("n1"), pod("b"), pod("a"), pod("huge", cpu=99))
    assert list(answer) == KEYS
    assert list(answer["round"]) == ROUND_KEYS
    assert list(answer["round"]["seconds"]) == ["snapshot", "network", "solve", "admit"]
    assert answer["bindings"] == [
        {"pod": "shop/a", "node": "n1", "after": []},
        {"pod": "shop/b", "node": "n1", "after": []},
    ]
    assert answer["pending"] == [
        {
            "pod": "shop/huge",
            "reason": "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: "
            "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
        }
    ]
    assert answer["preemptions"] == answer["migrations"] == answer["groups"] == answer["appGroups"] == []
    figures = answer["round"]
    assert all(spent > 0 for spent in figures["seconds"].values())
    assert (figures["machines"], figures["tasks"], figures["certified"], figures["gap"]) == (1, 3, True, 0.0)


def test_equal_input_gives_an_equal_answer(plan):
    objects = [node(f"n{index}") for index in range(5)] + [pod(f"p{index}") for index in range(40)]
    first, second = plan(*objects), plan(*objects)
    for answer in (first, second):
        del answer["round"]["seconds"]
    assert first == second


def test_nothing_is_overcommitted_and_all_that_fits_is_placed(plan):
    running = pod("old", cpu=3, phase="Running", nodeName="n1")
    answer = plan(node("n1"), node("n2", cpu=2), running, *(pod(f"p{index}", cpu=1) for index in range(4)))
    found = list(bound(answer).values())
    assert (found.count("n1"), found.count("n2"), len(answer["pending"])) == (1, 2, 1)


def test_an_exact_fit_is_a_fit(plan):
    assert bound(plan(node("n1", cpu=1, memory="64Mi", pods=1), pod("p", cpu=1))) == {"shop/p": "n1"}


def test_pods_that_have_ended_hold_nothing(plan):
    done = pod("done", cpu=4, phase="Succeeded", nodeName="n1")
    assert bound(plan(node("n1"), done, pod("p", cpu=4))) == {"shop/p": "n1"}


def test_with_no_nodes_every_pod_waits(plan):
    answer = plan(pod("p"))
    assert reasons(answer) == {"shop/p": "0/0 nodes are available: no nodes available to schedule pods."}
    assert list(answer) == KEYS


@pytest.mark.parametrize("objects", [[node("n1")], []], ids=["no pods", "nothing"])
def test_with_no_pods_there_is_an_answer(run, write, objects):
    empty = {"apiVersion": "v1", "kind": "List", "items": []}
    answer = run("plan", "-f", write(empty, *objects), "-o", "json").json
    assert answer["bindings"] == answer["pending"] == []
    assert list(answer["round"]) == ROUND_KEYS


def test_reasons_are_kube_schedulers_and_in_its_order(plan):
    tainted = node("n1", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])
    objects = [tainted, node("n2", unschedulable=True), node("n3", cpu=1), node("n4", cpu=1)]
    assert reasons(plan(*objects, pod("p", cpu=3))) == {
        "shop/p": "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, "
        "2 Insufficient cpu. no new claims to deallocate, preemption: "
        "0/4 nodes are available: 4 Preemption is not helpful for scheduling."
    }


def test_a_resource_that_no_node_has(plan):
    greedy = pod("p")
    greedy["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"] = 1
    assert "1 Insufficient example.com/gpu" in reasons(plan(node("n1"), greedy))["shop/p"]


def test_gated_pods_wait_and_dying_ones_are_left_alone(plan):
    gated = pod("gated", schedulingGates=[{"name": "quota"}])
    dying = pod("dying", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    answer = plan(node("n1"), gated, dying)
    assert reasons(answer) == {"shop/gated": "Scheduling is blocked due to non-empty scheduling gates"}
    assert bound(answer) == {}


def test_required_rules_decide_and_preferred_ones_choose(plan):
    to_n2 = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}]
    hard = pod("hard", affinity=affinity("required", {"nodeSelectorTerms": to_n2}))
    soft = pod(
        "soft",
        affinity=affinity(
            "preferred",
            [
                {
                    "weight": 100,
                    "preference": {
                        "matchExpressions": [
                            {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n3"]}
                        ]
                    },
                }
            ],
        ),
    )
    chosen = pod("chosen", nodeSelector={"kubernetes.io/hostname": "n1"})
    assert bound(plan(node("n1"), node("n2"), node("n3"), hard, soft, chosen)) == {
        "shop/hard": "n2",
        "shop/soft": "n3",
        "shop/chosen": "n1",
    }


def test_a_more_important_pod_comes_first(plan):
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 9,
    }
    pods = [pod("low", cpu=3), pod("top", cpu=3, priorityClassName="high"), pod("mid", cpu=3, priority=5)]
    assert bound(plan(high, node("n1"), *pods)) == {"shop/top": "n1"}


def test_only_the_named_scheduler_takes_part_when_asked(plan):
    pods = [pod("ours", schedulerName="poseidon"), pod("theirs"), pod("running", nodeName="n1")]
    assert set(bound(plan(node("n1"), *pods))) == {"shop/ours", "shop/theirs"}
    answer = plan(node("n1"), *pods, arguments=["--scheduler-name", "poseidon"])
    assert bound(answer) == {"shop/ours": "n1"}
    assert answer["pending"] == []


def test_pods_of_a_template_that_names_a_node_count_there_and_are_bound_by_nobody(plan):
    template = {"spec": {"nodeName": "n2", "containers": [{"name": "c"}]}}
    spec = {"replicas": 2, "template": template}
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    large = pod("large", cpu="3900m")
    assert bound(plan(node("n1"), node("n2", cpu=5, pods=3), web, large)) == {"shop/large": "n2"}
    assert bound(plan(node("n2", cpu=5, pods=2), web, large)) == {}


def test_a_daemon_sets_pods_reach_their_nodes_cordoned_or_not(plan):
    cordoned = node(
        "n2", unschedulable=True, taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    )
    template = {"spec": {"containers": [{"name": "c"}]}}
    agent = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent"},
        "spec": {"template": template},
    }
    assert bound(plan(node("n1"), cordoned, agent)) == {"default/agent-0": "n1", "default/agent-1": "n2"}


def test_a_pod_on_an_unknown_node_is_left_out_with_a_warning(run, write):
    lost = pod("lost", nodeName="gone")
    outcome = run("plan", "-f", write(node("n1"), lost), "-o", "json")
    assert outcome.json["pending"] == []
    assert "Pod shop/lost: spec.nodeName: node 'gone' is not in the input" in outcome.stderr


def test_words_of_an_input_begin_no_lines_of_their_own(run, write):
    forged = "gone\nwarning: all nodes are gone\r\u2028\u202e"
    outcome = run("plan", "-f", write(node("n1"), pod("lost", nodeName=forged)), "-o", "json")
    lines = outcome.stderr.splitlines()
    assert not any(line.startswith("warning: all nodes") for line in lines)
    assert any(r"gone\nwarning: all nodes are gone\r" in line.replace("\\\\", "\\") for line in lines)
    assert not any(each in outcome.stderr for each in "\r\u2028\u202e")


def test_several_paths_and_standard_input(run, write, tmp_path):
    (tmp_path / "folder").mkdir()
    write(node("n1"), name="folder/nodes.yaml")
    text = write(pod("p")).read_text()
    answer = run("plan", "-f", tmp_path / "folder", "-f", "-", "-o", "json", stdin=text).json
    assert bound(answer) == {"shop/p": "n1"}


def test_the_table_is_for_people(run, write):
    file = write(
        node("n1"), node("n2"), pod("a"), pod("huge", cpu=99), pod("gated", schedulingGates=[{"name": "x"}])
    )
    outcome = run("plan", "-f", file)
    assert outcome.status == 0
    lines = outcome.stdout.splitlines()
    assert any(line.split() in (["shop/a", "n1"], ["shop/a", "n2"]) for line in lines)
    assert any(line.startswith("shop/huge ") and "Insufficient cpu (2 of 2 nodes)" in line for line in lines)
    assert lines[-1].startswith("1 pod bound to 1 node of 2, 2 pending; cost ")
    assert all(line == line.rstrip() for line in lines)


def test_the_table_of_nothing(run, write):
    assert run("plan", "-f", write(node("n1"))).stdout == "0 pods bound to 0 nodes of 1, 0 pending.\n"


def native_group(version, **spec):
    return {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "shop"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}, **spec},
    }


def racked(name, rack):
    made = node(name)
    made["metadata"]["labels"]["rack"] = rack
    return made


def member(name, **spec):
    return pod(name, schedulingGroup={"podGroupName": "train"}, **spec)


def test_a_name_of_any_length_makes_a_warning_that_can_be_read(run, write):
    path = write(node("n1"), pod("p", phase="Pending", priorityClassName="9" * 5_000))
    outcome = run("plan", "-f", path)
    (warning,) = outcome.stderr.splitlines()
    assert warning.startswith("warning: Pod shop/p: spec.priorityClassName: PriorityClass ")
    assert len(warning) < 1_100


def test_what_a_group_asks_for_in_vain_is_a_warning(run, write):
    group = native_group("v1alpha2", schedulingPolicy={"basic": {}}, disruptionMode="PodGroup")
    outcome = run("plan", "-f", write(node("n1"), group, member("p")))
    assert outcome.status == 0
    assert "PodGroup shop/train: spec.disruptionMode is honoured for gangs alone" in outcome.stderr


@pytest.mark.parametrize("version", ["v1alpha2", "v1alpha3", "v1beta1"])
def test_a_group_with_a_topology_constraint_goes_to_one_domain(plan, version):
    racks = {"a": ("a1", "a2"), "b": ("b1", "b2", "b3"), "c": ("c1", "c2")}
    nodes = [racked(name, rack) for rack, names in racks.items() for name in names]
    group = native_group(version, schedulingConstraints={"topology": [{"key": "rack"}]})
    members = [member(f"p{index}", cpu="3") for index in range(3)]
    found = plan(*nodes, node("nowhere"), group, *members)
    assert set(bound(found).values()) == {"b1", "b2", "b3"}
    late = plan(*nodes, group, member("old", cpu="3", nodeName="b1"), *members[:2])
    assert set(bound(late).values()) <= {"b2", "b3"}, "they follow those that run"


def grouped(name, group, *, cpu="2", **spec):
    return pod(name, cpu=cpu, schedulingGroup={"podGroupName": group}, **spec)


def stating(name, priority):
    """A gang of two that states a priority."""
    found = native_group("v1beta1", schedulingPolicy={"gang": {"minCount": 2}}, priority=priority)
    found["metadata"]["name"] = name
    return found


def test_a_groups_priority_orders_it_among_groups_alone(plan):
    first = [grouped(f"first-{index}", "first") for index in range(2)]
    last = [grouped(f"last-{index}", "last") for index in range(2)]
    found = plan(node("n1"), stating("first", 1), stating("last", 9), *first, *last)
    assert set(bound(found)) == {"shop/last-0", "shop/last-1"}
    alone = pod("alone", cpu="4", priority=1)
    assert set(bound(plan(node("n1"), stating("last", 9), *last, alone))) == {"shop/alone"}


def test_a_groups_priority_displaces_groups_that_state_less_and_nobody_else(plan):
    waiting = [grouped(f"w{index}", "waiting") for index in range(2)]
    there = [grouped(f"r{index}", "running", phase="Running", nodeName="n1") for index in range(2)]
    found = plan(node("n1"), stating("running", 1), stating("waiting", 9), *there, *waiting)
    assert {each["pod"] for each in found["preemptions"]} == {"shop/r0", "shop/r1"}
    alone = [pod(f"r{index}", cpu="2", phase="Running", nodeName="n1") for index in range(2)]
    assert not plan(node("n1"), stating("waiting", 9), *alone, *waiting)["preemptions"]


def test_a_group_that_fits_no_domain_says_why(plan):
    nodes = [racked(f"n{index}", str(index // 2)) for index in range(4)]
    group = native_group("v1beta1", schedulingConstraints={"topology": [{"key": "rack"}]})
    found = plan(*nodes, group, *(member(f"p{index}", cpu="3") for index in range(3)))
    assert bound(found) == {}
    told = "gang shop/PodGroup/train needs 3 places at once: 0/4 nodes are available: "
    assert all(reason.startswith(told) for reason in reasons(found).values())


def test_a_pod_whose_priority_class_does_not_exist_waits_as_in_a_cluster(plan, run, write):
    unknown = pod("p", priorityClassName="gone")
    told = "no PriorityClass 'gone' exists; create it, or create the pod again with another one"
    reason = f"spec.priorityClassName: {told}"
    assert reasons(plan(node("n1"), unknown)) == {"shop/p": reason}
    running = pod("runs", priorityClassName="gone", nodeName="n1", phase="Running", cpu=3)
    assert bound(plan(node("n1"), running, pod("q", cpu=1, priority=-1))) == {"shop/q": "n1"}
    explained = run("explain", "-f", write(node("n1"), unknown), "--pod", "shop/p")
    assert "1 of 1 node is feasible" in explained.stdout
    assert reason in explained.stdout


def test_room_is_kept_for_a_pod_that_was_nominated(plan, tmp_path):
    """Others have left for it already: somebody who is no more important does not take what they left."""
    first = pod("first", cpu=3, priority=5, metadata={"creationTimestamp": "2026-01-30T12:00:00Z"})
    second = pod("second", cpu=3, priority=5, metadata={"creationTimestamp": "2026-01-31T11:00:00Z"})
    assert bound(plan(node("n1"), first, second)) == {"shop/first": "n1"}
    second["status"]["nominatedNodeName"] = "n1"
    records = [each.record for each in told(tmp_path, node("n1"), first, second)]
    nominated = {each.key.name: each.payload for each in records if each.key.kind == "NominatedTask"}
    assert nominated == {"shop/second": b"n1"}


def test_gangs_that_have_been_whole_are_told_from_those_that_have_not(tmp_path):
    """As by a bridge that begins anew."""
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "spec": {"minMember": 2}}
    member = {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}
    pods = [pod("a", metadata=member, nodeName="n1", phase="Running"), pod("b", metadata=member)]
    for phase, was_whole in (("Pending", False), ("Running", True)):
        found = {**group, "metadata": {"name": "g", "namespace": "shop"}, "status": {"phase": phase}}
        events = told(tmp_path, node("n1"), found, *pods)
        assert [each.job.was_whole for each in events if each.WhichOneof("body") == "job"] == [was_whole]


def test_a_pod_elsewhere_goes_on_using_its_claims(plan):
    """It runs on a node outside the input, and is the one that may use the claim all the same."""
    solo = claim("c", namespace="shop", volume="v", modes=("ReadWriteOncePod",))
    elsewhere = pod("elsewhere", volumes=using("c"), nodeName="gone", phase="Running")
    answer = plan(node("n1"), volume("v", to="shop/c"), solo, elsewhere, pod("p", volumes=using("c")))
    assert "already in-use by another pod" in reasons(answer)["shop/p"]


def test_new_pods_of_a_deployment_are_its_replica_sets(tmp_path):
    """So they are kept apart from the pods that it has already."""
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "c"}]}}},
    }
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d8", "uid": "r", "controller": True}
    labels = {"pod-template-hash": "5d8"}
    there = pod(
        "web-5d8-x", metadata={"labels": labels, "ownerReferences": [owner]}, nodeName="n1", phase="Running"
    )
    events = told(tmp_path, node("n1"), deployment, there)
    groups = [each.tasks.spread_group or each.bound.spread_group for each in events]
    assert sorted(filter(None, groups)) == ["shop/ReplicaSet/web-5d8"] * 2


def test_whose_pods_of_other_schedulers_are_does_not_matter(tmp_path):
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "r", "controller": True}
    metadata = {"ownerReferences": [owner]}
    theirs = pod("theirs", metadata=metadata, schedulerName="volcano", nodeName="n1", phase="Running")
    ours = pod("ours", metadata=metadata, schedulerName="poseidon")
    events = told(tmp_path, node("n1"), theirs, ours, names=frozenset({"poseidon"}))
    jobs = {each.bound.names[0]: each.bound.job for each in events if each.WhichOneof("body") == "bound"}
    assert jobs == {"shop/theirs": ""}


def told(folder, *objects, names=frozenset()):
    """What the solver is told of objects."""
    file = folder / "told.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    cluster = build_offline_cluster(
        load_manifests([str(file)]), load_configuration(None), 1.8e9, scheduler_names=names
    )
    return cluster.state.snapshot()


def test_room_that_another_scheduler_keeps_for_a_nominated_pod_is_left_to_it(plan):
    theirs = pod("theirs", cpu="3", schedulerName="default-scheduler", priority=5)
    theirs["status"]["nominatedNodeName"] = "n1"
    ours = ("--scheduler-name", "poseidon")
    pods = (
        pod("less", cpu="2", priority=4, schedulerName="poseidon"),
        pod("small", cpu="1", schedulerName="poseidon"),
    )
    found = plan(node("n1"), theirs, *pods, arguments=ours)
    assert bound(found) == {"shop/small": "n1"}
    assert reasons(found)["shop/less"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    more = pod("more", cpu="2", priority=6, schedulerName="poseidon")
    found = plan(node("n1"), theirs, more, arguments=ours)
    assert bound(found) == {"shop/more": "n1"}


def owned_by_a_set(name, where):
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "own", "uid": "own", "controller": True}
    return pod(name, cpu=1, phase="Running", metadata={"ownerReferences": [owner]}, nodeName=where)


def test_running_pods_move_only_if_asked_for_and_if_it_pays(plan):
    crowd = [owned_by_a_set(f"p{index}", "a") for index in range(6)]
    objects = [node("a", cpu=10), node("b", cpu=10), *crowd, pod("new", cpu=1)]

    def migrations(*options):
        return plan(*objects, arguments=options)["migrations"]

    assert migrations() == []
    assert migrations("--reschedule", "--move-cost", "1000") == []
    found = migrations("--reschedule", "--move-cost", "1")
    assert {(each["from"], each["to"]) for each in found} == {("a", "b")}
    assert len(found) == 2  # one less than if no pod came to b
    assert all(each["saves"] > 1 for each in found)


def test_people_see_who_would_move(run, write):
    crowd = [owned_by_a_set(f"p{index}", "a") for index in range(6)]
    path = write(node("a", cpu=10), node("b", cpu=10), *crowd)
    assert "MIGRATED POD" not in run("plan", "-f", path).stdout
    assert "MIGRATED POD" in run("plan", "-f", path, "--reschedule", "--move-cost", "1").stdout
