"""Which ConfigMap counts, and what stays in force while one has faults."""

from __future__ import annotations

from msgspec.structs import replace

from poseidon.group_trees.spec.groups import GroupMaps, GroupName, remarks_on
from poseidon.group_trees.spec.trees import ClusterTrees, TreeArguments
from poseidon.group_trees.status.members import Member
from poseidon.group_trees.status.written import WrittenTexts
from poseidon.kube.api.metadata import PodRef
from poseidon.kube.write.patch_writer import LabelWrite
from tests.poseidon.group_trees.objects import config_map, group_map, tree_map

TRAIN = GroupName("default", "train")


def train(maps):
    return maps.get(TRAIN)


def news(told, described, wanted):
    return told.find_map_change(described, wanted)


def test_a_group_is_known_by_the_name_in_its_data():
    maps = GroupMaps()
    assert maps.put(group_map(own="other-name")) == {TRAIN}
    assert train(maps).spec.size == 2
    assert maps.put(group_map("tune", own="other-name")) == {TRAIN, GroupName("default", "tune")}
    assert train(maps) is None
    assert maps.remove("map-other-name") == {GroupName("default", "tune")}
    assert maps.remove("map-other-name") == set()


def test_what_is_written_into_a_map_is_no_change():
    maps = GroupMaps()
    maps.put(group_map())
    assert maps.put(group_map(status="Bound", placement="{}", message="x")) == set()
    assert maps.put(group_map(size=3)) == {TRAIN}


def test_a_map_that_loses_its_label_describes_nothing():
    maps = GroupMaps()
    maps.put(group_map())
    assert maps.put(config_map("train", "app")) == {TRAIN}
    assert train(maps) is None


def test_of_two_maps_for_one_group_the_older_counts():
    maps = GroupMaps()
    maps.put(group_map(size=5, own="late", created="2026-01-02T00:00:00Z"))
    maps.put(group_map(size=4, own="early"))
    assert train(maps).spec.size == 4
    [(ignored, text)] = maps.list_ignored(TRAIN)
    assert ignored.uid == "map-late"
    assert text.startswith("ConfigMap early describes group default/train already")
    maps.remove("map-early")
    assert train(maps).spec.size == 5
    assert maps.list_ignored(TRAIN) == []


def test_what_was_said_last_without_faults_stays_in_force():
    maps = GroupMaps()
    maps.put(group_map(size=4))
    maps.put(group_map(size=0))
    found = train(maps)
    assert found.spec.size == 4
    assert found.problem.endswith("; what it said before stays in force")
    assert found.annotation() == '{"name":"train","size":"4"}'
    maps.put(group_map(size=6))
    assert (train(maps).spec.size, train(maps).problem, train(maps).annotation()) == (6, "", None)


def test_another_process_takes_up_the_last_good_data():
    left = {"topology.firmament.io/last-good": '{"name":"train","size":"4"}'}
    maps = GroupMaps()
    maps.put(group_map(size=0, notes=left))
    assert train(maps).spec.size == 4
    for useless in ("nonsense", "[]", '{"size": 4}', '{"size": "0"}'):
        maps = GroupMaps()
        maps.put(group_map(size=0, notes={"topology.firmament.io/last-good": useless}))
        assert train(maps).spec is None
        assert train(maps).problem == "data.size: 0 is out of range; write 1 or more"


def test_only_news_are_written():
    maps, told = GroupMaps(), WrittenTexts()
    maps.put(group_map(status="Ready", rank="old"))
    found = train(maps)
    write = news(told, found, {"status": "Bound", "rank": None, "message": None})
    assert (write.namespace, write.name, write.uid) == ("default", "train", "map-train")
    assert (write.data, write.annotations) == ({"status": "Bound", "rank": None}, {})
    assert news(told, found, {"status": "Bound", "rank": None}) is None
    maps.put(group_map(size=0))
    write = news(told, train(maps), {"status": "Bound"})
    assert (write.data, list(write.annotations)) == ({}, ["topology.firmament.io/last-good"])
    later = news(told, train(maps), {"message": "m"})
    assert later.merge_with(write).annotations == write.annotations
    told.forget("map-train")
    assert news(told, train(maps), {"rank": None}).annotations


