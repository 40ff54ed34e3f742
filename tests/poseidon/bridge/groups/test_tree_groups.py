"""Topology groups in the bridge's state: what the solver is told, and what is written when."""

from __future__ import annotations

import json

import pytest

from poseidon.bridge.state import BridgeState
from poseidon.group_trees.spec.keys import TREE_RECORDS
from poseidon.kube.api.metadata import ObjectRef
from poseidon.kube.api.resource import Change
from poseidon.kube.write.patch_writer import ConfigMapWrite, LabelWrite
from poseidon.lifecycle.actions import AnnounceGroup
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, present
from tests.poseidon.bridge.solver_view import SolverView
from tests.poseidon.bridge.test_state import Harness
from tests.poseidon.group_trees.objects import group_map, pod, tree_map

JOB = "TopologyGroup/default/train"
WAITING, PLACED, BOUND = pb.GangState.WAITING, pb.GangState.PLACED, pb.GangState.BOUND
START = 1_800_000_000.0


class Scene(Harness):
    """``maps`` and ``labels``: what objects would say if all writes were made."""

    def __init__(self, *, overlay=True, begun=True, maps=(), pods=()):
        self.now = START
        needs = [f"records:{kind}" for kind in TREE_RECORDS] if overlay else ()
        self.state = BridgeState(needs=needs, wall=lambda: self.now)
        self.view = SolverView()
        self.maps, self.labels, self.writes, self.told = {}, {}, [], []
        self.state.nodes_changed([present(node(name)) for name in ("n1", "n2", "n3", "n4")])
        self.map(*maps)
        self.state.pods_changed([present(each) for each in pods])
        if begun:
            self.state.gangs.topology.begin()
        self.new_stream()
        self.act()

    def map(self, *found):
        self.state.gangs.group_maps_changed([present(each) for each in found])
        return self.act()

    def tree(self, found):
        self.state.gangs.topology.tree_maps_changed([present(found)])
        return self.act()

    def pod(self, *found):
        self.pods(*(present(each) for each in found))
        return self.act()

    def says(self, phase, message="", *, job=JOB, deltas=()):
        result = pb.RoundResult(round=1, stats=pb.RoundStats(solve_seconds=0.25))
        result.gangs.add(job=job, state=phase, message=message, needed=2)
        for delta in deltas:
            result.deltas.add(**delta)
        self.state.on_round(result)
        return self.act()

    def tick(self, seconds=1.0):
        self.now += seconds
        self.state.expire()
        return self.act()

    def act(self):
        """Carry out what is to be written; returns the writes to maps."""
        self.sync()
        written = []
        for action in self.state.take_actions():
            if isinstance(action, ConfigMapWrite):
                write = action
                data = self.maps.setdefault(write.name, {})
                data.update(write.data)
                written.append(write.data)
            elif isinstance(action, LabelWrite):
                self.writes.append(action)
                self.labels.setdefault(action.pod.name, {}).update(action.labels)
            elif isinstance(action, AnnounceGroup):
                self.told.append((action.group.kind, action.group.name, action.reason, action.message))
        return written


def bound(name, machine="n1", **more):
    return pod(name, node=machine, phase="Running", **more)


@pytest.fixture
def scene():
    return Scene()


# --- what the solver is told ----------------------------------------------------------------------------------


def records(events):
    found = []
    for event in events:
        if event.HasField("record"):
            found.append((event.record.key.kind, event.record.key.name, json.loads(event.record.payload)))
        if event.HasField("record_removed"):
            found.append((event.record_removed.kind, event.record_removed.name, None))
    return found


def topology(events):
    return [each for each in records(events) if each[0].startswith("Topology")]


def test_rules_and_tree_are_told_before_the_tasks():
    scene = Scene(
        begun=False, maps=[group_map(constraints={"rack": {"hard": True}})], pods=[pod("a"), pod("b")]
    )
    scene.state.gangs.topology.tree_maps_changed([present(tree_map())])
    events = scene.state.snapshot()
    kinds = [event.ListFields()[0][0].name for event in events]
    [(_, tree_name, tree), (_, job, rules)] = sorted(
        topology(events), key=lambda each: each[0] != "TopologyTree"
    )
    assert (tree_name, tree["levels"], list(tree["tree"])) == ("tree", ["rack", "node"], ["rack-0", "rack-1"])
    assert job == JOB
    assert rules == {"group": "default/train", "constraints": {"rack": {"type": "pack", "hard": True}}}
    last_record = max(i for i, event in enumerate(events) if topology([event]))
    assert last_record < min(i for i, kind in enumerate(kinds) if "task" in kind and kind != "task_class")


