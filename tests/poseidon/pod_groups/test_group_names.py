"""Which group a pod names, in all the ways that there are, and how far it has progressed."""

from __future__ import annotations

import math
from typing import Any

import pytest

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod
from poseidon.pod_groups.group_names import (
    NO_PART,
    DomainTerms,
    MemberPart,
    Membership,
    ObjectKey,
    Progress,
    find_domain_group,
    find_membership,
    gang_key,
    get_placement_time,
    is_mirror,
    kueue_group,
    make_bundle,
    part_in,
    progress_of,
)
from poseidon.pod_groups.readers.exclusive_topology import (
    LEADER,
    MOST_APART,
    MOST_PODS,
    find_subgroup,
    read_domain_part,
    read_leader_worker_demand,
)
from poseidon.pod_rules.redundant_pod_affinity import KeptTerm

LWS = "leaderworkerset.sigs.k8s.io"


def pod(
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    owner: str = "",
    status: dict[str, Any] | None = None,
    namespace: str = "ns",
    **spec: Any,
) -> Pod:
    owners = [{"kind": owner, "name": "own", "uid": "o", "controller": True}] if owner else []
    metadata = {
        "name": "p",
        "namespace": namespace,
        "labels": labels or {},
        "annotations": annotations or {},
        "ownerReferences": owners,
    }
    return convert_object({"metadata": metadata, "spec": spec, "status": status or {}}, Pod)


NATIVE: dict[str, Any] = {"schedulingGroup": {"podGroupName": "n"}}
WORKLOAD: dict[str, Any] = {"workloadRef": {"name": "w", "podGroup": "part", "podGroupReplicaKey": "2"}}
TOPOLOGY = {"sakkara.group.name": "t"}
PLUGINS = {"scheduling.x-k8s.io/pod-group": "g"}
SIGS = {"pod-group.scheduling.sigs.k8s.io": "s"}
VOLCANO = {"scheduling.volcano.sh/group-name": "v"}
OLDER = {"scheduling.k8s.io/group-name": "o"}
GROVE = {"grove.io/podgang": "pg"}
KAI = {"pod-group-name": "k"}
YUNIKORN = {"yunikorn.apache.org/task-group-name": "y"}
SHARE = {"firmament-gang-scheduling": "50"}
GANGS = {"gang.scheduling.koordinator.sh/groups": '["ns/s", "ns/other", "b/c"]'}


@pytest.mark.parametrize(
    ("found", "kind", "name"),
    [
        (pod(), "", ""),
        (pod(**NATIVE), "PodGroup (scheduling.k8s.io)", "n"),
        (pod(**WORKLOAD), "Workload", "w"),
        (pod(**NATIVE, **WORKLOAD), "PodGroup (scheduling.k8s.io)", "n"),
        (pod({**TOPOLOGY, **PLUGINS}), "TopologyGroup", "t"),
        (pod(PLUGINS), "PodGroup", "g"),
        (pod(PLUGINS, **WORKLOAD), "Workload", "w"),
        (pod({**PLUGINS, **SIGS}), "PodGroup", "g"),
        (pod(SIGS), "PodGroup (scheduling.sigs.k8s.io)", "s"),
        (pod({**SIGS, **VOLCANO}), "PodGroup (scheduling.sigs.k8s.io)", "s"),
        (pod(VOLCANO), "PodGroup (scheduling.volcano.sh)", "v"),
        (pod(annotations=VOLCANO), "PodGroup (scheduling.volcano.sh)", "v"),
        (pod(OLDER, VOLCANO), "PodGroup (scheduling.volcano.sh)", "v"),
        (pod(annotations=OLDER), "PodGroup (scheduling.volcano.sh)", "o"),
        (pod(GROVE, KAI), "PodGang (scheduler.grove.io)", "pg"),
        (pod(annotations={**KAI, **YUNIKORN}), "PodGroup (scheduling.run.ai)", "k"),
        (pod(annotations=YUNIKORN), "Gang (yunikorn.apache.org)", "y"),
        (pod(annotations={**YUNIKORN, **SHARE}, owner="Job"), "Gang (yunikorn.apache.org)", "y"),
        (pod(annotations=SHARE, owner="Job"), "Job", "own"),
        (pod(annotations=SHARE), "", ""),
        (pod({"scheduling.x-k8s.io/pod-group": ""}), "", ""),
        (pod(schedulingGroup={"podGroupName": ""}), "", ""),
        (pod(workloadRef={"name": ""}), "", ""),
    ],
)
def test_a_pod_names_one_group(found, kind, name):
    member = find_membership(found)
    assert (member.source if member else None) == (ObjectKey(kind, "ns", name) if kind else None)


