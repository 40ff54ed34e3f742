"""Who belongs together, and how many of them go together."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from poseidon.group_trees.spec.groups import GroupMaps, GroupName
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pod_groups import VolcanoPodGroup
from poseidon.pod_groups.group_names import NATIVE_POD_GROUP, POD_GROUP, VOLCANO_POD_GROUP, WORKLOAD
from poseidon.pod_groups.groups import Groups
from poseidon.pods.tasks import Task
from tests.poseidon.group_trees.objects import group_map
from tests.poseidon.group_trees.objects import pod as part
from tests.poseidon.pod_groups.objects import native, owner, pod, pod_group, workload
from tests.poseidon.pod_groups.readers.test_exclusive_topology import find_place, job_pod


def put(groups, *pods):
    for each in pods:
        groups.put_pod(each.metadata.uid, each)
    return groups


def asked(groups, name):
    """Job and reason to wait of the group that a pod is in."""
    group = groups.group_of(f"pod-{name}")
    job = groups.job(group)
    return job.id, job.min_members, job.gang_seconds, groups.waits_for(group)


def test_a_pod_group_unites_pods_whoever_owns_them():
    groups = put(Groups(), pod("a", group="train", owner="x"), pod("b", group="train", owner="y"))
    job, members, _, wait = asked(groups, "a")
    assert (job, members) == ("PodGroup/default/train", 0)
    assert wait == "waits for PodGroup default/train, which does not exist"
    groups.put_source(POD_GROUP, "1", pod_group("train", 2, seconds=30))
    [change] = groups.take_changes()
    assert change.waits == {"pod-a": "", "pod-b": ""}
    assert asked(groups, "a") == asked(groups, "b") == ("PodGroup/default/train", 2, 30.0, "")


def test_a_group_that_is_gone_holds_its_pods_back_and_a_namesake_counts():
    groups = put(Groups(), pod("a", group="train"))
    groups.put_source(POD_GROUP, "1", pod_group("train", 2))
    groups.put_source(POD_GROUP, "2", pod_group("train", 3))
    groups.remove_source("1")
    assert asked(groups, "a")[1:] == (3, 0.0, "")
    groups.remove_source("2")
    assert "does not exist" in asked(groups, "a")[3]


def test_workloads_make_one_gang_per_replica_key():
    groups = put(
        Groups(),
        pod("d", workload=("w", "driver", "")),
        pod("a", workload=("w", "workers", "0")),
        pod("b", workload=("w", "workers", "1")),
        pod("x", workload=("w", "unknown", "")),
    )
    groups.put_source(WORKLOAD, "1", workload("w", driver=None, workers=4))
    assert asked(groups, "d")[:2] == ("Workload/default/w/driver", 0)
    assert asked(groups, "a")[:2] == ("Workload/default/w/workers/0", 4)
    assert asked(groups, "b")[:2] == ("Workload/default/w/workers/1", 4)
    assert asked(groups, "x")[3] == (
        "Workload default/w: spec.podGroups: has no group 'unknown'; "
        "correct spec.workloadRef.podGroup of the pods"
    )


def test_kubernetes_own_references_come_before_the_label():
    groups = put(Groups(), pod("a", native="n", group="train"))
    groups.put_source(NATIVE_POD_GROUP, "1", native("n", 5))
    assert asked(groups, "a") == ("scheduling.k8s.io/PodGroup/default/n", 5, 0.0, "")


@pytest.mark.parametrize(
    ("share", "found", "members"),
    [
        ("50", owner("x", replicas=5), 2),
        ("100%", owner("x", replicas=5), 5),
        ("0", owner("x", replicas=5), 0),
        ("50", owner("x", parallelism=4, completions=10), 2),
        ("100", owner("x", parallelism=4, completions=10, succeeded=8), 2),
        ("100", owner("x", completions=3), 1),
    ],
)
def test_an_annotation_asks_for_a_share_of_the_owners_pods(share, found, members):
    groups = put(Groups(), pod("a", share=share, owner="x"))
    assert asked(groups, "a")[3] == "waits for ReplicaSet default/x, which does not exist"
    groups.put_source("ReplicaSet", "1", found)
    assert asked(groups, "a") == ("Owner/default/ReplicaSet/x/uid-x", members, 0.0, "")


@pytest.mark.parametrize("share", ["150", "half", "", "-1", "5.5", "9" * 30])
def test_a_share_that_makes_no_sense_is_told(share):
    groups = put(Groups(), pod("a", share=share, owner="x"))
    groups.put_source("ReplicaSet", "1", owner("x", replicas=4))
    assert "is no share in percent; give 0 to 100" in asked(groups, "a")[3]
    assert asked(groups, "a")[1] == 0


def test_an_annotation_without_an_owner_means_nothing():
    assert put(Groups(), pod("a", share="50")).group_of("pod-a") is None


@pytest.mark.parametrize(("members", "seconds"), [(0, None), (-3, None), (2, -1)])
def test_a_pod_group_that_makes_no_sense_holds_its_pods_back(members, seconds):
    groups = put(Groups(), pod("a", group="train"))
    groups.put_source(POD_GROUP, "1", pod_group("train", members, seconds=seconds))
    assert asked(groups, "a")[3].startswith("PodGroup default/train: spec.")
    groups.put_source(POD_GROUP, "1", pod_group("train", 1))
    assert asked(groups, "a")[3] == ""


def test_pods_that_have_succeeded_need_no_place():
    groups = put(Groups(), pod("a", group="train"), pod("b", group="train", node="n1", phase="Running"))
    assert [each.job.min_members for each in groups.take_changes()] == [0]
    groups.put_source(POD_GROUP, "1", pod_group("train", 2))
    groups.take_changes()
    put(groups, pod("b", group="train", node="n1", phase="Succeeded"))
    [change] = groups.take_changes()
    assert change.job.min_members == 1


def test_a_pod_may_change_its_group():
    groups = put(Groups(), pod("a", group="one"))
    put(groups, pod("a", group="two"))
    assert [each.member.name for each in groups] == ["default/two"]
    put(groups, pod("a"))
    assert list(groups) == []
    assert groups.take_changes() == groups.take_moved() == []


@pytest.mark.parametrize(("stated", "counts"), [(7, 7), (2**63 - 1, 2**31 - 1), (-(2**40), -(2**31))])
def test_no_group_states_a_priority_beyond_what_priorities_are(stated, counts):
    groups = put(Groups(), pod("a", native="n"))
    made = native("n", 2)
    groups.put_source(NATIVE_POD_GROUP, "1", replace(made, spec=replace(made.spec, priority=stated)))
    task = Task("pod-a", "a", None, "", 0, 0.0)  # type: ignore[arg-type]  # nobody looks at its traits
    assert groups.set_priority(groups.group_of("pod-a"), task).group_priority == counts


def test_who_has_a_part_in_a_topology_group_is_known_whoever_asks_first():
    maps = GroupMaps()
    maps.put(group_map(size=2))
    groups = Groups()
    groups.put_described("default", "train", maps.get(GroupName("default", "train")))
    put(groups, part("a"), part("b"), part("c"))
    group = groups.group_of("pod-a")
    assert group is not None
    assert {*groups.list_admitted(group)} == {"pod-a", "pod-b"}
    groups.remove_pod("pod-a")
    assert {*groups.list_admitted(group)} == {"pod-b", "pod-c"}
    put(groups, part("d"))
    assert groups.explain_surplus("pod-d") == "beyond size: group default/train has its 2 pods"
    assert groups.explain_surplus("pod-c") == groups.explain_surplus("pod-unknown") == ""
    assert groups.job(group).size == 2


def test_the_pods_of_a_tree_with_one_group_are_all_in_it():
    groups, job = Groups(), owner("w-0", parallelism=4, completions=4)
    groups.put_source("Job", job.metadata.uid, job)
    groups.put_pod("u0", job_pod("w-0-0", exclusive_topology="rack"))
    assert find_place(groups, "u0") == "w-0"
    plain = put(Groups(), pod("a", group="train"))
    assert find_place(plain, "pod-a") == "", "nothing describes its group"
    plain.put_source(POD_GROUP, "1", pod_group("train", 2))
    assert find_place(plain, "pod-a") == ""


def test_a_pod_of_volcano_is_in_the_subgroup_that_the_policy_of_its_group_finds_by_its_labels():
    part = {"volcano.sh/partition-id": "7"}
    policy = {"name": "workers", "subGroupSize": 2, "labelSelector": {}, "matchLabelKeys": [*part]}
    found = convert_object(
        {
            "metadata": {"name": "job", "namespace": "default"},
            "spec": {"minMember": 2, "subGroupPolicy": [policy]},
        },
        VolcanoPodGroup,
    )
    made = pod("a")
    notes = {"scheduling.k8s.io/group-name": "job"}
    made = replace(made, metadata=replace(made.metadata, labels=part, annotations=notes))
    groups = Groups()
    groups.put_source(VOLCANO_POD_GROUP, "1", found)
    put(groups, made)
    group = groups.group_of("pod-a")
    assert group is not None
    assert groups.place_in_tree(group, "pod-a").group == "workers/7"