def test_nothing_of_trees_is_told_without_the_overlay_but_groups_are_gangs():
    scene = Scene(overlay=False, maps=[group_map(constraints={"rack": {}})], pods=[pod("a"), pod("b")])
    assert topology(scene.state.snapshot()) == []
    assert scene.view.jobs[JOB].min_members == 2
    scene.pod(bound("a"), bound("b"))
    assert scene.maps["train"]["message"] == "the overlay topology is off, and the constraints are ignored"


def test_the_priority_of_the_group_is_told_beside_that_of_its_pods(scene):
    def told():
        return {(each.priority, each.group_priority) for each in scene.view.tasks.values()}

    scene.pod(pod("a", priority=5), pod("b", priority=5))
    scene.map(group_map(priority="40"))
    assert told() == {(5, 40)}
    scene.map(group_map(priority="50"))
    assert told() == {(5, 50)}
    scene.pod(pod("a", priority=5, labels={"x": "y"}))
    assert told() == {(5, 50)}
    scene.map(group_map())
    assert told() == {(5, 5)}, "a group that states none stands where its pods' own priority puts it"
    scene.pod(pod("a", group="", priority=5))
    assert {uid: each.group_priority for uid, each in scene.view.tasks.items()} == {"pod-a": None, "pod-b": 5}


def test_an_edit_is_told_and_so_is_the_end(scene):
    scene.map(group_map())
    scene.pods(present(pod("a")))
    scene.state.gangs.group_maps_changed([present(group_map(size=4, constraints={"node": {"factor": 2}}))])
    [(_, job, rules)] = topology(scene.state.take_events())
    assert (job, list(rules["constraints"])) == (JOB, ["node"])
    scene.state.pods_changed([gone(pod("a"))])
    scene.state.expire()
    assert topology(scene.state.take_events()) == [("TopologyGroup", JOB, None)]


# --- what is written ------------------------------------------------------------------------------------------


def test_a_group_that_is_placed_at_once_is_written_once(scene):
    scene.map(group_map())
    scene.tree(tree_map())
    scene.pod(pod("a"))
    scene.pod(pod("b"))
    scene.says(PLACED)
    scene.now += 0.5
    [write] = scene.pod(bound("a", "n3"), bound("b", "n1"))
    assert write == {
        "status": "Bound",
        "schedBeginTime": "2027-01-15T08:00:00.000000000Z",
        "schedEndTime": "2027-01-15T08:00:00.500000000Z",
        "schedTotalTimeMilli": "500",
        "schedSolverTimeMilli": "250",
        "placement": '{"root":{"rack-0":{"n1":{"b":{}}},"rack-1":{"n3":{"a":{}}}}}',
        "rank": "[(a,0) (b,1)]",
    } | {"schedBeginTime": write["schedBeginTime"], "schedTotalTimeMilli": write["schedTotalTimeMilli"]}
    assert [each.pod.name for each in scene.writes] == ["a", "b"]
    ranks = {name: labels["sakkara.member.rank"] for name, labels in scene.labels.items()}
    assert ranks == {"a": "0", "b": "1"}
    assert {labels["sakkara.member.status"] for labels in scene.labels.values()} == {"Bound"}
    assert {labels["sakkara.member.retries"] for labels in scene.labels.values()} == {"1"}


def test_own_writes_that_come_back_change_nothing(scene):
    scene.map(group_map())
    scene.pod(pod("a"), pod("b"))
    scene.pod(bound("a"), bound("b"))
    before = len(scene.writes)
    assert scene.map(group_map(**scene.maps["train"])) == []
    assert scene.pod(*(bound(name, labels=scene.labels[name]) for name in "ab")) == []
    assert scene.says(BOUND) == []
    assert scene.tick() == scene.tick(100) == []
    assert len(scene.writes) == before


