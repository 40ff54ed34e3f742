"""Kubelets for all nodes at once: bound pods start to run and, if they say so, finish.

``KubeletSimulation`` is free of I/O and of time: it is told the time and tells when it wants to be called next.
``run_kubelets`` drives it from an event loop.
"""

from __future__ import annotations

import asyncio
import heapq
import ipaddress
from typing import TYPE_CHECKING, Any

from poseidon.simulated.history import ExpiredRevisionError
from poseidon.simulated.store import Store, decode

if TYPE_CHECKING:
    from poseidon.simulated.history import Record

Object = dict[str, Any]

RUN_SECONDS = "simulated.poseidon.io/run-seconds"
"""Annotation: a pod that has it succeeds after so many seconds of running."""

_BATCH = 1000
_POD_NETWORK = int(ipaddress.IPv4Address("10.0.0.0"))
_POD_ADDRESSES = 2**24


class KubeletSimulation:
    """Moves bound pods to Running after ``start_delay`` seconds, and on to Succeeded when they are to finish."""

    def __init__(self, store: Store, *, start_delay: float = 0.0) -> None:
        if start_delay < 0:
            raise ValueError(f"kubelet simulation: start_delay: {start_delay} is negative")
        self._store = store
        self._pods = store.collection("pods")
        self._start_delay = start_delay
        self._position = 0
        self._due: list[tuple[float, int, str, str, str]] = []
        self._started: set[str] = set()
        self._sequence = 0
        self._addresses = 0

    def advance(self, now: float) -> float | None:
        """Take in what has changed and do what is due at ``now`` (seconds of any clock that does not go back).

        Returns the time of the next transition, or None when all depends on further changes.
        """
        self._take_in(now)
        while self._due and self._due[0][0] <= now:
            _, _, key, uid, phase = heapq.heappop(self._due)
            record = self._pods.get(key)
            # A pod of the same name may have taken the place of one that was deleted meanwhile.
            if record is not None and record.uid == uid:
                self._enter(phase, record, now)
        return self._due[0][0] if self._due else None

    def _take_in(self, now: float) -> None:
        history = self._pods.history
        try:
            while changes := history.read(self._position, _BATCH):
                self._position += len(changes)
                for change in changes:
                    if change.type == "DELETED":
                        self._started.discard(change.record.uid)
                    else:
                        self._consider(change.record, now)
        except ExpiredRevisionError:
            # More changed than is remembered: look at everything that is there.
            self._position = history.end
            view = self._pods.view(self._store.revision)
            for key in view.keys:
                record = view.get(key)
                if record is not None:
                    self._consider(record, now)

    def _consider(self, record: Record, now: float) -> None:
        fields = dict(zip(self._pods.field_names, record.fields, strict=True))
        node, phase = fields["spec.nodeName"], fields["status.phase"]
        if record.uid in self._started or not node or phase not in ("Pending", "Running"):
            return
        self._started.add(record.uid)
        if phase == "Running":
            # Seeded as running: only its end is left.
            self._schedule_end(record, decode(record), now)
        else:
            self._schedule(now + self._start_delay, record, "Running")

    def _schedule(self, when: float, record: Record, phase: str) -> None:
        self._sequence += 1
        heapq.heappush(self._due, (when, self._sequence, record.key, record.uid, phase))

    def _schedule_end(self, record: Record, pod: Object, now: float) -> None:
        seconds = _seconds((pod["metadata"].get("annotations") or {}).get(RUN_SECONDS))
        if seconds is not None:
            self._schedule(now + seconds, record, "Succeeded")

    def _enter(self, phase: str, record: Record, now: float) -> None:
        pod = decode(record)
        status, time = pod["status"], self._store.now()
        running = phase == "Running"
        reason = {} if running else {"reason": "PodCompleted"}
        ready = {"status": "True" if running else "False", **reason}
        status["phase"] = phase
        changed = {"Initialized": {"status": "True"}, "Ready": ready, "ContainersReady": ready}
        status["conditions"] = [
            *(c for c in status.get("conditions") or () if c.get("type") not in changed),
            *({"type": name, **rest, "lastTransitionTime": time} for name, rest in changed.items()),
        ]
        if running:
            self._addresses = self._addresses % (_POD_ADDRESSES - 2) + 1
            address = str(ipaddress.IPv4Address(_POD_NETWORK + self._addresses))
            status.update(podIP=address, podIPs=[{"ip": address}], startTime=time)
        status["containerStatuses"] = [
            _container_status(container, status.get("startTime") or time, "" if running else time)
            for container in pod["spec"]["containers"]
        ]
        self._store.replace(self._pods, record, pod)
        if running:
            self._schedule_end(record, pod, now)


async def run_kubelets(kubelets: KubeletSimulation, store: Store) -> None:
    """Drive ``kubelets`` by the event loop's clock until cancelled."""
    loop = asyncio.get_running_loop()
    history = store.collection("pods").history
    changed = asyncio.Event()
    history.subscribe(changed.set)
    try:
        while True:
            changed.clear()
            due = kubelets.advance(loop.time())
            # Pausing lets writes gather, and requests be served, between two looks.
            await asyncio.sleep(0)
            try:
                async with asyncio.timeout_at(due):
                    await changed.wait()
            except TimeoutError:
                continue
    finally:
        history.unsubscribe(changed.set)


def _seconds(text: Any) -> float | None:
    """Return the value of the annotation, or None when it is absent or no duration."""
    try:
        seconds = float(text)
    except (TypeError, ValueError):
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _container_status(container: Object, started: str, finished: str) -> Object:
    """Return the status of a container; ``finished`` is "" while it runs."""
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": finished}
    running = not finished
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "restartCount": 0,
        "ready": running,
        "started": running,
        "state": {"running": {"startedAt": started}} if running else {"terminated": ended},
    }