def test_labels_are_written_to_a_pod_only_if_they_differ():
    told = WrittenTexts()
    pod = Member(PodRef("u", "ns", "p"), "", "", "Pending", leaving=False, labels={"rank": "0", "mine": "x"})
    assert told.find_label_change(pod, {"rank": "1", "status": None}) == LabelWrite(pod.ref, {"rank": "1"})
    assert told.find_label_change(pod, {"rank": "1"}) is None
    assert told.find_label_change(pod, {"rank": None}) == LabelWrite(pod.ref, {"rank": None})


def test_rules_for_levels_that_the_tree_lacks():
    maps = GroupMaps()
    maps.put(group_map(constraints={"server": {}, "node": {}}))
    [line] = remarks_on(train(maps).spec, ("rack", "node"))
    assert (
        line
        == "data.constraints.server: the tree has no such level, and the rule is ignored; levels are rack, node"
    )


# --- trees --------------------------------------------------------------------------------------------------


def test_the_map_comes_before_labels_and_labels_before_nothing():
    trees = ClusterTrees(TreeArguments())
    trees.node_changed("n1", {"sakkara.topology.rack": "a"})
    trees.node_changed("n2", {"other": "x"})
    assert (trees.tree().levels, trees.tree().path("n1")) == (("node",), ("n1",))
    trees.node_changed("n2", {"sakkara.topology.rack": "b"})
    assert (trees.tree().levels, trees.tree().path("n2")) == (("rack", "node"), ("b", "n2"))
    assert trees.put(tree_map())
    assert trees.tree().path("n2") == ("rack-0", "n2")
    assert trees.tree().path("n9") == ("", "n9")
    assert trees.remove("map-tree")
    trees.node_gone("n1")
    assert trees.tree().paths == {"n2": ("b", "n2")}


def test_the_tree_follows_nodes_that_come_and_go():
    trees = ClusterTrees(TreeArguments())
    for name in ("n1", "n2"):
        trees.node_changed(name, {"sakkara.topology.rack": "a"})
    assert set(trees.tree().paths) == {"n1", "n2"}
    trees.node_gone("n1")
    assert set(trees.tree().paths) == {"n2"}
    trees.node_gone("n1")
    trees.node_changed("n1", {"sakkara.topology.rack": "b"})
    assert trees.tree().path("n1") == ("b", "n1")


def test_what_a_tree_says_in_vain_is_told_if_nothing_worse_is():
    trees = ClusterTrees(TreeArguments())
    assert trees.problems() == []
    trees.put(tree_map({"a": {"n1": {}}}, level_names=["zone", "row", "rack", "node"]))
    [(_, text)] = trees.problems()
    assert text.startswith("data.level-names: the tree has 2 levels")


def test_labels_of_ones_choice():
    keys = ("topology.kubernetes.io/zone", "example.com/rack")
    trees = ClusterTrees(TreeArguments(node_labels=keys))
    trees.node_changed("n1", {keys[0]: "z", keys[1]: "r"})
    trees.node_changed("n2", {keys[0]: "z"})
    assert (trees.tree().levels, trees.tree().paths) == (("zone", "rack", "node"), {"n1": ("z", "r", "n1")})


def test_a_tree_elsewhere_is_none_of_ours():
    trees = ClusterTrees(TreeArguments(namespace="sakkara"))
    assert not trees.put(tree_map())
    assert trees.put(tree_map(namespace="sakkara"))
    assert trees.put(replace(tree_map(namespace="sakkara"), metadata=tree_map().metadata))
    assert trees.spec is None


def test_the_last_good_tree_stays_in_force_and_the_fault_is_told():
    trees = ClusterTrees(TreeArguments())
    trees.put(tree_map())
    trees.put(tree_map({"a": {"n1": {}}, "b": {"n1": {}}}))
    assert trees.tree().path("n1") == ("rack-0", "n1")
    [(_, text)] = trees.problems()
    assert "node 'n1' stands below a and below b" in text
    trees.put(tree_map({"a": {"n1": {}}}))
    assert [text for _, text in trees.problems()] == [""]
    trees.put(tree_map(own="zweiter"))
    assert "describes the tree already" in trees.problems()[1][1]
