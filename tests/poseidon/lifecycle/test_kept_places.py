"""Places that are kept for pods that are moved: who gets them, and when they end."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api.metadata import format_time
from poseidon.lifecycle.kept_places import MoveOptions
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.bridge.objects import gone, node, pod, present
from tests.poseidon.bridge.solver_view import SolverView
from tests.poseidon.bridge.test_state import Harness

START = 1_800_000_000.0


class Moving(Harness):
    """Three nodes, and a pod ``old`` of ``web`` that runs on the first."""

    def __init__(self, **options):
        self.now = START
        self.state = BridgeState(
            BridgeConfiguration(moves=MoveOptions(keep_places=True, **options)), wall=lambda: self.now
        )
        self.view = SolverView()
        self.state.nodes_changed([present(node(name)) for name in ("n1", "n2", "n3")])
        self.pods(present(pod("old", node="n1", owner="web")))
        self.new_stream()

    def announce(self, name="old", to="n2", seconds=60.0):
        self.pods(present(moving(pod(name, node="n1", owner="web"), to, self.now + seconds)))

    def kept(self, which="the replacement of"):
        contents = (
            json.loads(payload)
            for (kind, name), payload in self.view.records.items()
            if kind == "ForeignNomination" and name.startswith(which)
        )
        return sorted(content["machine"] for content in contents)

    def old_places(self):
        return self.kept("the place that")

    def confined(self, uid):
        found = pb.TaskClass.FromString(self.view.classes[self.class_of(uid)])
        return found.machine, found.never_preempts

    def class_of(self, uid):
        content = self.view.tasks[uid].task_class
        return next(number for number, each in self.view.classes.items() if each == content)

    def outcomes(self):
        places = self.state.kept_places
        return dict(places.take_outcomes()) if places is not None else {}


def moving(found, to, until):
    annotations = {"firmament.io/move-to": to, "firmament.io/move-until": format_time(until)}
    return replace(found, metadata=replace(found.metadata, annotations=annotations))


def test_a_pod_of_a_stateful_set_gets_the_place_that_was_kept_for_its_namesake():
    scene = Moving()
    scene.pods(present(pod("web-0", node="n1", owner="web")), present(pod("web-1", node="n1", owner="web")))
    scene.announce("web-0", to="n2")
    scene.announce("web-1", to="n3")
    scene.pods(gone(pod("web-0")), gone(pod("web-1")))
    scene.pods(present(pod("web-1", owner="web", uid="again")))
    assert scene.confined("again") == ("n3", True)


def test_the_replacement_may_go_to_the_place_that_was_kept_for_it():
    scene = Moving()
    scene.announce()
    assert scene.kept() == ["n2"]
    scene.pods(gone(pod("old")))
    assert scene.kept() == ["n2"], "nobody else takes it meanwhile"
    scene.pods(present(pod("new", owner="web")))
    assert (scene.kept(), scene.confined("pod-new")) == ([], ("n2", True))
    [bind] = scene.place("pod-new", "n2")
    scene.outcome(bind)
    scene.pods(present(pod("new", node="n2", owner="web")))
    assert scene.outcomes() == {"taken": 1}


NO_ROOM = "0/3 nodes are available: 3 Insufficient cpu."


def refused(scene):
    scene.unscheduled(NO_ROOM, "pod-new")
    scene.sync()


def test_without_room_there_it_gets_its_old_place_back_and_goes_anywhere_only_then():
    scene = Moving()
    scene.announce()
    scene.pods(gone(pod("old")), present(pod("new", owner="web")))
    assert scene.old_places() == ["n1"], "nobody else takes it until then"
    refused(scene)
    assert (scene.old_places(), scene.confined("pod-new")) == ([], ("n1", True))
    refused(scene)
    assert scene.confined("pod-new") == ("", False)
    scene.pods(present(pod("new", owner="web")))
    assert scene.confined("pod-new") == ("", False), "it is not confined again"
    assert scene.outcomes() == {"refused": 1}


def test_one_that_is_back_has_returned():
    scene = Moving()
    scene.announce()
    scene.pods(gone(pod("old")), present(pod("new", owner="web")))
    refused(scene)
    [bind] = scene.place("pod-new", "n1")
    scene.outcome(bind)
    scene.pods(present(pod("new", node="n1", owner="web")))
    assert scene.outcomes() == {"refused": 1, "returned": 1}


def test_the_old_place_is_free_once_the_replacement_has_its_own_or_is_gone():
    for last in (present(pod("new", node="n2", owner="web")), gone(pod("new"))):
        scene = Moving()
        scene.announce()
        assert scene.old_places() == [], "the pod is still there"
        scene.pods(gone(pod("old")), present(pod("new", owner="web")))
        assert scene.old_places() == ["n1"]
        scene.pods(last)
        assert (scene.kept(), scene.old_places()) == ([], [])


@pytest.mark.parametrize(
    "other",
    [pod("new", owner="api"), pod("new"), pod("new", owner="web", cpu="200m")],
    ids=["another controller", "no controller", "another spec"],
)
def test_others_are_no_replacements(other):
    scene = Moving()
    scene.announce()
    scene.pods(gone(pod("old")), present(other))
    assert scene.confined("pod-new") == ("", False)
    assert scene.kept() == ["n2"]


def test_none_comes_before_the_pod_is_going():
    scene = Moving()
    scene.announce()
    scene.pods(present(pod("new", owner="web")))
    assert scene.confined("pod-new") == ("", False)


def test_it_may_come_before_the_pod_has_ended():
    scene = Moving()
    scene.announce()
    going = pod("old", node="n1", owner="web", deleting=True)
    scene.pods(present(moving(going, "n2", scene.now + 60)))
    scene.pods(present(pod("new", owner="web")))
    assert scene.confined("pod-new") == ("n2", True)
    scene.pods(present(moving(going, "n2", scene.now + 60)))
    assert scene.kept() == [], "its place is given once, however long it takes to end"
    scene.pods(gone(going), present(pod("another", owner="web")))
    assert scene.confined("pod-another") == ("", False)


def test_of_several_places_each_is_given_once():
    scene = Moving()
    scene.pods(present(pod("second", node="n1", owner="web")))
    scene.announce()
    scene.announce("second", "n3")
    scene.pods(gone(pod("old")), gone(pod("second")))
    scene.pods(*(present(pod(f"new{index}", owner="web")) for index in range(3)))
    assert [scene.confined(f"pod-new{index}")[0] for index in range(3)] == ["n2", "n3", ""]


def test_a_move_that_is_taken_back_keeps_nothing():
    scene = Moving()
    scene.announce()
    scene.pods(present(pod("old", node="n1", owner="web")))
    assert scene.kept() == []


def test_places_are_kept_for_a_while():
    scene = Moving()
    scene.announce(seconds=30)
    scene.pods(gone(pod("old")))
    scene.now += 31
    scene.state.expire()
    scene.sync()
    assert (scene.kept(), scene.old_places(), scene.outcomes()) == ([], [], {"expired": 1})
    scene.pods(present(pod("new", owner="web")))
    assert scene.confined("pod-new") == ("", False)


def test_no_longer_than_ten_minutes_whatever_is_asked_for():
    scene = Moving()
    scene.announce(seconds=1e6)
    scene.now += 601
    scene.state.expire()
    scene.sync()
    assert scene.kept() == []


@pytest.mark.parametrize("taken_back", [False, True])
def test_a_place_ends_after_its_time_whatever_is_updated(taken_back):
    scene = Moving()
    held = 0
    for _ in range(288):  # every five minutes for a day
        if taken_back:
            scene.pods(present(pod("old", node="n1", owner="web")))
        scene.announce(seconds=600)
        scene.state.expire()
        scene.sync()
        held += bool(scene.kept())
        scene.now += 300
    assert held <= 288 / 2
    scene.now += 1200
    scene.announce(seconds=600)
    assert scene.kept() == ["n2"], "a later move has its place"


@pytest.mark.parametrize("at_once", [1, 3])
def test_new_pods_of_the_same_owner_do_not_hold_it_on(at_once):
    scene = Moving()
    held = 0
    for turn in range(48):  # every five minutes
        for index in range(at_once):
            scene.pods(gone(pod(f"old-{turn - 1}-{index}")))
            scene.pods(present(pod(f"old-{turn}-{index}", node="n1", owner="web")))
            scene.announce(f"old-{turn}-{index}", seconds=600)
        scene.state.expire()
        scene.sync()
        held += "n2" in scene.kept()
        scene.now += 300
    assert held <= 48 / 2
    scene.now += 1200
    scene.announce(f"old-{turn}-0", seconds=600)
    assert scene.kept() == ["n2"], "a later move has its place"


def test_a_place_that_was_used_costs_the_next_ones_nothing():
    scene = Moving()
    for turn in range(5):
        old, new = f"pod{turn}", f"pod{turn + 1}"
        scene.pods(present(pod(old, node="n1", owner="web")))
        scene.announce(old, seconds=600)
        assert scene.kept() == ["n2"]
        scene.pods(gone(pod(old)), present(pod(new, owner="web")))
        assert scene.confined(f"pod-{new}") == ("n2", True)
        scene.pods(gone(pod(new)))


def test_a_move_elsewhere_has_its_place_meanwhile():
    scene = Moving()
    scene.announce(seconds=600)
    scene.now += 601
    scene.state.expire()
    scene.sync()
    scene.pods(present(pod("second", node="n1", owner="web")))
    scene.announce("second", "n2", seconds=300)
    assert scene.kept() == [], "the namespace has had its place there"
    scene.announce("second", "n3", seconds=300)
    assert scene.kept() == ["n3"]


def announced(scene, namespace, count):
    """Announce moves of so many pods of a namespace, to the second node."""
    for index in range(count):
        found = pod(f"{namespace}-{index}", namespace=namespace, node="n1", owner="web")
        scene.pods(present(moving(found, "n2", scene.now + 60)))


def holders(scene):
    names = [name for kind, name in scene.view.records if kind == "ForeignNomination"]
    return Counter(name.removeprefix("the replacement of pod-").partition("-")[0] for name in names)


def test_a_namespace_that_is_alone_may_have_all_places():
    scene = Moving(most=10)
    announced(scene, "noisy", 20)
    assert holders(scene) == {"noisy": 10}


def test_where_all_are_in_use_namespaces_have_equal_shares():
    scene = Moving(most=10)
    announced(scene, "noisy", 20)
    announced(scene, "quiet", 3)
    assert holders(scene) == {"noisy": 7, "quiet": 3}
    announced(scene, "third", 20)
    assert holders(scene) == {"noisy": 4, "quiet": 3, "third": 3}
    announced(scene, "noisy", 20)
    assert holders(scene) == {"noisy": 4, "quiet": 3, "third": 3}, "what was given up does not come back"


@pytest.mark.parametrize("until", ["", "soon", "2001-01-01T00:00:00Z"])
def test_a_time_that_is_over_or_none_keeps_nothing(until):
    scene = Moving()
    found = moving(pod("old", node="n1", owner="web"), "n2", scene.now)
    found.metadata.annotations["firmament.io/move-until"] = until
    scene.pods(present(found))
    assert scene.kept() == []


def test_no_more_than_are_allowed():
    scene = Moving(most=1)
    scene.pods(present(pod("second", node="n1", owner="web")))
    scene.announce()
    scene.announce("second", "n3")
    assert scene.kept() == ["n2"]


def test_a_new_solver_is_told():
    scene = Moving()
    scene.announce()
    scene.new_stream()
    assert scene.kept() == ["n2"]


def test_none_unless_configured():
    scene = Harness()
    scene.pods(present(moving(pod("old", node="n1", owner="web"), "n2", 4e9)))
    assert not scene.view.records


def test_a_pod_without_a_kept_place_is_not_freed_of_any():
    scene = Moving()
    scene.announce()
    places = scene.state.kept_places
    assert places is not None
    scene.pods(gone(pod("old")), present(pod("new", owner="web")))
    assert [places.release(uid) for uid in ("pod-old", "unknown", "pod-new", "pod-new", "pod-new")] == [
        False,
        False,
        True,
        True,
        False,
    ]


def test_the_old_place_ends_with_the_time_of_the_move():
    scene = Moving()
    scene.announce(seconds=60.0)
    scene.pods(gone(pod("old")), present(pod("new", owner="web")))
    scene.now += 59.0
    scene.state.expire()
    scene.sync()
    assert scene.old_places() == ["n1"]
    scene.now += 1.0
    scene.state.expire()
    scene.sync()
    assert scene.old_places() == []