def test_what_lasts_is_written_after_a_second(scene):
    scene.map(group_map(size=3))
    assert scene.pod(pod("a"), pod("b")) == []
    [write] = scene.tick()
    assert (write["status"], write["message"]) == ("Waiting", "2 of 3 pods exist")
    assert scene.pod(pod("c")) == []
    [write] = scene.tick()
    assert write == {"status": "Ready", "message": None}
    scene.says(WAITING, "level rack: 3 partitions wanted, 2 units can hold their share")
    [write] = scene.tick()
    assert write == {"message": "level rack: 3 partitions wanted, 2 units can hold their share"}
    assert scene.says(WAITING, "level rack: 3 partitions wanted, 1 units can hold their share") == []
    assert scene.tick() == []
    [write] = scene.tick(60)
    assert "1 units" in write["message"]
    scene.says(PLACED)
    [write] = scene.tick()
    assert write["status"] == "Assigned"
    scene.pod(bound("a"))
    [write] = scene.tick()
    assert write["status"] == "Permitted"
    assert scene.labels["a"]["sakkara.member.status"] == "Permitted"


def test_a_bad_map_is_told_once_with_and_without_pods(scene):
    [write] = scene.map(group_map(size=0))
    assert write == {"message": "data.size: 0 is out of range; write 1 or more"}
    assert scene.told == [("ConfigMap", "train", "InvalidGroup", write["message"])]
    assert scene.map(group_map(size=0, message=write["message"])) == []
    scene.pod(pod("a"))
    [write] = scene.tick()
    assert write["status"] == "Waiting"
    assert scene.view.tasks == {}
    assert len(scene.told) == 1
    scene.map(group_map(size=1))
    assert set(scene.view.tasks) == {"pod-a"}
    scene.pod(bound("a"))
    assert (scene.maps["train"]["status"], scene.maps["train"]["message"]) == ("Bound", None)


def test_a_bad_map_that_went_and_comes_back_is_told_again(scene):
    bad = group_map(size=0)
    scene.map(bad)
    scene.state.gangs.group_maps_changed([gone(bad)])
    scene.tick()
    scene.map(bad)
    assert [each[:3] for each in scene.told] == [("ConfigMap", "train", "InvalidGroup")] * 2


def test_a_bad_edit_leaves_the_group_as_it_was(scene):
    scene.map(group_map())
    scene.pod(bound("a"), bound("b"))
    scene.map(group_map(size=2, constraints='{"node":'))
    assert scene.maps["train"]["message"].endswith("what it said before stays in force")
    assert scene.view.jobs[JOB].min_members == 2
    scene.map(group_map(size=2))
    assert scene.maps["train"]["message"] is None


def test_a_process_that_was_told_already_says_nothing_new():
    text = "data.size: 0 is out of range; write 1 or more"
    scene = Scene(maps=[group_map(size=0, message=text)])
    assert (scene.maps, scene.told) == ({}, [])
    scene = Scene(maps=[group_map(size=0), group_map(own="copy", created="2026-02-01T00:00:00Z")])
    assert scene.maps["train"]["message"] == text
    assert "describes group default/train already" in scene.maps["copy"]["message"]
    assert len(scene.told) == 2


def test_a_bad_tree_is_told_and_the_last_good_one_stays(scene):
    scene.tree(tree_map())
    scene.state.take_events()
    scene.state.gangs.topology.tree_maps_changed([present(tree_map("{"))])
    assert topology(scene.state.take_events()) == []
    [write] = scene.act()
    assert write["message"].startswith("data.tree: is not JSON")
    assert scene.told[0][:3] == ("ConfigMap", "tree", "InvalidTopology")
    assert scene.tree(tree_map()) == [{"message": None}]


def test_a_bad_tree_that_went_and_comes_back_is_told_again(scene):
    bad = tree_map("{")
    scene.tree(bad)
    first = [*scene.told]
    assert len(first) == 1
    scene.state.gangs.topology.tree_maps_changed([gone(bad)])
    scene.tick()
    scene.tree(bad)
    assert scene.told == first * 2


