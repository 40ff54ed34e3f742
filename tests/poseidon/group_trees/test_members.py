"""Who has a part in a group, and who is beyond its size."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from poseidon.group_trees.spec.groups import GroupMaps, GroupName
from poseidon.group_trees.status.members import choose_members, member_of
from poseidon.kube.api.pod_groups import PodGroup
from poseidon.pod_groups.group_names import POD_GROUP
from poseidon.pod_groups.groups import Groups
from tests.poseidon.group_trees.objects import group_map, pod
from tests.poseidon.pod_groups.objects import pod_group

many = st.dictionaries(
    st.integers(0, 9),
    st.tuples(
        st.booleans(),
        st.sampled_from(["Pending", "Running", "Failed", "Succeeded"]),
        st.booleans(),
        st.integers(0, 3),
    ),
    max_size=8,
)


@given(many, st.integers(1, 6), st.sets(st.integers(0, 9)))
def test_the_size_is_kept_and_those_with_a_node_come_first(given_pods, size, before):
    members = {}
    for number, (placed, phase, leaving, age) in given_pods.items():
        made = pod(
            f"p-{number}",
            node="n1" if placed else "",
            phase=phase,
            deleting=leaving,
            created=f"2026-01-0{age + 1}T00:00:00Z",
        )
        members[f"u{number}"] = member_of(f"u{number}", made)
    former = {f"u{number}" for number in before}
    found = choose_members(members, size, former)
    able = {uid for uid, each in members.items() if not each.failed and (each.node or not each.leaving)}
    assert found <= able
    assert len(found) == min(size, len(able))
    outside = able - found
    for uid in outside:
        if members[uid].node:
            assert all(members[other].node for other in found)
        elif uid in former:
            assert all(members[other].node or other in former for other in found)
    assert choose_members(members, size, found) == found, "who has a part keeps it"


def groups(*pods, size=2, described=True, **more):
    found, maps = Groups(), GroupMaps()
    maps.put(group_map(size=size, **more))
    if described:
        found.put_described("default", "train", maps.get(GroupName("default", "train")))
    for each in pods:
        found.put_pod(each.metadata.uid, each)
    return found


def topology(found, uid):
    return found.topology(found.group_of(uid))


def waits(found):
    return {uid: wait for change in found.take_changes() for uid, wait in change.waits.items()}


def test_a_group_is_a_gang_of_its_size():
    found = groups(pod("a"), pod("b"), size=2, priority="7")
    [change] = found.take_changes()
    assert (change.job.id, change.job.min_members, change.job.size) == ("TopologyGroup/default/train", 2, 2)
    assert (topology(found, "pod-a").priority, change.waits) == (7, {"pod-a": "", "pod-b": ""})


def test_pods_wait_for_the_map_and_say_which():
    found = groups(pod("a"), described=False)
    assert (
        "no ConfigMap in namespace default with the label sakkara.group describes it" in waits(found)["pod-a"]
    )


def test_pods_beyond_the_size_wait():
    found = groups(pod("a"), pod("b"), pod("c"))
    text = "beyond size: group default/train has its 2 pods"
    assert waits(found) == {"pod-a": "", "pod-b": "", "pod-c": text}
    found.remove_pod("pod-a")
    assert waits(found) == {"pod-b": "", "pod-c": ""}


def test_a_replacement_waits_until_the_pod_that_leaves_is_gone():
    found = groups(
        pod("a", node="n1", phase="Running", deleting=True), pod("b", node="n1", phase="Running"), pod("c")
    )
    assert waits(found)["pod-c"].endswith("has its 2 pods, 1 of which are being deleted")
    found.remove_pod("pod-a")
    assert waits(found)["pod-c"] == ""


def test_a_failed_pod_makes_room_for_another_one():
    found = groups(pod("a", node="n1", phase="Failed"), pod("b", node="n1", phase="Running"), pod("c"))
    assert waits(found)["pod-c"] == ""


def test_a_larger_size_lets_others_in_and_a_smaller_one_keeps_those_that_run():
    found = groups(pod("a"), pod("b", node="n1"), pod("c"))
    assert waits(found)["pod-c"]
    maps = GroupMaps()
    for size, expected in ((3, ()), (1, ("pod-a", "pod-c"))):
        maps.put(group_map(size=size))
        found.put_described("default", "train", maps.get(GroupName("default", "train")))
        assert sorted(uid for uid, wait in waits(found).items() if wait) == list(expected)


def test_a_pod_group_describes_a_group_where_no_map_does():
    found = groups(pod("a"), described=False)
    found.put_source(POD_GROUP, "1", pod_group("train", 3))
    [change] = found.take_changes()
    assert (change.job.min_members, change.waits) == (3, {"pod-a": ""})
    assert topology(found, "pod-a").size == 3
    maps = GroupMaps()
    maps.put(group_map(size=4, priority="1"))
    found.put_described("default", "train", maps.get(GroupName("default", "train")))
    [change] = found.take_changes()
    assert (change.job.min_members, topology(found, "pod-a").priority) == (4, 1), "the ConfigMap wins"


def test_a_pod_group_is_placed_by_the_tree_if_it_has_rules():
    found = Groups()
    plain, ruled = pod_group("plain", 2), pod_group("ruled", 2)
    annotated = ruled.metadata.__class__(
        name="ruled", namespace="default", uid="r", annotations={"sakkara.group.constraints": '{"node": {}}'}
    )
    found.put_source(POD_GROUP, "p", plain)
    found.put_source(POD_GROUP, "r", PodGroup(metadata=annotated, spec=ruled.spec))
    for name in ("plain", "ruled"):
        made = pod(name, "", labels={"scheduling.x-k8s.io/pod-group": name})
        found.put_pod(made.metadata.uid, made)
    assert topology(found, "pod-plain") is None
    assert topology(found, "pod-ruled").constraints.keys() == {"node"}
