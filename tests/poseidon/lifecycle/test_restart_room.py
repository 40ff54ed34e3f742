"""The room of pods of groups that restart: when it is kept, for how long, and what ends it."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api.metadata import Condition, OwnerReference
from poseidon.kube.api.resource import Change
from poseidon.kube.write.binder import BindResult
from poseidon.lifecycle import restart_room
from poseidon.lifecycle.actions import Bind
from poseidon.lifecycle.phases import Event
from poseidon.lifecycle.restart_room import RESTART_ROOM_RECORD
from poseidon.pod_groups.group_names import POD_GROUP
from protos.configuration.shared_sections import GangSection
from tests.poseidon.bridge.objects import gone, node, present
from tests.poseidon.bridge.test_state import Harness
from tests.poseidon.pod_groups import objects

JOB = "PodGroup/default/train"
KEEP = "firmament.io/keep-room-seconds"
START = 1_767_225_600.0  # 2026-01-01T00:00:00Z


class Scene(Harness):
    """Two nodes, and the group train, of which two pods go together."""

    def __init__(self, stated="", **options):
        self.now = START
        gangs = GangSection(**{"keep_room": 60.0, "keep_room_at_most": 300.0, **options})
        self.state = BridgeState(BridgeConfiguration(gangs=gangs), wall=lambda: self.now)
        self.state.nodes_changed([present(node("n1")), present(node("n2"))])
        self.new_stream()
        group = objects.pod_group("train", 2)
        if stated:
            group = replace(group, metadata=replace(group.metadata, annotations={KEEP: stated}))
        self.state.gangs.get_handler(POD_GROUP)([Change("group-train", group)])
        self.sync()

    def rooms(self):
        """What the solver is told: the node by uid of the pod that left."""
        found = {
            name: each for (kind, name), each in self.view.records.items() if kind == RESTART_ROOM_RECORD
        }
        return {name: json.loads(each)["machine"] for name, each in found.items()}

    def run(self, name, at, **more):
        self.pods(present(member(name, node=at, phase="Running", **more)))

    def step(self, name, event):
        record = self.state.tasks.get(f"pod-{name}")
        assert record is not None
        self.state.tasks.move(record, event)

    def wait(self, seconds):
        self.now += seconds
        self.state.expire()
        self.sync()

    def outcomes(self):
        return dict(self.state.restart_rooms.take_outcomes())


def member(name, *, stated=None, group="train", annotations=None, **more):
    made = objects.pod(name, group=group, **more)
    given = {**({} if stated is None else {KEEP: stated}), **(annotations or {})}
    return replace(made, metadata=replace(made.metadata, annotations=given))


def test_room_of_a_pod_that_is_gone_is_kept_with_all_that_it_held():
    scene = Scene()
    scene.run("a", "n1", cpu="2", priority=7)
    scene.pods(gone(member("a")))
    assert scene.view.tasks == {}
    assert json.loads(scene.view.records[RESTART_ROOM_RECORD, "pod-a"]) == {
        "machine": "n1",
        "job": JOB,
        "priority": 7,
        "requests": {"cpu": 2000, "pods": 1},
        "ports": [],
        "devices": False,
        "namespace": "default",
        "name": "default/train",
        "until": "2026-01-01T00:01:00Z",
    }


def test_room_is_kept_before_the_solver_forgets_the_pod():
    """Otherwise a round in between could give the room away."""
    scene = Scene()
    scene.run("a", "n1")
    _, events = scene.pods(gone(member("a")))
    assert [event.WhichOneof("body") for event in events][:2] == ["record", "task_removed"]


@pytest.mark.parametrize(
    ("last", "kept"),
    [
        ({"phase": "Failed"}, True),
        ({"phase": "Succeeded"}, False),
        ({"phase": "Succeeded", "deleting": True}, True),
        ({"phase": "Running", "deleting": True}, True),
    ],
)
def test_only_a_pod_that_succeeds_by_itself_leaves_no_room(last, kept):
    scene = Scene()
    scene.run("a", "n1")
    scene.pods(present(member("a", node="n1", **last)))
    scene.pods(gone(member("a")))
    assert scene.rooms() == ({"pod-a": "n1"} if kept else {})


def test_no_room_is_kept_of_pods_without_group_without_node_or_of_other_schedulers():
    scene = Scene()
    scene.run("single", "n1", group="")
    scene.run("foreign", "n1", scheduler="other")
    scene.pods(present(member("waits")), present(member("waits-too")))
    for name in ("single", "foreign", "waits"):
        scene.pods(gone(member(name)))
    assert scene.rooms() == {}


def test_no_room_is_kept_of_a_pod_that_was_evicted_here_unless_it_stays_after_all():
    scene = Scene()
    for name in "ab":
        scene.run(name, "n1")
        scene.step(name, Event.EVICTED)
    scene.step("b", Event.STAYS)
    for name in "ab":
        scene.pods(present(member(name, node="n1", deleting=True)))
        scene.pods(gone(member(name)))
    assert scene.rooms() == {"pod-b": "n1"}


def test_no_room_is_kept_of_a_pod_that_is_being_moved():
    scene = Scene()
    moved = {"firmament.io/move-to": "n2", "firmament.io/move-until": "2026-01-01T00:10:00Z"}
    scene.run("a", "n1", annotations=moved)
    scene.pods(gone(member("a")))
    assert scene.rooms() == {}


@pytest.mark.parametrize(
    ("group", "of_pod", "default", "seconds"),
    [
        ("", None, 60, 60),
        ("", None, 0, 0),
        ("90", None, 0, 90),
        ("90", "30", 0, 30),
        ("90", "0", 60, 0),
        ("", "30", 60, 30),
        ("", "9000", 0, 300),
        ("9000", None, 0, 300),
        ("soon", "1.5", 60, 60),
    ],
)
def test_the_pod_says_how_long_else_its_group_else_the_configuration(group, of_pod, default, seconds):
    scene = Scene(group, keep_room=default)
    scene.run("a", "n1", stated=of_pod)
    scene.pods(gone(member("a")))
    scene.wait(max(seconds - 1, 0))
    assert bool(scene.rooms()) is (seconds > 0)
    scene.wait(1)
    assert scene.rooms() == {}
    assert scene.outcomes() == ({"lapsed": 1} if seconds else {})


@pytest.mark.parametrize("default", [0, 60])
def test_annotations_count_for_nothing_where_the_configuration_allows_none(default):
    assert GangSection().keep_room_at_most == 0
    scene = Scene("90", keep_room=default, keep_room_at_most=0)
    scene.run("a", "n1", stated="30")
    scene.run("b", "n1", stated="0")
    scene.pods(gone(member("a")), gone(member("b")))
    assert len(scene.rooms()) == (2 if default else 0)
    scene.wait(59)
    assert len(scene.rooms()) == (2 if default else 0)
    scene.wait(1)
    assert scene.rooms() == {}


def test_a_pod_that_was_replaced_before_it_was_gone_leaves_no_room():
    """As a Job may do it: ``podReplacementPolicy`` TerminatingOrFailed."""
    scene = Scene()
    for name, at in (("a", "n1"), ("b", "n2")):
        scene.run(name, at)
    scene.pods(*(present(member(name, node=at, deleting=True)) for name, at in (("a", "n1"), ("b", "n2"))))
    scene.pods(present(member("c")))
    scene.run("c", "n2")
    scene.pods(gone(member("a")), gone(member("b")))
    assert scene.rooms() == {"pod-a": "n1"}
    scene.pods(present(member("d")))
    scene.run("d", "n1")
    assert scene.rooms() == {}


def test_pods_that_are_first_seen_on_nodes_have_not_come_for_those_that_leave():
    scene = Scene()
    scene.pods(
        present(member("a", node="n1", deleting=True)), present(member("b", node="n2", phase="Running"))
    )
    scene.pods(gone(member("a")))
    assert scene.rooms() == {"pod-a": "n1"}


@pytest.mark.parametrize(
    ("reason", "kept"), [("PreemptionByScheduler", False), ("EvictionByEvictionAPI", True)]
)
@pytest.mark.parametrize("fails", [False, True])
def test_no_room_is_kept_of_a_pod_that_was_preempted_by_any_process(reason, kept, fails):
    scene = Scene()
    scene.run("a", "n1")
    last = member("a", node="n1", phase="Failed" if fails else "Running", deleting=True)
    condition = Condition("DisruptionTarget", "True", reason)
    scene.pods(present(replace(last, status=replace(last.status, conditions=(condition,)))))
    scene.pods(gone(member("a")))
    assert bool(scene.rooms()) is kept


def test_no_room_is_kept_for_a_share_of_the_pods_of_an_owner():
    """The job of such a group has the uid of the owner in its id, and another one that replaces it has another."""
    scene = Scene()
    owner = OwnerReference("batch/v1", "Job", "train", "uid-1", controller=True)
    pod = member("a", group="", annotations={"firmament-gang-scheduling": "100"})
    pod = replace(pod, metadata=replace(pod.metadata, owner_references=(owner,)))
    scene.pods(present(pod))
    assert scene.state.groups.group_of("pod-a") is not None
    running = replace(
        pod, spec=replace(pod.spec, node_name="n1"), status=replace(pod.status, phase="Running")
    )
    scene.pods(present(running))
    scene.pods(gone(running))
    assert scene.rooms() == {}


def test_each_new_pod_ends_the_room_of_one_on_its_node_first():
    scene = Scene()
    scene.run("a", "n1")
    scene.run("b", "n2")
    scene.run("c", "n2")
    scene.pods(*(gone(member(name)) for name in "abc"))
    assert scene.rooms() == {"pod-a": "n1", "pod-b": "n2", "pod-c": "n2"}
    scene.run("d", "n2")
    assert scene.rooms() == {"pod-a": "n1", "pod-c": "n2"}
    scene.run("d", "n2")
    scene.run("e", "n2")
    assert scene.rooms() == {"pod-a": "n1"}
    scene.run("f", "n2")
    assert scene.rooms() == {}
    assert scene.outcomes() == {"taken": 2, "elsewhere": 1}
    assert scene.outcomes() == {}


@pytest.mark.parametrize(
    ("result", "left"),
    [(BindResult.BOUND, {"pod-b": "n2"}), (BindResult.FAILED, {"pod-a": "n1", "pod-b": "n2"})],
)
def test_a_pod_that_is_bound_ends_the_room_before_it_is_shown_and_no_further_one_after(result, left):
    """Otherwise the solver would count both the pod and the room until then."""
    scene = Scene()
    scene.run("a", "n1")
    scene.run("b", "n2")
    scene.pods(gone(member("a")), gone(member("b")))
    scene.pods(present(member("c")), present(member("d")))
    scene.place("pod-d", "n2")
    [bind] = [each for each in scene.place("pod-c", "n1") if isinstance(each, Bind)]
    scene.outcome(bind, result)
    scene.sync()
    assert scene.rooms() == left
    if result is BindResult.BOUND:
        scene.pods(present(member("c", node="n1")))
        scene.pods(present(member("c", node="n1", phase="Running")))
        assert scene.rooms() == left
        assert scene.outcomes() == {"taken": 1}


def test_an_equal_pod_ends_the_room_of_an_equal_one():
    scene = Scene()
    scene.run("small", "n1", cpu="1")
    scene.run("large", "n1", cpu="4")
    scene.pods(gone(member("small")), gone(member("large")))
    scene.run("new", "n1", cpu="4")
    assert scene.rooms() == {"pod-small": "n1"}


@pytest.mark.parametrize("what", ["gone", "cordoned"])
def test_room_ends_with_its_node(what):
    scene = Scene()
    scene.run("a", "n1")
    scene.pods(gone(member("a")))
    changed = gone(node("n1")) if what == "gone" else present(node("n1", unschedulable=True))
    scene.state.nodes_changed([changed])
    scene.wait(1)
    assert scene.rooms() == {}
    assert scene.outcomes() == {"closed": 1}


def test_a_new_stream_knows_the_room():
    scene = Scene()
    scene.run("a", "n1")
    scene.pods(gone(member("a")))
    scene.new_stream()
    assert scene.rooms() == {"pod-a": "n1"}


def test_no_more_than_the_most_is_kept(monkeypatch):
    monkeypatch.setattr(restart_room, "MOST_ROOMS", 1)
    scene = Scene()
    scene.run("a", "n1")
    scene.run("b", "n1")
    scene.pods(gone(member("a")), gone(member("b")))
    assert scene.rooms() == {"pod-a": "n1"}
    assert scene.outcomes() == {"refused": 1}


def test_a_namespace_has_a_fifth_of_all_rooms(monkeypatch):
    monkeypatch.setattr(restart_room, "MOST_ROOMS", 5)
    scene = Scene()
    scene.run("a", "n1")
    scene.run("b", "n1")
    scene.pods(gone(member("a")), gone(member("b")))
    assert scene.rooms() == {"pod-a": "n1"}
    assert scene.outcomes() == {"refused": 1}
    scene.wait(60)
    scene.run("c", "n1")
    scene.pods(gone(member("c")))
    assert scene.rooms() == {"pod-c": "n1"}


def test_what_a_group_states_wrongly_is_said():
    scene = Scene("a minute")
    scene.run("a", "n1")
    [group] = [each for each in scene.state.groups if each.job.id == JOB]
    assert scene.state.groups.not_honoured(group) == f"annotation {KEEP}: is 'a minute'; write whole seconds"