def test_nothing_is_written_of_what_is_half_known():
    maps = [group_map(status="Bound", schedEndTime="x")]
    scene = Scene(begun=False, maps=maps, pods=[bound("a", labels={"sakkara.member.rank": "0"})])
    assert scene.tick() == []
    scene.pod(bound("b", labels={"sakkara.member.rank": "1"}))
    scene.state.gangs.topology.begin()
    written = scene.act()
    assert all("status" not in each for each in written)


def test_another_process_takes_up_what_was_written(scene):
    scene.map(group_map())
    scene.pod(pod("a"), pod("b"))
    scene.says(PLACED)
    scene.now += 2
    scene.pod(bound("a", "n2"), bound("b", "n1"))
    pods = [bound(name, machine, labels=scene.labels[name]) for name, machine in (("a", "n2"), ("b", "n1"))]
    data = {key: value for key, value in scene.maps["train"].items() if value is not None}
    again = Scene(maps=[group_map(**data)], pods=pods)
    assert again.says(BOUND) == []
    assert again.tick() == []
    assert again.writes == []


def test_a_process_that_dies_half_way_is_carried_on(scene):
    scene.map(group_map())
    scene.pod(pod("a"), pod("b"))
    scene.tick()
    assert scene.maps["train"]["status"] == "Ready"
    data = {key: value for key, value in scene.maps["train"].items() if value is not None}
    again = Scene(
        maps=[group_map(**data)],
        pods=[bound("a", labels=scene.labels["a"]), pod("b", labels=scene.labels["b"])],
    )
    again.now += 10
    [write] = again.pod(bound("b"))
    assert write["status"] == "Bound"
    assert data["schedBeginTime"] not in (None, write.get("schedBeginTime"))
    assert int(write["schedTotalTimeMilli"]) >= 10_000
    assert "sakkara.member.retries" not in again.labels["a"], "it has not changed"


def test_a_replacement_takes_the_rank_and_the_times_stay(scene):
    scene.map(group_map(size=3))
    scene.pod(pod("a"), pod("b"), pod("c"))
    scene.pod(bound("a"), bound("b"), bound("c"))
    times = {key: value for key, value in scene.maps["train"].items() if key.startswith("sched")}
    scene.pods(gone(pod("b")), present(pod("z")))
    scene.says(WAITING, "no room")
    scene.tick()
    assert scene.maps["train"]["status"] == "Ready"
    scene.pod(bound("z", "n2"))
    assert scene.maps["train"]["rank"] == "[(a,0) (z,1) (c,2)]"
    assert scene.labels["z"]["sakkara.member.rank"] == "1"
    assert {key: value for key, value in scene.maps["train"].items() if key.startswith("sched")} == times


def test_preempted_and_bound_again(scene):
    scene.map(group_map(), group_map("urgent", 1))
    scene.pod(bound("a"), bound("b"), pod("u", "urgent"))
    victims = [
        {"kind": pb.Delta.PREEMPT, "task": "pod-a", "machine": "n1"},
        {"kind": pb.Delta.PREEMPT, "task": "pod-b", "machine": "n1"},
        {"kind": pb.Delta.PLACE, "task": "pod-u", "machine": "n1", "depends_on": ["pod-a", "pod-b"]},
    ]
    scene.view.place("pod-u", "n1")
    scene.says(pb.GangState.PREEMPTED, "members make room for more important tasks", deltas=victims)
    train = scene.maps["train"]
    assert (train["status"], train["preemptor"], train["placement"]) == ("Preempted", "default/urgent", None)
    scene.pod(bound("a", deleting=True), bound("b", deleting=True), pod("c"), pod("d"))
    assert set(scene.view.tasks) == {"pod-a", "pod-b", "pod-u"}, "replacements wait"
    scene.pods(gone(pod("a")), gone(pod("b")))
    assert set(scene.view.tasks) == {"pod-c", "pod-d", "pod-u"}
    scene.pod(bound("u", group="urgent"))
    assert scene.maps["urgent"]["status"] == "Bound"
    assert train["preemptor"] is None
    scene.says(WAITING, "no room")
    scene.tick()
    assert train["status"] == "Ready"
    scene.pod(bound("c"), bound("d"))
    assert (train["status"], train["rank"]) == ("Bound", "[(c,0) (d,1)]")