def test_parts_copies_and_shares_are_read():
    assert find_membership(pod(**WORKLOAD)) == Membership(ObjectKey("Workload", "ns", "w"), "part", "2")
    share = find_membership(pod(annotations=SHARE, owner="Job"))
    assert share is not None
    assert share.share == "50"
    empty = find_membership(pod(annotations={"firmament-gang-scheduling": ""}, owner="Job"))
    assert empty is not None
    assert empty.share == '""'
    assert find_membership(pod(PLUGINS, namespace="")) == Membership(ObjectKey("PodGroup", "default", "g"))


def test_gangs_that_go_together_are_one_group():
    found = find_membership(pod(SIGS, GANGS))
    assert found == make_bundle(("b/c", "ns/other", "ns/s"))
    assert found is not None
    assert found.source == ObjectKey("Gangs (gang.scheduling.koordinator.sh)", "b", "c+ns/other+ns/s")
    assert [each.name for each in found.sources] == ["c", "other", "s"]
    assert [each.namespace for each in found.sources] == ["b", "ns", "ns"]
    alone = Membership(ObjectKey("PodGroup", "ns", "g"))
    assert alone.sources == (alone.source,)


@pytest.mark.parametrize(
    ("member", "job", "name"),
    [
        (Membership(ObjectKey("PodGroup", "ns", "g")), "PodGroup/ns/g", "ns/g"),
        (Membership(ObjectKey("Workload", "ns", "w"), "a", "1"), "Workload/ns/w/a/1", "ns/w/a/1"),
        (Membership(ObjectKey("Workload", "ns", "w"), "", "1"), "Workload/ns/w//1", "ns/w/1"),
        (
            Membership(ObjectKey("PodGroup (scheduling.k8s.io)", "ns", "g")),
            "scheduling.k8s.io/PodGroup/ns/g",
            "ns/g",
        ),
        (Membership(ObjectKey("Job", "ns", "j"), share="5"), "", "ns/j"),
    ],
)
def test_groups_have_a_job_of_their_own_and_a_name_for_people(member, job, name):
    assert (member.job, member.name) == (job, name)
    assert str(member.source) == f"{member.source.kind} ns/{member.source.name}"


@pytest.mark.parametrize(
    ("found", "kind", "part"),
    [
        (pod(**NATIVE), "CompositePodGroup", MemberPart("n")),
        (pod(), "CompositePodGroup", NO_PART),
        (pod({"kai.scheduler/subgroup-name": "a"}), "PodGroup (scheduling.run.ai)", MemberPart("a")),
        (pod({"grove.io/podclique": "b"}), "PodGang (scheduler.grove.io)", MemberPart("b")),
        (pod({"grove.io/podclique": "b"}), "PodGroup (scheduling.run.ai)", MemberPart("")),
        (pod(annotations={"volcano.sh/task-spec": "t"}), "PodGroup (scheduling.volcano.sh)", MemberPart("t")),
        (pod(PLUGINS), "PodGroup", NO_PART),
    ],
)
def test_a_pod_has_a_part_in_its_group(found, kind, part):
    assert part_in(found, Membership(ObjectKey(kind, "ns", "g"))) == part


def test_parts_that_state_the_terms_of_a_gang():
    sigs = part_in(pod(SIGS, GANGS), Membership(ObjectKey("PodGroup (scheduling.sigs.k8s.io)", "ns", "s")))
    assert sigs.role == "ns/s"
    assert sigs.terms.groups == GANGS["gang.scheduling.koordinator.sh/groups"]
    kueue = Membership(ObjectKey("Pod group (kueue.x-k8s.io)", "ns", "q"))
    count = "kueue.x-k8s.io/pod-group-total-count"
    found = part_in(pod(annotations={count: "3"}), kueue).terms
    assert (found.least, found.least_key) == ("3", f"annotation {count}")
    assert part_in(pod(), kueue).terms.least == '""'
    assert gang_key(pod(SIGS)) == ObjectKey("PodGroup (scheduling.sigs.k8s.io)", "ns", "s")
    group = kueue_group(pod({"kueue.x-k8s.io/pod-group-name": "q"}))
    assert group == kueue
    assert kueue_group(pod()) is None


