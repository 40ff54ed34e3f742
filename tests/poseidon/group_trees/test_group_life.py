"""The course of one group, without a bridge: states, times, attempts and results."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.group_trees.spec.keys import RANK_LABEL, RETRIES_LABEL, STATUS_LABEL
from poseidon.group_trees.spec.trees import ClusterTree
from poseidon.group_trees.status.group_status import (
    GroupLife,
    Outlook,
    Situation,
    State,
    format_precisely,
    gist,
    state_of,
)
from poseidon.group_trees.status.members import Member, read_number
from poseidon.kube.api.metadata import PodRef
from protos.firmament.v1 import scheduler_pb2 as pb

TREE = ClusterTree(("rack", "node"), {"n1": ("r1", "n1"), "n2": ("r2", "n2")})
NOW = 1_000_000_000.0
PHASES = pb.GangState


def member(
    name: str = "p", node: str = "", phase: str = "Pending", created: str = "", **labels: str
) -> Member:
    told = {
        {"rank": RANK_LABEL, "retries": RETRIES_LABEL, "status": STATUS_LABEL}[key]: each
        for key, each in labels.items()
    }
    return Member(PodRef(f"u-{name}", "ns", name), created, node, phase, leaving=False, labels=told)


def members(*found: Member) -> dict[str, Member]:
    return {each.ref.uid: each for each in found}


class Life:
    def __init__(self) -> None:
        self.life = GroupLife()
        self.now = NOW

    def look(
        self, *found: Member, size: int = 2, phase: int = 0, problem: str = "", remark: str = ""
    ) -> Outlook:
        self.life.phase = phase
        placed = sum(each.placed for each in found)
        situation = Situation(size, len(found), placed, phase, self.life.message, problem)
        return self.life.find_outlook(members(*found), situation, TREE, remark, self.now)

    def retries(self, *found: Member, **more: Any) -> list[str | None]:
        labels = self.look(*found, **more).labels
        return [labels[each.ref.uid].get(RETRIES_LABEL) for each in found]


@pytest.mark.parametrize(
    ("given", "state", "message"),
    [
        ({}, State.READY, "m"),
        ({"members": 1}, State.WAITING, "1 of 2 pods exist"),
        ({"problem": "odd"}, State.WAITING, "odd"),
        ({"placed": 1}, State.READY, "m"),
        ({"placed": 2}, State.BOUND, ""),
        ({"placed": 3}, State.BOUND, ""),
        ({"placed": 2, "problem": "odd"}, State.BOUND, "odd"),
        ({"phase": PHASES.PREEMPTING}, State.PREEMPTING, "m"),
        ({"phase": PHASES.PREEMPTING, "members": 1}, State.WAITING, "1 of 2 pods exist"),
        ({"phase": PHASES.PLACED}, State.ASSIGNED, ""),
        ({"phase": PHASES.PLACED, "placed": 1}, State.PERMITTED, ""),
        ({"phase": PHASES.WAITING}, State.READY, "m"),
        ({"phase": PHASES.FAILED, "placed": 2}, State.FAILED, "m"),
        ({"phase": PHASES.PREEMPTED, "members": 1}, State.PREEMPTED, "m"),
    ],
)
def test_the_state_of_a_group(given, state, message):
    now = Situation(**{"size": 2, "members": 2, "placed": 0, "message": "m", **given})
    assert state_of(now) == (state, message)


def test_a_group_from_its_first_pod_to_its_last():
    scene = Life()
    first, second = member("p-0", created="2001-09-09T01:46:30Z"), member("p-1")
    found = scene.look(first)
    assert found.passing
    assert found.data == {
        "status": "Waiting",
        "message": "1 of 2 pods exist",
        "schedBeginTime": "2001-09-09T01:46:30.000000000Z",
        "placement": None,
        "rank": None,
        "schedEndTime": None,
        "schedTotalTimeMilli": None,
        "schedSolverTimeMilli": None,
        "preemptor": None,
    }
    assert found.labels == {"u-p-0": {STATUS_LABEL: "Waiting"}}
    scene.life.message = "no room"
    found = scene.look(first, second)
    assert (found.data["status"], found.data["message"]) == ("Ready", "no room")
    assert found.labels["u-p-1"] == {STATUS_LABEL: "Ready", RETRIES_LABEL: "1"}
    scene.life.solver_seconds, scene.now = 0.25, NOW + 2.5
    placed = member("p-0", "n2"), member("p-1", "n1")
    found = scene.look(*placed, remark="by the way")
    assert not found.passing
    assert found.data == {
        "status": "Bound",
        "message": "by the way",
        "schedBeginTime": "2001-09-09T01:46:30.000000000Z",
        "placement": '{"root":{"r1":{"n1":{"p-1":{}}},"r2":{"n2":{"p-0":{}}}}}',
        "rank": "[(p-0,0) (p-1,1)]",
        "schedEndTime": "2001-09-09T01:46:42.500000000Z",
        "schedTotalTimeMilli": "12500",
        "schedSolverTimeMilli": "250",
        "preemptor": None,
    }
    assert found.labels["u-p-1"] == {STATUS_LABEL: "Bound", RETRIES_LABEL: "1", RANK_LABEL: "1"}
    scene.now += 60
    assert scene.look(*placed).data["schedEndTime"] == "2001-09-09T01:46:42.500000000Z", "it was timed once"
    done = member("p-0", "n2", "Succeeded"), member("p-1", "n1")
    assert list(scene.look(*done).labels) == ["u-p-1"], "who has ended gets no labels"
    found = scene.look()
    assert found.data == {"preemptor": None, "message": None}
    assert scene.look(remark="none").data["message"] == "none"


def test_a_group_whose_pods_go_before_it_is_placed_waits_again():
    scene = Life()
    scene.look(member("a"), member("b"))
    assert scene.look().data == {
        "preemptor": None,
        "status": "Waiting",
        "schedBeginTime": None,
        "message": "0 of 2 pods exist",
    }
    scene.look(member("a"))
    assert scene.look(problem="no rules").data["message"] == "no rules"


def test_a_group_that_has_failed_says_why_until_it_is_tried_again():
    scene = Life()
    scene.life.message = "not whole in time"
    scene.look(member("a"), member("b"), phase=PHASES.FAILED)
    assert "message" not in scene.look(phase=PHASES.FAILED).data
    assert scene.look(remark="r").data["message"] == "r"


def test_attempts_are_counted_by_pod():
    scene = Life()
    one, two = member("a"), member("b", retries="4")
    assert scene.retries(one, two) == ["1", "5"]
    assert scene.retries(one, two) == ["1", "5"], "it is the same attempt"
    assert scene.retries(one, two, phase=PHASES.FAILED) == ["1", "5"]
    assert scene.retries(one, two) == ["2", "6"]
    assert scene.retries(member("a", "n1"), two, phase=PHASES.PREEMPTED) == ["2", "6"]
    assert scene.retries(member("a", "n1"), two, phase=PHASES.PLACED) == ["2", "7"], "one has its node"


def test_a_pod_that_replaces_another_keeps_the_ranks_of_the_rest():
    scene = Life()
    scene.look(member("a", "n1"), member("b", "n2"))
    found = scene.look(member("b", "n2"), member("c", "n1"))
    assert found.data["rank"] == "[(c,0) (b,1)]"


def test_who_makes_room_for_whom_is_told_while_it_lasts():
    scene = Life()
    scene.life.preemptor = "ns/vip"
    two = member("a", "n1"), member("b", "n2")
    assert scene.look(*two, phase=PHASES.PREEMPTED).data["preemptor"] == "ns/vip"
    assert scene.look(phase=PHASES.PREEMPTED).data == {"preemptor": "ns/vip"}
    assert scene.look(*two).data["preemptor"] is None
    assert scene.look(*two, phase=PHASES.PREEMPTED).data["preemptor"] is None


def test_results_go_when_the_group_has_to_be_placed_again():
    scene = Life()
    placed = member("a", "n1"), member("b", "n2")
    scene.look(*placed)
    kept = scene.look(member("a", "n1"), member("b"))
    assert kept.data["schedEndTime"] is not None, "a replacement is on its way"
    assert scene.look(*placed, phase=PHASES.PREEMPTED).data["schedEndTime"] is None
    scene.now += 10
    assert scene.look(*placed).data["schedEndTime"] == format_precisely(NOW + 10)


@pytest.mark.parametrize(
    ("created", "began"),
    [
        ("2001-09-09T01:46:39Z", NOW - 1),
        ("2001-09-09T01:46:40Z", NOW),
        ("", NOW),
        ("2001-09-09T01:46:50Z", NOW),
    ],
)
def test_a_group_begins_with_its_first_pod(created, began):
    scene = Life()
    assert scene.look(member(created=created)).data["schedBeginTime"] == format_precisely(began)
    scene.now += 5
    assert scene.look(member(created=created)).data["schedBeginTime"] == format_precisely(began)


DATA = {
    "status": "Bound",
    "preemptor": "ns/vip",
    "schedBeginTime": format_precisely(NOW - 50),
    "schedEndTime": format_precisely(NOW - 40),
    "rank": "[(a,1)]",
    "other": "x",
}


def test_another_process_takes_up_the_course():
    scene = Life()
    placed = member("a", "n1", rank="1"), member("b", "n2", rank="0")
    scene.life.recover(DATA, members(*placed))
    assert (scene.life.state, scene.life.preemptor, scene.life.is_empty) == (State.BOUND, "ns/vip", False)
    found = scene.look(*placed)
    assert found.data["schedBeginTime"] == format_precisely(NOW - 50)
    assert found.data["schedEndTime"] == format_precisely(NOW - 40)
    assert found.data["rank"] == "[(b,0) (a,1)]"


@pytest.mark.parametrize(
    ("status", "found", "empty"),
    [
        ("Ready", [], True),
        ("Ready", [member()], False),
        ("Preempting", [member()], False),
        ("Failed", [member()], False),
        ("Preempted", [member()], True),
        ("Bound", [member()], True),
        ("Bound", [member(status="Bound")], False),
        ("Bound", [member(), member("q", "n1")], False),
        ("odd", [member()], True),
        ("", [], True),
    ],
)
def test_whether_the_pods_belong_to_the_course_that_was_written(status, found, empty):
    life = GroupLife()
    life.recover({"status": status}, members(*found))
    assert life.is_empty is empty
    assert life.state == (State(status) if status not in ("odd", "") else None)


def test_numbers_do_not_make_another_reason():
    assert gist("1 of 12 pods") == gist("3 of 4 pods") == "# of # pods"
    assert [read_number(text) for text in ("0", "123456789", "1234567890", "-1", "", "x")] == [
        0,
        123456789,
        None,
        None,
        None,
        None,
    ]
