"""Follows a topology group from its first pod to its last, and finds the status to write for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from poseidon.group_trees.spec.keys import RANK_LABEL, RETRIES_LABEL, STATUS_LABEL
from poseidon.group_trees.spec.trees import ClusterTree
from poseidon.group_trees.status.members import Member, read_number
from poseidon.group_trees.status.placement import placement_text, rank_text, ranks
from poseidon.group_trees.status.written import Values
from poseidon.kube.api.metadata import seconds
from protos.firmament.v1 import scheduler_pb2 as pb

_RESULTS = ("placement", "rank", "schedEndTime", "schedTotalTimeMilli", "schedSolverTimeMilli")
"""Keys of the ConfigMap that state how and when a group was placed."""

_NUMBER = re.compile(r"\d+", re.ASCII)


class State(StrEnum):
    """The states of groups and of their members."""

    WAITING = "Waiting"  # the object that describes the group, or some members, are missing
    READY = "Ready"  # all members exist, and the solver tries to place the group
    ASSIGNED = "Assigned"  # all members have been given a node
    PERMITTED = "Permitted"  # some members are bound, and the others will be
    BOUND = "Bound"
    PREEMPTING = "Preempting"  # all members have a node, but victims must leave first
    PREEMPTED = "Preempted"  # members are evicted for more important pods
    FAILED = "Failed"  # given up because the group was not placed in time; the solver tries again


PASSING = frozenset({State.WAITING, State.READY, State.ASSIGNED, State.PERMITTED})
"""States that usually last only a moment; they are written about a second later, and only if they last."""

_SOLVER_DECIDES: dict[int, State] = {
    pb.GangState.FAILED: State.FAILED,
    pb.GangState.PREEMPTED: State.PREEMPTED,
}


@dataclass(frozen=True, slots=True)
class Situation:
    """The numbers of a group's pods, and the solver's last report about the group.

    ``members``: number of pods that belong to the group; ``placed``: number of members with a node. ``phase`` and
    ``message``: the solver's last report; ``problem``: why the group is not sent to the solver, "" if it is.
    """

    size: int
    members: int
    placed: int
    phase: int = pb.GangState.STATE_UNSPECIFIED
    message: str = ""
    problem: str = ""


def state_of(now: Situation) -> tuple[State, str]:
    """Return a group's state, and what it waits for as text for people ("" for nothing)."""
    if now.phase in _SOLVER_DECIDES:
        return _SOLVER_DECIDES[now.phase], now.message
    if now.placed >= now.size:
        return State.BOUND, now.problem
    if now.problem or now.members < now.size:
        return State.WAITING, now.problem or f"{now.members} of {now.size} pods exist"
    if now.phase == pb.GangState.PREEMPTING:
        return State.PREEMPTING, now.message
    if now.phase == pb.GangState.PLACED:
        return State.PERMITTED if now.placed else State.ASSIGNED, ""
    return State.READY, now.message


_AT_REST = frozenset({State.WAITING, State.FAILED, State.PREEMPTED})
"""States in which members are not being placed. When the group leaves these states, a new attempt begins."""

_STATES = {str(each) for each in State}


@dataclass(slots=True)
class Outlook:
    """The texts to write: into the ConfigMap, and as labels of pods, by uid.

    ``passing``: whether writing the texts may wait a second.
    """

    data: dict[str, str | None]
    labels: dict[str, Values] = field(default_factory=dict)
    passing: bool = False


