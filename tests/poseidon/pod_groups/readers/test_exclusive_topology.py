"""Groups of JobSets and LeaderWorkerSets that get a domain each: which pods are in one, and how many it will have."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from poseidon.kube.api.pods import Pod
from poseidon.pod_groups.groups import Groups
from poseidon.pod_groups.readers.exclusive_topology import find_subgroup
from poseidon.pod_rules.redundant_pod_affinity import KeptTerm
from tests.poseidon.pod_groups.objects import owner

JOB_SET = "alpha.jobset.sigs.k8s.io"
LWS = "leaderworkerset.sigs.k8s.io"


def job_pod(name: str, *, job: str = "w-0", **annotations: str) -> Pod:
    owners = [{"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": f"uid-{job}", "controller": True}]
    found = {f"{JOB_SET}/{key.replace('_', '-')}": value for key, value in annotations.items()}
    metadata = {"name": name, "namespace": "default", "annotations": found, "ownerReferences": owners}
    return msgspec.convert({"metadata": metadata, "spec": {}}, Pod)


def worker(index: int, *, group: int = 0, subgroup: str = "", **annotations: str) -> Pod:
    labels = {f"{LWS}/name": "w", f"{LWS}/group-index": str(group), f"{LWS}/worker-index": str(index)}
    if subgroup:
        labels[f"{LWS}/subgroup-index"] = subgroup
    found = {f"{LWS}/{key.replace('_', '-')}": value for key, value in annotations.items()}
    metadata = {"name": f"w-{group}-{index}", "namespace": "default", "annotations": found, "labels": labels}
    return msgspec.convert({"metadata": metadata, "spec": {}}, Pod)


def list_nodes(groups: Groups, uid: str) -> list[tuple[Any, ...]]:
    group = groups.group_of(uid)
    assert group is not None
    assert not groups.waits_for(group)
    return [
        (each.name, each.parent, [*each.within], each.apart, each.expected, each.expected_alike)
        for each in groups.job(group).groups
    ]


def find_place(groups: Groups, uid: str) -> str:
    group = groups.group_of(uid)
    assert group is not None
    return groups.place_in_tree(group, uid).group


@pytest.mark.parametrize("job_first", [True, False])
def test_a_job_of_a_job_set_expects_the_pods_that_run_at_the_same_time(job_first):
    groups, job = Groups(), owner("w-0", parallelism=4, completions=8)
    if job_first:
        groups.put_source("Job", job.metadata.uid, job)
    groups.put_pod("u0", job_pod("w-0-0", exclusive_topology="rack"))
    found = groups.group_of("u0")
    assert found is not None
    if not job_first:
        assert groups.waits_for(found) == "waits for Job default/w-0, which does not exist"
        groups.put_source("Job", job.metadata.uid, job)
    assert list_nodes(groups, "u0") == [("w-0", "", ["rack"], False, 4, True)]
    assert groups.job(found).min_members == 1
    assert find_place(groups, "u0") == "w-0"


def test_of_a_job_that_has_nearly_ended_fewer_pods_are_expected():
    groups, job = Groups(), owner("w-0", parallelism=4, completions=5, succeeded=3)
    groups.put_source("Job", job.metadata.uid, job)
    groups.put_pod("u0", job_pod("w-0-0", exclusive_topology="rack"))
    assert list_nodes(groups, "u0") == [("w-0", "", ["rack"], False, 2, True)]


def test_pods_without_a_domain_or_with_nodes_that_somebody_chose_are_in_no_group():
    groups = Groups()
    for number, given in enumerate(({}, {"exclusive_topology": "rack", "node_selector": "true"})):
        groups.put_pod(f"u{number}", job_pod(f"p{number}", **given))
        assert groups.group_of(f"u{number}") is None
    groups.put_pod("u2", worker(0, size="4"))
    assert groups.group_of("u2") is None


def test_each_group_of_a_leader_worker_set_is_one_and_a_domain_without_room_for_all_will_do():
    groups = Groups()
    for group in range(2):
        groups.put_pod(f"u{group}", worker(0, group=group, size="4", exclusive_topology="rack"))
    for group in range(2):
        assert list_nodes(groups, f"u{group}") == [(f"w-{group}", "", ["rack"], False, 4, False)]


SUBGROUPS: dict[str, Any] = {"subgroup_size": "2", "subgroup_exclusive_topology": "rack"}


def test_its_subgroups_are_groups_in_domains_of_their_own():
    groups = Groups()
    groups.put_pod("u0", worker(0, subgroup="0", size="5", exclusive_topology="zone", **SUBGROUPS))
    assert list_nodes(groups, "u0") == [
        ("w-0", "", ["zone"], True, 1, True),
        ("subgroup 0", "w-0", ["rack"], False, 3, False),
        ("subgroup 1", "w-0", ["rack"], False, 2, False),
    ]
    groups.put_pod("u3", worker(3, subgroup="1", size="5", exclusive_topology="zone", **SUBGROUPS))
    assert [find_place(groups, uid) for uid in ("u0", "u3")] == ["subgroup 0", "subgroup 1"]
    assert list_nodes(groups, "u0")[0] == ("w-0", "", ["zone"], True, 2, True)


def test_a_leader_that_is_in_no_subgroup_is_a_group_by_itself():
    groups = Groups()
    more: dict[str, Any] = {**SUBGROUPS, "subgroup_policy_type": "LeaderExcluded"}
    groups.put_pod("u0", worker(0, size="5", **more))
    groups.put_pod("u1", worker(1, subgroup="0", size="5", **more))
    assert [node[:3] for node in list_nodes(groups, "u1")] == [
        ("w-0", "", []),
        ("leader", "w-0", []),
        ("subgroup 0", "w-0", ["rack"]),
        ("subgroup 1", "w-0", ["rack"]),
    ]
    assert [node[4] for node in list_nodes(groups, "u1")] == [2, 0, 2, 2]
    assert [find_place(groups, uid) for uid in ("u0", "u1")] == ["leader", "subgroup 0"]


def test_pods_of_very_many_subgroups_without_a_domain_of_the_group_go_by_their_affinity_alone():
    groups = Groups()
    groups.put_pod("u0", worker(0, subgroup="0", size="100000", **SUBGROUPS))
    assert list_nodes(groups, "u0") == []
    assert find_place(groups, "u0") == ""


def test_many_subgroups_of_a_group_with_a_domain_are_one_tree_that_keeps_their_affinities():
    groups = Groups()
    groups.put_pod("u0", worker(0, subgroup="0", size="200", exclusive_topology="zone", **SUBGROUPS))
    nodes = list_nodes(groups, "u0")
    assert len(nodes) == 101
    assert nodes[0] == ("w-0", "", ["zone"], True, 1, True)
    group = groups.group_of("u0")
    assert group is not None
    assert groups.place_in_tree(group, "u0").kept_terms == (
        KeptTerm((f"{LWS}/group-key",), "zone"),
        KeptTerm((f"{LWS}/subgroup-key",), "rack", apart=True),
    )


def test_more_subgroups_than_one_search_can_place_wait_and_say_what_to_give():
    groups = Groups()
    groups.put_pod("u0", worker(0, subgroup="0", size="2000", exclusive_topology="zone", **SUBGROUPS))
    group = groups.group_of("u0")
    assert group is not None
    assert (
        "2 divides 2000 pods into 1000 subgroups; at most 512 are placed in one domain, give 4 or more"
        in (groups.waits_for(group))
    )


@pytest.mark.parametrize(("size", "each"), [(4, 2), (5, 2), (6, 3), (7, 3), (1, 2), (8, 8), (9, 8)])
def test_members_are_counted_off_as_the_controller_does(size, each):
    """Leader and workers are shared out evenly; if a leader is one too many, it joins the first subgroup."""
    found = [find_subgroup(index, size, each) for index in range(size)]
    assert found == sorted(found)
    sizes = [found.count(number) for number in range(max(found) + 1)]
    extra = 1 if (size - 1) % each == 0 else 0
    assert sizes[0] == min(size, each + extra)
    assert set(sizes[1:]) <= {each}


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (worker(0, size="none", exclusive_topology="rack"), f"{LWS}/size: 'none' is no number of pods"),
        (worker(0, size="0", exclusive_topology="rack"), f"{LWS}/size: '0' is no number of pods"),
        (
            worker(0, size="999999999", exclusive_topology="rack"),
            f"{LWS}/size: '999999999' is no number of pods",
        ),
        (worker(0, size="4", exclusive_topology="a b"), f"annotation {LWS}/exclusive-topology: "),
        (
            worker(0, size="4", subgroup_exclusive_topology="rack"),
            f"{LWS}/subgroup-size: '' is no number of pods",
        ),
    ],
)
def test_what_makes_no_sense_is_said(pod, words):
    groups = Groups()
    groups.put_pod("u0", pod)
    found = groups.group_of("u0")
    assert found is not None
    assert words in groups.waits_for(found)


def test_one_pod_is_enough_to_start_each_part_of_a_group_with_subgroups():
    groups = Groups()
    more: dict[str, Any] = {**SUBGROUPS, "subgroup_policy_type": "LeaderExcluded"}
    groups.put_pod("u1", worker(1, subgroup="0", size="5", **more))
    group = groups.group_of("u1")
    assert group is not None
    assert [(each.name, each.least) for each in groups.job(group).groups] == [
        ("w-0", 1),
        ("leader", 1),
        ("subgroup 0", 1),
        ("subgroup 1", 1),
    ]
