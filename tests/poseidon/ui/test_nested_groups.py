"""Groups in groups: who is in which group of which tree, in which domain, and how many of how many there are."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from poseidon.kube.api.other_projects.hyper_nodes import HyperNode
from poseidon.kube.api.resource import Change
from poseidon.pod_groups.group_names import (
    COMPOSITE_POD_GROUP,
    KAI_POD_GROUP,
    NATIVE_POD_GROUP,
    POD_GANG,
    VOLCANO_POD_GROUP,
)
from poseidon.pod_groups.kinds import GROUP_KINDS
from poseidon.ui.views.groups import nested
from poseidon.ui.views.groups.all_groups import show_groups
from tests.poseidon.ui.objects import known, make_node, make_pod, store

ZONE, RACK = "topology.kubernetes.io/zone", "example.com/rack"
NODES = [
    make_node("n1", {ZONE: "z1", RACK: "r1"}),
    make_node("n2", {ZONE: "z1", RACK: "r2"}),
    make_node("n3", {ZONE: "z2", RACK: "r3"}),
]


def put(found, kind, *specs):
    """Let objects be known: pairs of a name and a spec."""
    changes: list[Change[Any]] = [
        Change(
            f"{kind}-{name}",
            msgspec.convert(
                {"metadata": {"name": name, "namespace": "a"}, "spec": spec}, GROUP_KINDS[kind].struct
            ),
        )
        for name, spec in specs
    ]
    found.groups.groups_changed(kind, changes)


def cluster(*pods):
    found = known(store(*NODES, *pods))
    found.groups.nodes_changed([Change(each.metadata.uid, each) for each in NODES])
    return found


def only_tree(found):
    answer = show_groups(found)
    assert answer["gangs"] == answer["trees"] == []
    (tree,) = answer["nested"]
    return tree


def rows(tree, *fields):
    return [tuple(each[name] for name in fields) for each in tree["groups"]]


def domains(tree):
    return {each["name"]: {one["label"]: one["values"] for one in each["domains"]} for each in tree["groups"]}


def composite(parent="", least=2, key=""):
    return {
        "parentCompositePodGroupName": parent,
        "schedulingPolicy": {"gang": {"minGroupCount": least}},
        "schedulingConstraints": {"topology": [{"key": key}] if key else []},
    }


def leaf(parent, least):
    return {"parentCompositePodGroupName": parent, "schedulingPolicy": {"gang": {"minCount": least}}}


def native(name, group, **fields):
    return make_pod(name, schedulingGroup={"podGroupName": group}, **fields)


@pytest.fixture
def composed():
    found = cluster(
        native("a/p0", "prefill-0", node="n1"),
        native("a/p1", "prefill-0", node="n1"),
        native("a/d0", "decode-0", node="n1"),
        native("a/p2", "prefill-1", node="n2"),
        native("a/p3", "prefill-1", reason="0/3 nodes are available: 3 Insufficient cpu."),
    )
    put(
        found,
        COMPOSITE_POD_GROUP,
        ("llm", composite(key=ZONE)),
        ("llm-0", composite("llm", key=RACK)),
        ("llm-1", composite("llm", key=RACK)),
    )
    put(
        found,
        NATIVE_POD_GROUP,
        ("prefill-0", leaf("llm-0", 2)),
        ("decode-0", leaf("llm-0", 1)),
        ("prefill-1", leaf("llm-1", 2)),
        ("decode-1", leaf("llm-1", 1)),
    )
    return found


def test_each_group_of_each_level_has_its_domain_and_its_members(composed):
    tree = only_tree(composed)
    assert (tree["name"], tree["kind"], tree["status"]) == ("a/llm", "CompositePodGroup", "Waiting")
    assert (tree["bound"], tree["pending"], tree["pods"], tree["total"]) == (4, 1, 5, 7)
    assert tree["message"] == "Insufficient cpu"
    assert rows(tree, "level", "parent", "name", "of", "members", "least", "total", "whole") == [
        (0, "", "llm", "groups", 1, 2, 2, False),
        (1, "llm", "llm-0", "groups", 2, 2, 2, True),
        (2, "llm-0", "decode-0", "pods", 1, 1, 1, True),
        (2, "llm-0", "prefill-0", "pods", 2, 2, 2, True),
        (1, "llm", "llm-1", "groups", 0, 2, 2, False),
        (2, "llm-1", "decode-1", "pods", 0, 1, 1, False),
        (2, "llm-1", "prefill-1", "pods", 1, 2, 2, False),
    ]
    placed = domains(tree)
    assert placed["llm"] == {ZONE: ["z1"]}
    assert (placed["llm-0"], placed["llm-1"]) == ({RACK: ["r1"]}, {RACK: ["r2"]})
    assert rows(tree, "nodes", "bound", "pending")[0] == (2, 4, 1)


def test_the_domains_of_a_group_whose_pods_are_divided_are_shown():
    found = cluster(native("a/p0", "work", node="n1"), native("a/p1", "work", node="n2"))
    rules = {"sakkara.group.constraints": json.dumps({RACK: {"type": "spread", "partitions": 2}})}
    work = {"metadata": {"name": "work", "namespace": "a", "annotations": rules}, "spec": leaf("llm", 2)}
    put(found, COMPOSITE_POD_GROUP, ("llm", composite(least=1)))
    found.groups.groups_changed(
        NATIVE_POD_GROUP, [Change("work", msgspec.convert(work, GROUP_KINDS[NATIVE_POD_GROUP].struct))]
    )
    assert domains(only_tree(found))["work"] == {RACK: ["r1", "r2"]}


def test_a_tree_is_whole_once_its_groups_are(composed):
    composed.store.pods_changed(
        [
            Change("uid-a/p3", native("a/p3", "prefill-1", node="n2")),
            Change("uid-a/d1", native("a/d1", "decode-1", node="n3")),
        ]
    )
    tree = only_tree(composed)
    assert (tree["status"], tree["message"]) == ("Bound", "")
    assert all(each["whole"] for each in tree["groups"])
    # decode-1 has gone astray: two values, the one with more pods first
    assert domains(tree)["llm"] == {ZONE: ["z1", "z2"]}


def test_pods_that_have_succeeded_are_not_missed(composed):
    ended = native("a/d0", "decode-0", node="n1", status={"phase": "Succeeded"})
    composed.store.pods_changed([Change("uid-a/d0", ended)])
    by_name = {each["name"]: each for each in only_tree(composed)["groups"]}
    decode = by_name["decode-0"]
    assert (decode["members"], decode["least"], decode["total"], decode["whole"]) == (0, 0, 0, True)
    assert by_name["llm-0"]["whole"]


def test_a_tree_that_is_refused_stands_among_the_gangs(composed):
    put(composed, COMPOSITE_POD_GROUP, ("llm", composite("llm-1")))
    answer = show_groups(composed)
    assert answer["nested"] == []
    assert [(each["name"], each["wanted"], each["bound"]) for each in answer["gangs"]] == [("a/llm", 0, 4)]


def test_leader_worker_sets_with_subgroups():
    def worker(name, subgroup, **fields):
        prefix = "leaderworkerset.sigs.k8s.io"
        terms = {"size": "4", "exclusive-topology": ZONE, "subgroup-size": "2"}
        return make_pod(
            name,
            labels={
                f"{prefix}/name": "lws",
                f"{prefix}/group-index": "0",
                f"{prefix}/subgroup-index": subgroup,
            },
            annotations={f"{prefix}/{key}": value for key, value in terms.items()}
            | {f"{prefix}/subgroup-exclusive-topology": RACK},
            **fields,
        )

    found = cluster(
        worker("a/lws-0", "0", node="n1"), worker("a/lws-0-1", "0", node="n1"), worker("a/lws-0-2", "1")
    )
    tree = only_tree(found)
    assert tree["kind"] == "Group (leaderworkerset.x-k8s.io)"
    assert rows(tree, "name", "members", "least", "total", "pending") == [
        ("lws-0", 1, 1, 2, 1),
        ("subgroup 0", 2, 1, 2, 0),
        ("subgroup 1", 0, 1, 2, 1),
    ]
    assert domains(tree) == {"lws-0": {ZONE: ["z1"]}, "subgroup 0": {RACK: ["r1"]}, "subgroup 1": {RACK: []}}


def test_jobs_of_a_job_set_with_a_domain_each():
    owner = [{"kind": "Job", "name": "set-workers-0", "uid": "job", "controller": True}]
    pods = [make_pod(f"a/w{index}", node="n3" if index else "") for index in range(3)]
    found = cluster(
        *(
            msgspec.structs.replace(
                each,
                metadata=msgspec.convert(
                    {
                        **msgspec.to_builtins(each.metadata),
                        "annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": RACK},
                        "ownerReferences": owner,
                    },
                    type(each.metadata),
                ),
            )
            for each in pods
        )
    )
    tree = only_tree(found)
    assert (tree["name"], tree["kind"], tree["message"]) == (
        "a/set-workers-0",
        "Job",
        "waits for the next round",
    )
    assert rows(tree, "name", "members", "total") == [("set-workers-0", 2, 3)]
    assert domains(tree) == {"set-workers-0": {RACK: ["r3"]}}


def test_groups_of_kai_and_grove():
    def in_kai(name, subgroup, **fields):
        return make_pod(
            name,
            labels={"kai.scheduler/subgroup-name": subgroup},
            annotations={"pod-group-name": "kai"},
            **fields,
        )

    def in_grove(name, clique, **fields):
        return make_pod(name, labels={"grove.io/podgang": "gang", "grove.io/podclique": clique}, **fields)

    found = cluster(
        in_kai("a/k0", "left", node="n1"),
        in_kai("a/k1", "right"),
        in_grove("a/g0", "router", node="n3"),
    )
    rule = {"requiredTopologyLevel": RACK, "preferredTopologyLevel": ZONE}
    subgroups = [
        {"name": "left", "minMember": 1, "topologyConstraint": rule},
        {"name": "right", "minMember": 1},
    ]
    put(found, KAI_POD_GROUP, ("kai", {"subGroups": subgroups}))
    put(
        found,
        POD_GANG,
        ("gang", {"podgroups": [{"name": "router", "minReplicas": 1}, {"name": "decode", "minReplicas": 2}]}),
    )
    answer = {each["name"]: each for each in show_groups(found)["nested"]}
    assert rows(answer["a/kai"], "name", "members", "total") == [
        ("kai", 1, 2),
        ("left", 1, 1),
        ("right", 0, 1),
    ]
    assert domains(answer["a/kai"])["left"] == {RACK: ["r1"], ZONE: ["z1"]}
    assert [each["required"] for each in answer["a/kai"]["groups"][1]["domains"]] == [True, False]
    assert rows(answer["a/gang"], "name", "members", "total") == [
        ("gang", 1, 2),
        ("router", 1, 1),
        ("decode", 0, 2),
    ]


def test_volcano_divides_pods_by_labels_and_places_them_in_hyper_nodes():
    def in_volcano(name, part, **fields):
        return make_pod(
            name,
            labels={"part": part},
            annotations={"scheduling.volcano.sh/group-name": "v"},
            **fields,
        )

    found = cluster(
        in_volcano("a/v0", "x", node="n1"), in_volcano("a/v1", "x", node="n2"), in_volcano("a/v2", "y")
    )
    policy = {
        "name": "parts",
        "matchLabelKeys": ["part"],
        "subGroupSize": 2,
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    }
    put(found, VOLCANO_POD_GROUP, ("v", {"minMember": 2, "subGroupPolicy": [policy]}))
    members = [{"type": "Node", "selector": {"regexMatch": {"pattern": "^n[12]$"}}}]
    switch = msgspec.convert({"metadata": {"name": "s1"}, "spec": {"tier": 1, "members": members}}, HyperNode)
    found.groups.hyper_nodes_changed([Change("s1", switch)])
    (tree,) = show_groups(found)["nested"]
    assert rows(tree, "level", "name", "members", "total") == [
        (0, "all of v", 1, 1),
        (1, "parts", 1, 2),
        (2, "parts/x", 2, 2),
        (2, "parts/y", 0, 2),
    ]
    assert domains(tree)["parts/x"] == {"topology.volcano.sh/tier-1": ["s1"]}
    found.groups.hyper_nodes_changed([Change("s1", None)])
    assert show_groups(found)["nested"] == []  # no such tier: its fault stands among the gangs


def test_an_answer_is_bounded(composed, monkeypatch):
    monkeypatch.setattr(nested, "MOST_GROUPS", 3)
    monkeypatch.setattr(nested, "MOST_DOMAINS", 1)
    composed.store.pods_changed([Change("uid-a/d1", native("a/d1", "decode-1", node="n3"))])
    tree = only_tree(composed)
    assert (len(tree["groups"]), tree["total"]) == (3, 7)
    (domain,) = tree["groups"][0]["domains"]
    assert (domain["values"], domain["total"]) == (["z1"], 2)
