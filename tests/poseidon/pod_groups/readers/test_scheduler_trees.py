"""PodGroups of KAI with subgroups, and PodGangs of Grove, as trees of groups; and what makes no sense."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import msgspec
import pytest

from poseidon.embedding import load_configuration
from poseidon.kube.api.other_projects.scheduler_groups import KaiPodGroup, PodGang
from poseidon.kube.api.pods import Pod
from poseidon.manifests.loader import load_manifests
from poseidon.offline.plan import make_plan
from poseidon.pod_groups.group import Group
from poseidon.pod_groups.group_names import KAI_POD_GROUP, POD_GANG
from poseidon.pod_groups.groups import Groups

RACK = {"requiredTopologyLevel": "rack"}
PACK = {"packConstraint": {"required": "rack"}}
METADATA = {"name": "job", "namespace": "default", "uid": "uid-job"}
KAI = {
    "minMember": 6,
    "topologyConstraint": {"topology": "t", "requiredTopologyLevel": "zone"},
    "subGroups": [
        {
            "name": "decode",
            "parent": "serving",
            "minMember": 4,
            "topologyConstraint": {"requiredTopologyLevel": "rack"},
        },
        {"name": "serving", "minMember": 1},
        {"name": "prefill", "minMember": 2, "topologyConstraint": {"preferredTopologyLevel": "rack"}},
    ],
}
GROVE = {
    "topologyConstraint": {"packConstraint": {"required": "zone"}},
    "podgroups": [
        {
            "name": "a",
            "minReplicas": 2,
            "podReferences": [],
            "topologyConstraint": {"packConstraint": {"required": "rack"}},
        },
        {"name": "b", "minReplicas": 1, "podReferences": []},
        {"name": "c", "minReplicas": 1, "podReferences": []},
    ],
    "topologyConstraintGroupConfigs": [
        {
            "name": "x",
            "podGroupNames": ["b", "c"],
            "topologyConstraint": {"packConstraint": {"preferred": "rack"}},
        }
    ],
}


def kai_member(name: str, group: str) -> dict[str, Any]:
    labels = {"kai.scheduler/subgroup-name": group} if group else {}
    return {"name": name, "namespace": "default", "annotations": {"pod-group-name": "job"}, "labels": labels}


def grove_member(name: str, group: str) -> dict[str, Any]:
    labels = {"grove.io/podgang": "job", "grove.io/podclique": group}
    return {"name": name, "namespace": "default", "labels": labels}


FORMS = {
    KAI_POD_GROUP: (KaiPodGroup, kai_member),
    POD_GANG: (PodGang, grove_member),
}


def hear(kind: str, spec: dict[str, Any], *members: str, order: tuple[int, ...] = (0, 1)) -> Groups:
    """Return groups that have heard of an object and its pods, in some order."""
    groups, (struct, member) = Groups(), FORMS[kind]

    def put_object() -> None:
        found = msgspec.convert({"metadata": METADATA, "spec": spec}, struct)
        groups.put_source(kind, "uid-job", found)

    def put_pods() -> None:
        for index, each in enumerate(members):
            found = msgspec.convert({"metadata": member(f"p{index}", each), "spec": {}}, Pod)
            groups.put_pod(f"uid-{index}", found)

    steps = (put_object, put_pods)
    for index in order:
        steps[index]()
    return groups


def find_group(groups: Groups) -> Group:
    group = groups.group_of("uid-0")
    assert group is not None
    return group


def list_groups(groups: Groups) -> list[tuple[str, str, int, list[str], list[str]]]:
    group = find_group(groups)
    assert not groups.waits_for(group)
    return [
        (each.name, each.parent, each.least, [*each.within], [*each.rather_within])
        for each in groups.job(group).groups
    ]


@pytest.mark.parametrize("order", [*permutations(range(2))])
def test_subgroups_of_kai_are_a_tree(order):
    groups = hear(KAI_POD_GROUP, KAI, "decode", "prefill", order=order)
    assert list_groups(groups) == [
        ("job", "", 2, ["zone"], []),
        ("serving", "job", 1, [], []),
        ("prefill", "job", 2, [], ["rack"]),
        ("decode", "serving", 4, ["rack"], []),
    ]
    group = find_group(groups)
    assert groups.job(group).min_members == 6
    assert [groups.place_in_tree(group, f"uid-{index}").group for index in range(2)] == ["decode", "prefill"]


def test_a_pod_group_of_kai_without_subgroups_is_one_group():
    spec = {
        "minMember": 3,
        "topologyConstraint": {"requiredTopologyLevel": "zone", "preferredTopologyLevel": "rack"},
    }
    groups = hear(KAI_POD_GROUP, spec, "")
    assert list_groups(groups) == [("job", "", 3, ["zone"], ["rack"])]
    assert groups.place_in_tree(find_group(groups), "uid-0").group == "job"


@pytest.mark.parametrize("order", [*permutations(range(2))])
def test_a_pod_gang_is_a_tree_with_a_group_for_each_rule_that_several_share(order):
    groups = hear(POD_GANG, GROVE, "a", "b", order=order)
    assert list_groups(groups) == [
        ("job", "", 2, ["zone"], []),
        ("groups 0 of job", "job", 2, [], ["rack"]),
        ("a", "job", 2, ["rack"], []),
        ("b", "groups 0 of job", 1, [], []),
        ("c", "groups 0 of job", 1, [], []),
    ]


def with_groups(*groups: dict[str, Any]) -> dict[str, Any]:
    return {**KAI, "subGroups": [*groups]}


@pytest.mark.parametrize(
    ("kind", "spec", "words"),
    [
        (
            KAI_POD_GROUP,
            with_groups({"name": "a"}, {"name": "a"}),
            "spec.subGroups[1].name: 'a' is there twice",
        ),
        (
            KAI_POD_GROUP,
            with_groups({"name": "a", "parent": "b"}),
            "spec.subGroups[0].parent: there is no group 'b'",
        ),
        (
            KAI_POD_GROUP,
            with_groups({"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}),
            "remove the circle",
        ),
        (
            KAI_POD_GROUP,
            with_groups({"name": "a", "minMember": -1}),
            "subGroups[0].minMember: -1 is out of range",
        ),
        (
            KAI_POD_GROUP,
            {"topologyConstraint": {"requiredTopologyLevel": "no label!"}},
            "topology level 'no label!'",
        ),
        (POD_GANG, {"podgroups": [{"name": ""}]}, "spec.podgroups[0].name: '' is empty"),
        (
            POD_GANG,
            {"podgroups": [{"name": "a", "minReplicas": 2**31}]},
            "minReplicas: 2147483648 is out of range",
        ),
        (
            POD_GANG,
            {**GROVE, "topologyConstraintGroupConfigs": [{"podGroupNames": ["d"]}]},
            "spec.topologyConstraintGroupConfigs[0].podGroupNames: there is no group 'd'",
        ),
        (
            POD_GANG,
            {**GROVE, "topologyConstraintGroupConfigs": [{"podGroupNames": ["b"]}, {"podGroupNames": ["b"]}]},
            "group 'b' is in another one, too",
        ),
    ],
)
def test_objects_that_make_no_sense_say_why_their_pods_wait(kind, spec, words):
    groups = hear(kind, spec, "a")
    assert words in groups.waits_for(find_group(groups))


def test_pods_wait_for_an_object_that_is_missing():
    groups, (_, member) = Groups(), FORMS[POD_GANG]
    groups.put_pod("uid-0", msgspec.convert({"metadata": member("p", "a"), "spec": {}}, Pod))
    found = groups.waits_for(find_group(groups))
    assert found == "waits for PodGang (scheduler.grove.io) default/job, which does not exist"


def write_cluster(path, kind: str, spec: dict[str, Any], pods: dict[str, int], racks: tuple[int, ...]) -> str:
    version, name = {
        KAI_POD_GROUP: ("scheduling.run.ai/v2alpha2", "PodGroup"),
        POD_GANG: ("scheduler.grove.io/v1alpha1", "PodGang"),
    }[kind]
    member = FORMS[kind][1]
    items: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"n-{rack}-{index}", "labels": {"rack": f"r{rack}", "zone": "z"}},
            "status": {
                "allocatable": {"cpu": "1", "memory": "8Gi", "pods": "9"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        for rack, size in enumerate(racks)
        for index in range(size)
    ]
    items.append({"apiVersion": version, "kind": name, "metadata": METADATA, "spec": spec})
    container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": "1"}}}
    items += [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": member(f"{group}-{index}", group),
            "spec": {"containers": [container]},
        }
        for group, count in pods.items()
        for index in range(count)
    ]
    path.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


@pytest.mark.parametrize(
    ("kind", "spec", "pods", "kept"),
    [
        (KAI_POD_GROUP, KAI, {"decode": 4, "prefill": 2}, "decode"),
        (POD_GANG, GROVE, {"a": 2, "b": 1, "c": 1}, "a"),
    ],
)
def test_a_plan_places_all_of_a_tree_or_nothing(kind, spec, pods, kept, tmp_path):
    configuration, total = load_configuration(None), sum(pods.values())
    for racks, placed in (((pods[kept], total), total), ((1,) * total, 0)):
        paths = [write_cluster(tmp_path / "cluster.json", kind, spec, pods, racks)]
        plan = make_plan(load_manifests(paths), configuration, 1_800_000_000.0)
        at = {each.pod: each.node for each in plan.bindings}
        assert len(at) == placed
        assert len({node.split("-")[1] for pod, node in at.items() if f"/{kept}-" in pod}) == bool(placed)
