"""Faults put into the programs on purpose: whether the simulation notices what it is there to notice.

Each changes one named place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any
from unittest.mock import patch

import numpy as np

from firmament.core.constraints.remaining_quota import RemainingQuota
from firmament.core.intake.binding_reports import BindingOutcomes
from firmament.core.rules.gangs import lifecycle, members
from firmament.core.rules.gangs.members import count_missing_members
from firmament.core.rules.quotas import compilation
from firmament.core.state.device_allocations import DeviceAllocations
from firmament.server.access.fencing import Fencing
from firmament.server.outbox import DriverOutbox
from poseidon.bridge.suspended.placeholders import AdmissionStage, WorkloadAdmission
from poseidon.bridge.suspended.resumptions import Resumptions
from poseidon.bridge.watched_pods import WatchedPods
from poseidon.devices import state as device_state
from poseidon.devices.claim_writes import ClaimWrites
from poseidon.devices.device_use import DeviceUse
from poseidon.kube.api.coordination import Lease
from poseidon.kube.api.decoding import WatchEvent
from poseidon.kube.client.errors import ApiError
from poseidon.kube.watch.reflector import Reflector
from poseidon.kube.write import binder
from poseidon.kube.write.binder import Binder, BindOutcome, BindRequest, BindResult
from poseidon.kube.write.evictor import EvictionOutcome, EvictionRequest, Evictor
from poseidon.leadership.election import Election, LeaseWrite, Role
from poseidon.lifecycle.bind_check import BindCheck
from poseidon.lifecycle.restart_room import RestartRoomRecords
from poseidon.pods import tasks
from tests.programs.simulation.history import run

Patches = Callable[[], Sequence[Any]]


def _lost_watch_event() -> Sequence[Any]:
    """Every twentieth event of a watch is not handed over."""
    original, number = Reflector._take_event, count()

    def take(self: Any, event: WatchEvent, batch: list[Any]) -> None:
        original(self, event, [] if next(number) % 20 == 19 else batch)

    return [patch.object(Reflector, "_take_event", take)]


def _duplicated_delta() -> Sequence[Any]:
    """A placement that has been carried out is carried out again."""
    original = Binder._bind

    async def bind(self: Binder, request: BindRequest, started: float) -> BindOutcome:
        outcome = await original(self, request, started)
        return await original(self, request, started) if outcome.result is BindResult.BOUND else outcome

    return [patch.object(Binder, "_bind", bind)]


def _stale_assumption() -> Sequence[Any]:
    """The solver goes on to assume a task whose binding was refused."""
    return [patch.object(BindingOutcomes, "_apply_refusal", lambda *_, **__: None)]


def _late_fence() -> Sequence[Any]:
    """Any driver may take over from any other."""
    return [patch.object(Fencing, "may_take_over", lambda *_: True)]


def _off_by_one_fit() -> Sequence[Any]:
    """The look at a node before a binding takes one pod too many."""
    original = BindCheck._lacking

    def lacks(self: BindCheck, task_class: int, node: str, offer: Any, used: Any) -> str:
        return original(self, task_class, node, offer, {**used, "pods": used.get("pods", 1) - 1})

    return [patch.object(BindCheck, "_lacking", lacks)]


def _partial_gang() -> Sequence[Any]:
    """One member fewer than a gang needs will do."""
    return [patch.object(lifecycle, "lacking", lambda cluster, job: count_missing_members(cluster, job) - 1)]


def _reordered_acknowledgement() -> Sequence[Any]:
    """An older batch is acknowledged after a newer one."""
    original = DriverOutbox.acknowledge

    def acknowledge(self: DriverOutbox, sequence: int) -> None:
        original(self, sequence - 2 if sequence % 3 == 0 else sequence)

    return [patch.object(DriverOutbox, "acknowledge", acknowledge)]


def _swallowed_conflict() -> Sequence[Any]:
    """A binding that is refused with 409 counts as accepted."""
    original = binder.judge

    def judge(request: BindRequest, error: ApiError) -> BindOutcome:
        return BindOutcome(request, BindResult.BOUND) if error.conflict else original(request, error)

    return [patch.object(binder, "judge", judge)]


def _leaked_task() -> Sequence[Any]:
    """Every fifth pod that is gone is not forgotten."""
    original, number = WatchedPods._forget, count()

    def gone(self: WatchedPods, uid: str) -> None:
        if next(number) % 5 != 4:
            original(self, uid)

    return [patch.object(WatchedPods, "_forget", gone)]


def _missed_expiry() -> Sequence[Any]:
    """After a 410 the watch goes on from now, without what came between."""
    original = Reflector._list_served

    async def list_for_nobody(self: Any) -> None:
        if self._relist_reason != "expired":
            await original(self)
            return
        with patch.object(self._delivery, "deliver"):
            await original(self)

    return [patch.object(Reflector, "_list_served", list_for_nobody)]


def _double_eviction() -> Sequence[Any]:
    """A pod that has been asked to leave is asked again."""
    original = Evictor._evict

    async def evict(self: Evictor, request: EvictionRequest) -> EvictionOutcome:
        outcome = await original(self, request)
        return outcome if outcome.refusal or outcome.gone else await original(self, request)

    return [patch.object(Evictor, "_evict", evict)]


def _ignored_expiry() -> Sequence[Any]:
    """A leader goes on until it sees that somebody else leads."""
    original = Election.note_written

    def written(self: Election, write: LeaseWrite, lease: Lease) -> None:
        original(self, write, lease)
        self._deadline = float("inf") if self.role is Role.LEADER else self._deadline

    return [patch.object(Election, "note_written", written)]


def _early_shrink() -> Sequence[Any]:
    """What a pod is resized to counts at once, whatever its kubelet still holds for it."""
    return [patch.object(tasks, "as_counted", lambda pod: pod)]


def _forgotten_residents() -> Sequence[Any]:
    """What tasks on machines use of quotas does not count."""
    nobody = np.zeros(0, dtype=np.int64)
    return [patch.object(compilation, "_list_residents", lambda *_: (nobody, nobody))]


def _widened_quota() -> Sequence[Any]:
    """One task more than there is quota for will do."""
    original = RemainingQuota.units_in

    def units_in(self: RemainingQuota, *given: Any) -> int:
        return original(self, *given) + 1

    return [patch.object(RemainingQuota, "units_in", units_in)]


def _blind_resumption() -> Sequence[Any]:
    """A Job is resumed as soon as it is seen, whether or not there are places for its pods."""

    def resume(self: Resumptions, entry: WorkloadAdmission) -> None:
        if entry.stage is AdmissionStage.WAITING and entry.pods:
            self._write(entry, suspended=False)

    return [patch.object(Resumptions, "_resume_if_whole", resume)]


def _incomplete_group() -> Sequence[Any]:
    """Pods of groups that lack others are placed once the rest of their tree is whole."""
    return [patch.object(members, "list_whole", lambda groups, _: {each.name for each in groups})]


def _unready_device() -> Sequence[Any]:
    """Pods are bound before drivers have prepared their devices."""
    return [patch.object(device_state, "is_ready", lambda _: True)]


def _kept_claim() -> Sequence[Any]:
    """What a pod has got that is not bound after all is not given back."""
    return [patch.object(ClaimWrites, "give_back", lambda *_: None)]


def _device_twice() -> Sequence[Any]:
    """Nobody counts what claims have got."""
    return [
        patch.object(DeviceAllocations, "_hold", lambda *_: None),
        patch.object(DeviceUse, "find_conflict", lambda *_: ""),
    ]


def _lasting_room() -> Sequence[Any]:
    """Room for a restart does not lapse."""
    return [patch.object(RestartRoomRecords, "expire", lambda _: None)]


MUTANTS: dict[str, tuple[Patches, int]] = {
    "lost watch event": (_lost_watch_event, 20),
    "duplicated delta": (_duplicated_delta, 20),
    "stale assumption": (_stale_assumption, 100),
    "late fence": (_late_fence, 20),
    "off-by-one fit": (_off_by_one_fit, 100),
    "partial gang": (_partial_gang, 20),
    "reordered acknowledgement": (_reordered_acknowledgement, 20),
    "swallowed 409": (_swallowed_conflict, 100),
    "leaked task": (_leaked_task, 20),
    "missed 410": (_missed_expiry, 100),
    "double eviction": (_double_eviction, 20),
    "expired lease ignored": (_ignored_expiry, 300),
    "early shrink": (_early_shrink, 100),
    "forgotten residents": (_forgotten_residents, 20),
    "widened quota": (_widened_quota, 20),
    "blind resumption": (_blind_resumption, 20),
    "incomplete group": (_incomplete_group, 20),
    "unready device": (_unready_device, 20),
    "kept claim": (_kept_claim, 100),
    "device had twice": (_device_twice, 20),
    "lasting room": (_lasting_room, 20),
}
"""Mutants, with the number of seeds within which each is caught, at ``STEPS`` events each."""

QUEUED = frozenset({"forgotten residents", "widened quota", "blind resumption"})
"""Those that only clusters with queues can show."""

OF_TREES = frozenset({"incomplete group"})
"""Those that only histories with trees of groups can show."""

WITH_DEVICES = frozenset({"unready device", "kept claim", "device had twice"})
"""Those that only histories with claims of devices can show."""

WITH_RESTARTS = frozenset({"lasting room"})
"""Those that only histories with gangs that restart can show."""

STEPS = 1000


@contextmanager
def mutated(name: str) -> Iterator[None]:
    """Put a fault into the programs."""
    patches = MUTANTS[name][0]()
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()


def caught(name: str, first: int = 0) -> tuple[int, str] | None:
    """Return the first seed whose history notices a mutant, with what it says; None if none does."""
    with mutated(name):
        for seed in range(first, first + MUTANTS[name][1]):
            violation = run(
                seed,
                STEPS,
                queued=name in QUEUED,
                trees=name in OF_TREES,
                devices=name in WITH_DEVICES,
                restarts=name in WITH_RESTARTS,
            ).violation
            if violation:
                return seed, violation
    return None
