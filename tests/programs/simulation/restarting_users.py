"""Users of gangs that restart, with room kept for them meanwhile, and what must hold of that room."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from poseidon.pod_groups.keep_room import KEEP_ROOM
from tests.programs.simulation import workload
from tests.programs.simulation.actors import leaving
from tests.programs.simulation.api_server import GROUPS, PODS, Object, finished
from tests.programs.simulation.programs import GANG_SECONDS, BridgeProgram
from tests.programs.simulation.tree_users import TreeUsers

if TYPE_CHECKING:
    from firmament.core.scheduler import Scheduler

MOST = 60
"""Seconds for which room may be kept."""

LATE = 45.0
"""Seconds within which a bridge ends room whose time is over: it may stand still for 20, and clocks may be turned."""

CONFIGURED: Mapping[str, Any] = {
    "gangs": {"timeout": GANG_SECONDS, "keepRoom": 5.0, "keepRoomAtMost": float(MOST)}
}


@dataclass
class _Gang:
    """A gang whose controller replaces what it loses: one pod, or all of them once the others are gone."""

    name: str
    pods: int
    as_a_whole: bool
    make: Callable[[str], Object]


@dataclass
class RestartingUsers(TreeUsers):
    """Users of trees who create gangs that restart as well."""

    restarting: list[_Gang] = field(default_factory=list)
    on_restart: Callable[[str], None] = lambda _gang: None
    """Told the gang of which all pods are gone, before it gets new ones."""

    def list_kinds(self) -> tuple[Callable[[], None], ...]:
        """Return what they may do next."""
        return (*super().list_kinds(), *[self._restarting_gang] * 3, *[self._lose_member] * 4)

    def _restarting_gang(self) -> None:
        random = self.queue.random
        name, least = self._name("gang"), random.randint(1, 4)
        asks, importance = workload.random_requests(random), random.choice((0, 0, 100))
        stated = str(random.choice((0, 3, 10, 30, MOST, 1000)))
        labels = {workload.GROUP: name, "lasting": "yes"}

        def make(pod: str) -> Object:
            made = workload.pod(pod, asks, priority=importance, labels=labels)
            made["metadata"]["annotations"] = {KEEP_ROOM: stated}
            return made

        self.api.create(GROUPS, workload.group(name, least))
        self.restarting.append(_Gang(name, least + random.choice((0, 0, 1)), random.random() < 0.7, make))

    def _list_pods(self, gang: _Gang) -> list[Object]:
        return [pod for pod in self.api.all(PODS) if workload.gang_of(pod) == gang.name]

    def _lose_member(self) -> None:
        """Delete one pod of a gang that restarts."""
        pods = [
            pod
            for gang in self.restarting
            for pod in self._list_pods(gang)
            if pod["spec"].get("nodeName") and not leaving(pod)
        ]
        if pods:
            lost = self.queue.random.choice(pods)
            self.queue.tell(f"{lost['metadata']['name']} is lost")
            self.api.delete_pod(lost)

    def _reconcile(self) -> None:
        super()._reconcile()
        for gang in self.restarting:
            self._restart(gang)

    def _restart(self, gang: _Gang) -> None:
        pods = self._list_pods(gang)
        there = [pod for pod in pods if not finished(pod) and not leaving(pod)]
        if gang.as_a_whole and len(pods) == len(there) == gang.pods:
            return
        if gang.as_a_whole and pods:
            for pod in pods:
                if not leaving(pod):
                    self.api.delete_pod(pod)
            return
        if not pods:
            self.on_restart(gang.name)
        for _ in range(gang.pods - len(there)):
            self._create(gang.make(self._name(f"{gang.name}-")))

    def _delete_something(self, ours: list[Object]) -> None:
        random = self.queue.random
        if self.restarting and random.random() < 0.2:
            gang = self.restarting.pop(random.randrange(len(self.restarting)))
            self.queue.tell(f"user deletes {gang.name}")
            for pod in self._list_pods(gang):
                self.api.delete_pod(pod)
        else:
            super()._delete_something(ours)

    def drop_all(self) -> None:
        """Delete everything."""
        self.restarting.clear()
        super().drop_all()


@dataclass
class RoomOracle:
    """Knows which room has been ``seen``, and says what is wrong with what is kept at present."""

    wall: Callable[[], float]
    seen: set[str] = field(default_factory=set)

    def find_fault(self, program: BridgeProgram) -> str:
        """Return what is wrong with the room that a bridge keeps, "" for nothing."""
        rooms = program.bridge.state.restart_rooms.rooms if program.bridge is not None else {}
        self.seen |= rooms.keys()
        for uid, room in rooms.items():
            left = room.until - self.wall()
            if left < -LATE and not program.process.dead:
                return f"room of {uid} should have ended {-left:g} s ago"
        return ""

    def find_left(self, programs: list[BridgeProgram], scheduler: Scheduler) -> str:
        """Return what room is kept although there has been time for all of it to lapse, "" for none."""
        told = sorted(scheduler._cluster.restarts.by_uid)
        kept = [
            uid
            for each in programs
            if each.bridge is not None
            for uid in each.bridge.state.restart_rooms.rooms
        ]
        return (
            f"room is kept that has lapsed: by the solver of {told}, by bridges of {kept}"
            if told or kept
            else ""
        )