def test_a_group_that_is_given_up_says_so_and_counts_the_next_try(scene):
    scene.map(group_map())
    scene.pod(pod("a"), pod("b"))
    scene.says(PLACED)
    scene.tick()
    [write] = scene.says(pb.GangState.FAILED, "not whole 300 s after it was decided")
    assert (write["status"], write["message"]) == ("Failed", "not whole 300 s after it was decided")
    scene.says(PLACED)
    scene.pod(bound("a"), bound("b"))
    assert scene.labels["a"] == {
        "sakkara.member.rank": "0",
        "sakkara.member.status": "Bound",
        "sakkara.member.retries": "2",
    }


def test_a_group_whose_pods_are_gone_on_their_way_waits(scene):
    scene.map(group_map())
    scene.pod(pod("a"), pod("b"))
    scene.tick()
    scene.pods(gone(pod("a")), gone(pod("b")))
    [write] = scene.tick()
    assert write == {"status": "Waiting", "message": "0 of 2 pods exist", "schedBeginTime": None}


def test_two_maps_for_one_group(scene):
    scene.map(group_map(), group_map(own="copy", created="2026-02-01T00:00:00Z"))
    assert scene.maps["copy"]["message"].startswith("ConfigMap train describes group default/train already")
    scene.state.gangs.group_maps_changed([Change("map-train", None)])
    scene.act()
    assert scene.maps["copy"]["message"] is None


def test_figures_are_brought_up_to_date_by_another_process_too():
    before = {
        "status": "Ready",
        "message": "2 of 8 pods fit",
        "schedBeginTime": "2027-01-15T08:00:00.000000000Z",
    }
    scene = Scene(maps=[group_map(**before)], pods=[pod("a"), pod("b")])
    scene.says(WAITING, "3 of 8 pods fit")
    assert scene.tick() == []
    [write] = scene.tick(61)
    assert write == {"message": "3 of 8 pods fit"}


# --- what is wrong with ConfigMaps ------------------------------------------------------------------------------------


def problems(scene):
    return {described.found.metadata.name: text for described, text in scene.state.gangs.topology.problems()}


def test_all_maps_with_faults_or_settings_without_effect_are_listed(scene):
    scene.tree(tree_map())
    scene.map(group_map("good"), group_map("bad", size=0))
    assert problems(scene) == {"bad": "data.size: 0 is out of range; write 1 or more"}
    scene.map(group_map("good", own="copy", created="2026-02-01T00:00:00Z"))
    assert problems(scene)["copy"].startswith("ConfigMap good describes group default/good already")
    scene.map(group_map("odd", constraints={"rack": {"type": "spraed"}}))
    assert problems(scene)["odd"].startswith(
        "data.constraints.rack.type: 'spraed' is neither pack nor spread"
    )
    scene.tree(tree_map("{"))
    assert problems(scene)["tree"].startswith("data.tree: is not JSON")


def test_a_tree_that_is_gone_is_in_force_no_longer(scene):
    scene.map(group_map(constraints={"rack": {}}))
    scene.pods(present(pod("a")))
    described = tree_map()
    scene.state.gangs.topology.tree_maps_changed([present(described)])
    [(_, name, tree)] = topology(scene.state.take_events())
    assert (name, tree["levels"]) == ("tree", ["rack", "node"])
    scene.state.gangs.topology.tree_maps_changed([gone(described)])
    assert topology(scene.state.take_events()) == [("TopologyTree", "tree", None)]
    assert scene.state.gangs.topology.trees.tree().levels == ("node",)


def test_an_unchanged_tree_is_told_once(scene):
    scene.state.gangs.topology.tree_maps_changed([present(tree_map())])
    assert len(topology(scene.state.take_events())) == 1
    scene.state.gangs.topology.tree_maps_changed([present(tree_map())])
    assert topology(scene.state.take_events()) == []


def test_rules_of_a_group_that_is_gone_are_taken_back_by_the_next_second(scene):
    scene.map(group_map())
    scene.pods(present(pod("a")))
    scene.says(WAITING, "no room")
    scene.state.take_events()
    scene.state.pods_changed([gone(pod("a"))])
    assert topology(scene.state.take_events()) == []
    scene.state.expire()
    assert topology(scene.state.take_events()) == [("TopologyGroup", JOB, None)]
    scene.map(group_map())
    scene.pods(present(pod("b")))
    scene.tick(61)
    assert scene.maps["train"]["message"] == "1 of 2 pods exist", (
        "what the solver said of the former pods is over"
    )