class GroupLife:
    """The history of one group's states. Times are in seconds since the epoch.

    ``phase``, ``message`` and ``solver_seconds``: the solver's last report; ``preemptor``: the pod for which members
    are evicted. Code that changes these attributes calls ``find_outlook`` next. ``is_empty``: whether the group had
    no pods at the last call of ``find_outlook``.
    """

    def __init__(self) -> None:
        self.phase: int = 0
        self.message = ""
        self.solver_seconds = 0.0
        self.preemptor = ""
        self.state: State | None = None
        self._began: float | None = None
        self._timed = False
        self.is_empty = True
        self._ranks: dict[str, int] = {}
        self._results: dict[str, str] = {}
        self._retries: dict[str, int] = {}

    def recover(self, data: Mapping[str, str], members: Mapping[str, Member]) -> None:
        """Restore the state that an earlier process has written into the ConfigMap and the labels of pods."""
        if data.get("status", "") in _STATES:
            self.state = State(data["status"])
        self.preemptor = data.get("preemptor", "")
        self._began = seconds(data.get("schedBeginTime"))
        self._timed = "schedEndTime" in data
        on_its_way = self.state in (*PASSING, State.PREEMPTING, State.FAILED) and bool(members)
        self.is_empty = not on_its_way and not any(each.placed or each.labels for each in members.values())
        self._results = {key: data[key] for key in _RESULTS if key in data}
        self._ranks = {each.name: each.rank for each in members.values() if each.rank is not None}

    def find_outlook(
        self, members: Mapping[str, Member], situation: Situation, tree: ClusterTree, remark: str, now: float
    ) -> Outlook:
        """Return the texts to write about a group. ``members``: the pods that belong to the group, by uid.

        ``remark`` is reported if nothing more important is to be reported.
        """
        if not members:
            return self._look_at_nobody(situation, remark)
        if self.is_empty:
            self._begin()
        if self._began is None:
            self._began = _began(members, now)
        former, (self.state, message) = self.state, state_of(situation)
        if former in (None, *_AT_REST) and self.state not in _AT_REST:
            self._release(members)
        if self.state is State.BOUND:
            self._note_bound(members, tree, now)
        elif self.state in (State.PREEMPTED, State.FAILED) or not self._timed:
            self._timed = False
            self._results.clear()
        if former is State.PREEMPTED is not self.state:
            self.preemptor = ""
        data: dict[str, str | None] = {
            "status": str(self.state),
            "message": message or remark or None,
            "schedBeginTime": format_precisely(self._began),
            **{key: self._results.get(key) for key in _RESULTS},
            "preemptor": (self.preemptor or None) if self.state is State.PREEMPTED else None,
        }
        return Outlook(data, self._labels(members), self.state in PASSING and not situation.problem)

    def _look_at_nobody(self, situation: Situation, remark: str) -> Outlook:
        """Return the texts to write about a group without pods: results stay; a group being placed waits again."""
        self.is_empty = True
        text = situation.problem or remark
        data: dict[str, str | None] = {"preemptor": self.preemptor or None}
        if self.state in (*PASSING, State.PREEMPTING):
            self.state = State.WAITING
            data["status"], text = str(self.state), text or f"0 of {situation.size} pods exist"
            data["schedBeginTime"] = None
        if text or self.state not in (State.PREEMPTED, State.FAILED):
            data["message"] = text or None
        return Outlook(data)

    def _begin(self) -> None:
        self.is_empty = False
        self._began, self._timed = None, False
        self._ranks.clear()
        self._retries.clear()

    def _release(self, members: Mapping[str, Member]) -> None:
        """Count one more attempt for the members without a node, and the first attempt for members not counted yet."""
        for uid, each in members.items():
            former = read_number(each.labels.get(RETRIES_LABEL, ""))
            if uid not in self._retries and former is not None:
                self._retries[uid] = former
            if not each.node or uid not in self._retries:
                self._retries[uid] = self._retries.get(uid, 0) + 1

    def _note_bound(self, members: Mapping[str, Member], tree: ClusterTree, now: float) -> None:
        # Members that have succeeded keep their rank and their place in the texts.
        placed = {each.name: tree.path(each.node) for each in members.values() if each.placed}
        self._ranks = ranks(placed, self._ranks)
        self._results["placement"] = placement_text(placed)
        self._results["rank"] = rank_text(self._ranks)
        if self._timed:
            return
        self._timed = True
        assert self._began is not None
        self._results["schedEndTime"] = format_precisely(now)
        self._results["schedTotalTimeMilli"] = str(round(1000 * max(now - self._began, 0.0)))
        self._results["schedSolverTimeMilli"] = str(round(1000 * self.solver_seconds))

    def _labels(self, members: Mapping[str, Member]) -> dict[str, Values]:
        found: dict[str, Values] = {}
        for uid, each in members.items():
            if each.done:
                continue
            labels: dict[str, str | None] = {STATUS_LABEL: str(self.state)}
            if uid in self._retries:
                labels[RETRIES_LABEL] = str(self._retries[uid])
            if self.state is State.BOUND:
                labels[RANK_LABEL] = str(self._ranks[each.name]) if each.name in self._ranks else None
            found[uid] = labels
        return found


def _began(members: Mapping[str, Member], now: float) -> float:
    """Return when the first member was created; ``now`` if that is less than a second ago.

    Kubernetes states creation times in whole seconds only.
    """
    created = min(seconds(each.created) or now for each in members.values())
    return created if now - created >= 1.0 else now


def gist(text: str) -> str:
    """Return a message without its numbers, to compare reasons."""
    return _NUMBER.sub("#", text)


def format_precisely(at: float) -> str:
    """Return seconds since the epoch as RFC 3339 text, UTC, with nanoseconds."""
    moment = datetime.fromtimestamp(at, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond:06d}000Z"