@pytest.mark.parametrize(
    ("annotations", "node", "mirror"),
    [
        ({"kubernetes.io/config.mirror": ""}, "n", True),
        ({"kubernetes.io/config.mirror": "x"}, "", False),
        ({}, "n", False),
    ],
)
def test_static_pods_are_shown_with_a_node(annotations, node, mirror):
    assert is_mirror(pod(annotations=annotations, nodeName=node)) is mirror


DOMAIN = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
BY_SELECTOR = {"alpha.jobset.sigs.k8s.io/node-selector": "true"}
OF_GROUP = {f"{LWS}/name": "l", f"{LWS}/group-index": "3"}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (pod(annotations=DOMAIN, owner="Job"), Membership(ObjectKey("Job", "ns", "own"), domain="rack")),
        (pod(annotations=DOMAIN, owner="ReplicaSet"), None),
        (pod(annotations=DOMAIN), None),
        (pod(annotations={**DOMAIN, **BY_SELECTOR}, owner="Job"), None),
        (pod(owner="Job"), None),
        (
            pod(OF_GROUP, {f"{LWS}/exclusive-topology": "zone"}),
            Membership(ObjectKey("Group (leaderworkerset.x-k8s.io)", "ns", "l-3")),
        ),
        (
            pod(OF_GROUP, {f"{LWS}/subgroup-exclusive-topology": "zone"}),
            Membership(ObjectKey("Group (leaderworkerset.x-k8s.io)", "ns", "l-3")),
        ),
        (pod({f"{LWS}/name": "l"}, {f"{LWS}/exclusive-topology": "zone"}), None),
        (pod({f"{LWS}/group-index": "3"}, {f"{LWS}/exclusive-topology": "zone"}), None),
        (pod(OF_GROUP), None),
    ],
)
def test_pods_that_share_a_domain_are_a_group(found, expected):
    assert find_domain_group(found) == expected


@pytest.mark.parametrize(
    ("phase", "node", "progress"),
    [
        ("Pending", "", Progress.WAITING),
        ("Running", "", Progress.WAITING),
        ("Pending", "n", Progress.PLACED),
        ("Running", "n", Progress.RUNNING),
        ("Succeeded", "", Progress.SUCCEEDED),
        ("Failed", "n", Progress.FAILED),
    ],
)
def test_how_far_a_pod_has_progressed(phase, node, progress):
    assert progress_of(pod(status={"phase": phase}, nodeName=node)) is progress


@pytest.mark.parametrize(
    ("condition", "at"),
    [
        ({"status": "True", "lastTransitionTime": "1970-01-01T00:01:00Z"}, 60.0),
        ({"status": "False", "lastTransitionTime": "1970-01-01T00:01:00Z"}, math.inf),
        ({"status": "True"}, math.inf),
    ],
)
def test_when_a_pod_got_its_node(condition, at):
    assert get_placement_time(pod(status={"conditions": [{"type": "PodScheduled", **condition}]})) == at
    assert get_placement_time(pod()) == math.inf


# --- LeaderWorkerSets -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "each", "subgroups"),
    [
        (4, 2, [0, 0, 1, 1]),
        (5, 2, [0, 0, 0, 1, 1]),
        (3, 2, [0, 0, 0]),
        (6, 2, [0, 0, 1, 1, 2, 2]),
        (5, 4, [0, 0, 0, 0, 0]),
        (6, 4, [0, 0, 0, 0, 1, 1]),
        (1, 1, [0]),
        (3, 1, [0, 0, 1]),
    ],
)
def test_members_are_divided_into_subgroups_as_by_the_controller(size, each, subgroups):
    assert [find_subgroup(index, size, each) for index in range(size)] == subgroups


def lws(index: str = "", **terms: str) -> MemberPart:
    keys = {
        "size": "size",
        "domain": "exclusive-topology",
        "each": "subgroup-size",
        "inside": "subgroup-exclusive-topology",
        "policy": "subgroup-policy-type",
    }
    annotations = {f"{LWS}/{keys[key]}": value for key, value in terms.items()}
    return read_domain_part(pod({f"{LWS}/subgroup-index": index} if index else {}, annotations))


