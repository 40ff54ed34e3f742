"""Objects that describe groups: which is known, which counts, and what is left when one goes."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.group_trees.spec.groups import GroupMaps
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.pod_groups import (
    CompositePodGroup,
    CompositePodGroupSpec,
    NativePodGroup,
    NativePodGroupSpec,
)
from poseidon.pod_groups.group_names import (
    COMPOSITE_POD_GROUP,
    NATIVE_POD_GROUP,
    POD_GROUP,
    TOPOLOGY_GROUP,
    YUNIKORN,
    Membership,
    ObjectKey,
)
from poseidon.pod_groups.group_objects import Sources
from tests.poseidon.group_trees.objects import group_map
from tests.poseidon.pod_groups.objects import native, owner, pod_group, workload


def key(kind: str, name: str = "g") -> ObjectKey:
    return ObjectKey(kind, "default", name)


def member(kind: str, name: str = "g", **more: Any) -> Membership:
    return Membership(key(kind, name), **more)


def composite(name: str, parent: str = "") -> CompositePodGroup:
    spec = CompositePodGroupSpec(parent_composite_pod_group_name=parent)
    return CompositePodGroup(metadata=ObjectMeta(name=name, namespace="default"), spec=spec)


def leaf(name: str, parent: str = "") -> NativePodGroup:
    spec = NativePodGroupSpec(parent_composite_pod_group_name=parent)
    return NativePodGroup(metadata=ObjectMeta(name=name, namespace="default"), spec=spec)


def test_an_object_is_known_until_it_is_gone():
    sources = Sources()
    assert sources.find(member(POD_GROUP)) is None
    found = pod_group("g", 2)
    assert sources.put(POD_GROUP, "1", found) == key(POD_GROUP)
    assert sources.find_key("1") == key(POD_GROUP)
    assert sources.find(member(POD_GROUP)) == ("1", found)
    assert sources.list_objects(member(POD_GROUP)) == [("1", found)]
    assert sources.remove("1") == key(POD_GROUP)
    assert sources.find_key("1") is None
    assert sources.find(member(POD_GROUP)) is None
    assert sources.list_objects(member(POD_GROUP)) == []
    assert sources.remove("1") is None


def test_a_late_end_of_an_object_does_not_remove_its_namesake():
    sources = Sources()
    sources.put(POD_GROUP, "1", pod_group("g", 2))
    sources.put(POD_GROUP, "2", pod_group("g", 3))
    assert sources.remove("1") is None
    found = sources.find(member(POD_GROUP))
    assert found is not None
    assert found[0] == "2"


def test_a_map_describes_a_topology_group_until_there_is_none(made_map: Any):
    sources = Sources()
    assert sources.put_described("default", "g", made_map) == key(TOPOLOGY_GROUP)
    assert sources.find(member(TOPOLOGY_GROUP)) == (made_map.uid, made_map)
    assert sources.topology(member(TOPOLOGY_GROUP)) is made_map.spec
    assert sources.put_described("default", "g", None) == key(TOPOLOGY_GROUP)
    assert sources.find(member(TOPOLOGY_GROUP)) is None
    sources.put_described("default", "g", None)
    assert sources.waits_for(member(TOPOLOGY_GROUP)) != ""


@pytest.fixture
def made_map():
    maps = GroupMaps()
    maps.put(group_map("g", 2))
    [name] = maps
    return maps.get(name)


def test_statuses_of_kubernetes_own_groups_do_not_matter():
    sources = Sources()
    found = native("g", 2)
    assert not sources.says_the_same(NATIVE_POD_GROUP, "1", found)
    sources.put(NATIVE_POD_GROUP, "1", found)
    assert sources.says_the_same(NATIVE_POD_GROUP, "1", native("g", 2))
    assert not sources.says_the_same(NATIVE_POD_GROUP, "2", native("g", 2)), "it is another object"
    assert not sources.says_the_same(NATIVE_POD_GROUP, "1", native("g", 3))
    assert not sources.says_the_same(POD_GROUP, "1", pod_group("g", 2))


def test_the_demand_of_a_tree_follows_its_groups():
    sources = Sources()
    root = member(COMPOSITE_POD_GROUP, "root")

    def names() -> list[str]:
        demand = sources.demand(root)
        return [each.name for each in demand.nodes] if demand is not None else []

    assert names() == []
    sources.put(COMPOSITE_POD_GROUP, "r", composite("root"))
    sources.put(NATIVE_POD_GROUP, "a", leaf("a", "root"))
    first = names()
    sources.put(NATIVE_POD_GROUP, "b", leaf("b", "root"))
    second = names()
    assert len(second) == len(first) + 1
    assert sources.demand(root) is sources.demand(root), "it is read once"
    assert [uid for uid, _ in sources.list_objects(root)] == ["r", "a", "b"]
    assert sources.join_bundle(member(NATIVE_POD_GROUP, "a")) == root
    assert sources.join_bundle(member(NATIVE_POD_GROUP, "alone")) == member(NATIVE_POD_GROUP, "alone")
    sources.remove("b")
    assert names() == first
    sources.put(NATIVE_POD_GROUP, "a", leaf("a"))
    assert len(names()) == len(first) - 1
    assert sources.find_root(key(NATIVE_POD_GROUP, "a")) == key(NATIVE_POD_GROUP, "a")
    sources.remove("r")
    assert names() == []


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (member(YUNIKORN), "gangs of YuniKorn are not understood here"),
        (member("CronJob", share="50"), "the size of a CronJob is not known here"),
        (member("Job", share="many"), "firmament-gang-scheduling"),
        (member(POD_GROUP), "which does not exist"),
        (member("Job", "w", share="50"), "which does not exist"),
    ],
)
def test_why_pods_wait_for_their_group(found, words):
    assert words in Sources().waits_for(found)


def test_pods_of_groups_that_are_described_wait_for_nothing_unless_it_makes_no_sense():
    sources = Sources()
    sources.put(POD_GROUP, "1", pod_group("g", 2))
    sources.put("Workload", "2", workload("w", part=3))
    sources.put("Job", "3", owner("j", parallelism=4))
    assert sources.waits_for(member(POD_GROUP)) == ""
    assert sources.waits_for(member("Workload", "w", part="part")) == ""
    assert sources.waits_for(member("Workload", "w", part="other")) != ""
    assert sources.waits_for(member("Job", "j", share="50")) == ""
    demand = sources.demand(member("Job", "j", share="50"))
    assert demand is not None
    assert demand.min_members == 2
    sources.put(POD_GROUP, "1", pod_group("g", -1))
    assert "spec.minMember" in sources.waits_for(member(POD_GROUP))