def test_for_whom_a_group_leaves_is_said_by_name_only_within_its_namespace(scene):
    other = pod("u", "", namespace="other")
    scene.map(group_map())
    scene.pod(bound("a"), bound("b"), other)
    victims = [
        {"kind": pb.Delta.PREEMPT, "task": "pod-a", "machine": "n1"},
        {"kind": pb.Delta.PLACE, "task": "pod-u", "machine": "n1", "depends_on": ["pod-a"]},
    ]
    scene.view.place("pod-u", "n1")
    scene.says(pb.GangState.PREEMPTED, "members make room for more important tasks", deltas=victims)
    assert scene.maps["train"]["preemptor"] == "pod-u"


def test_an_eviction_that_is_withdrawn_is_made_for_nobody(scene):
    scene.map(group_map())
    scene.pod(bound("a"), bound("b"), pod("u", ""))
    victims = [
        {"kind": pb.Delta.PREEMPT, "task": "pod-a", "machine": "n1", "withdrawn": True},
        {"kind": pb.Delta.PLACE, "task": "pod-u", "machine": "n1", "depends_on": ["pod-a"]},
    ]
    scene.view.place("pod-u", "n1")
    scene.says(pb.GangState.PREEMPTED, "members make room for more important tasks", deltas=victims)
    assert scene.maps["train"].get("preemptor") is None


def test_pods_that_wait_for_the_map_of_their_group_are_offered_when_it_comes(scene):
    scene.pod(pod("a"), pod("b"))
    assert scene.view.tasks == {}
    scene.map(group_map())
    assert set(scene.view.tasks) == {"pod-a", "pod-b"}
    assert scene.view.jobs[JOB].min_members == 2
    scene.map(group_map(size=1))
    assert scene.view.jobs[JOB].min_members == 1


def test_labels_of_a_pod_that_went_are_written_again_when_it_is_there_again(scene):
    scene.map(group_map(size=1))
    scene.pod(bound("a"))
    assert [each.pod.name for each in scene.writes] == ["a"]
    scene.pods(gone(pod("a")))
    scene.tick()
    scene.pod(bound("a"))
    scene.tick()
    assert [each.pod.name for each in scene.writes] == ["a", "a"]


# --- events about ConfigMaps ------------------------------------------------------------------------------------------


def announced(scene):
    return [each for each in scene.state.take_actions() if isinstance(each, AnnounceGroup)]


@pytest.mark.parametrize("namespace", ["default", "team"])
def test_an_event_about_a_group_is_about_its_map(scene, namespace):
    scene.state.gangs.group_maps_changed([present(group_map(namespace=namespace))])
    scene.pods(present(pod("a", namespace=namespace)), present(pod("b", namespace=namespace)))
    announced(scene)
    result = pb.RoundResult(round=1)
    [job] = scene.view.jobs
    result.gangs.add(job=job, state=WAITING, message="no room", needed=2)
    scene.state.on_round(result)
    [event] = announced(scene)
    assert event.group == ObjectRef("v1", "ConfigMap", "map-train", namespace, "train")
    assert (event.reason, event.message) == ("FailedScheduling", "no room")


@pytest.mark.parametrize("namespace", ["default", "team"])
def test_an_event_about_a_fault_is_about_the_map_that_has_it(scene, namespace):
    scene.state.gangs.group_maps_changed([present(group_map(size=0, namespace=namespace))])
    [event] = announced(scene)
    assert event.group == ObjectRef("v1", "ConfigMap", "map-train", namespace, "train")


def test_a_group_that_no_cluster_like_this_could_hold_is_told_by_its_size(scene):
    scene.map(group_map(size=441))
    scene.pods(present(pod("a")))
    announced(scene)
    result = pb.RoundResult(round=1)
    result.gangs.add(job=JOB, state=WAITING, message="no room", needed=441)
    scene.state.on_round(result)
    [event] = announced(scene)
    assert event.message == (
        "data.size: 441 pods are more than the 440 that all 4 nodes take together; add nodes or lower it"
    )