def test_the_part_of_a_pod_is_its_subgroup_or_that_of_the_leader():
    assert lws("2", size="8", each="2").role == "subgroup 2"
    assert lws(size="8", each="2").role == LEADER
    assert lws("2", size="8").role == ""
    assert lws(size="8", domain="d", each="2", inside="i", policy="p").domains == DomainTerms(
        "8", "d", "2", "i", "p"
    )


def read(*parts: MemberPart):
    return read_leader_worker_demand("g", parts)


def test_a_group_without_subgroups_is_one_domain_with_room_for_all():
    assert read() is None
    found = read(lws(size="4", domain="rack"))
    assert found is not None
    assert (found.min_members, found.size, found.disrupted_whole, found.kept_terms) == (1, 4, True, ())
    [node] = found.nodes
    assert (node.name, node.least, node.within, node.expected) == ("g", 1, ("rack",), 4)


def test_subgroups_are_groups_in_it_each_with_its_number_of_pods():
    found = read(lws("0", size="5", each="2", domain="zone", inside="rack"))
    assert found is not None
    root, *inside = found.nodes
    assert (root.name, root.within, root.apart) == ("g", ("zone",), True)
    assert [(each.name, each.parent, each.within, each.expected) for each in inside] == [
        ("subgroup 0", "g", ("rack",), 3),
        ("subgroup 1", "g", ("rack",), 2),
    ]
    assert found.kept_terms == (
        KeptTerm((f"{LWS}/group-key",), "zone"),
        KeptTerm((f"{LWS}/subgroup-key",), "rack", apart=True),
    )
    plain = read(lws("0", size="4", each="2", domain="zone"))
    assert plain is not None
    assert not plain.nodes[0].apart
    assert plain.kept_terms == (KeptTerm((f"{LWS}/group-key",), "zone"),)


def test_a_leader_that_is_in_no_subgroup_is_a_group_of_its_own():
    found = read(lws(size="5", each="2", inside="rack", policy="LeaderExcluded"))
    assert found is not None
    assert [(each.name, each.expected, each.within) for each in found.nodes[1:]] == [
        (LEADER, 0, ()),
        ("subgroup 0", 2, ("rack",)),
        ("subgroup 1", 2, ("rack",)),
    ]
    assert found.kept_terms == ()


@pytest.mark.parametrize(("subgroups", "tree"), [(MOST_APART, True), (MOST_APART + 1, False)])
def test_many_subgroups_without_a_common_domain_are_placed_one_by_one(subgroups, tree):
    found = read(lws(size=str(2 * subgroups), each="2", inside="rack"))
    assert found is not None
    assert bool(found.nodes) is tree
    assert found.size == 2 * subgroups


@pytest.mark.parametrize(("subgroups", "good"), [(512, True), (513, False)])
def test_a_domain_takes_only_so_many_subgroups(subgroups, good):
    found = read(lws(size=str(2 * subgroups), each="2", domain="zone"))
    assert found is not None
    least = -(-2 * subgroups // 512)
    assert found.problem == (
        ""
        if good
        else f"annotation {LWS}/subgroup-size: 2 divides {2 * subgroups} pods into {subgroups} subgroups; at most 512 "
        f"are placed in one domain, give {least} or more"
    )


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        (lws(size="4", domain="-"), f"annotation {LWS}/exclusive-topology: '-' is not a label key"),
        (lws(size="4", inside="-"), f"annotation {LWS}/subgroup-exclusive-topology: '-' is not a label key"),
        (lws(domain="d"), f"annotation {LWS}/size: '' is no number of pods; give 1 to 100,000"),
        (lws(size="0", domain="d"), f"annotation {LWS}/size: '0' is no number of pods"),
        (lws(size=str(MOST_PODS + 1), domain="d"), f"annotation {LWS}/size: '100001' is no number of pods"),
        (lws(size="4", inside="d"), f"annotation {LWS}/subgroup-size: '' is no number of pods"),
        (lws(size="4", domain="d", each="x"), f"annotation {LWS}/subgroup-size: 'x' is no number of pods"),
    ],
)
def test_annotations_that_make_no_sense_are_said(part, problem):
    found = read(part)
    assert found is not None
    assert found.problem.startswith(problem)


def test_the_largest_group_is_accepted():
    found = read(lws(size=str(MOST_PODS), domain="d"))
    assert found is not None
    assert found.size == 100_000
