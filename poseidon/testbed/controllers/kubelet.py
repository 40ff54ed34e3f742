"""Simulates the kubelets of all nodes: they admit or refuse bound pods, run them, end them and remove them.

``KubeletSimulation`` does no input or output and reads no clock: the caller passes the time, and gets back when to
call next. ``drive`` calls the simulation from an event loop.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from poseidon.testbed.controllers.controller_loop import Agenda, Follower
from poseidon.testbed.controllers.device_claims import is_prepared
from poseidon.testbed.controllers.kubelet_admission import KubeletAdmission, Refusal
from poseidon.testbed.controllers.node_rules import annotations_of, claim_names, is_bound, is_reached
from poseidon.testbed.objects.history import Record
from poseidon.testbed.objects.pods import set_conditions
from poseidon.testbed.objects.store import Store, decode

Object = dict[str, Any]

RUN_SECONDS = "simulated.poseidon.io/run-seconds"
"""Annotation of a pod: seconds of running after which the pod succeeds."""

STOP_SECONDS = "simulated.poseidon.io/stop-seconds"
"""Annotation of a pod: seconds that the pod takes to stop after its deletion, at most its grace period.

Without the annotation, the pod takes 0 seconds.
"""

_GONE = "Gone"
_MOUNT_RETRY = 0.5
_POD_NETWORK = int(ipaddress.IPv4Address("10.0.0.0"))
_POD_ADDRESSES = 2**24


class KubeletSimulation:
    """Sets bound pods to Running after ``start_delay`` seconds, and to Succeeded when their run time is over.

    A pod that does not fit its node fails at once. A pod whose volumes cannot be mounted waits. A deleted pod is
    removed when it has stopped.
    """

    def __init__(self, store: Store, *, start_delay: float = 0.0) -> None:
        if start_delay < 0:
            raise ValueError(f"kubelet simulation: start_delay: {start_delay} is negative")
        self._store = store
        self._pods = store.collection("pods")
        self.follows = (self._pods,)
        self._start_delay = start_delay
        self._admission = KubeletAdmission(store)
        self._changes = Follower(self._pods)
        self._agenda: Agenda[tuple[Record, str]] = Agenda()
        self._started: set[str] = set()
        self._stopping: dict[str, int] = {}
        self._addresses = 0

    def advance(self, now: float) -> float | None:
        """Read changes, and do the work that is due at ``now`` (seconds of any monotonic clock).

        Return when further work is due, or None if no work is due until something changes.
        """
        self._take_in(now)
        for _, (begun, phase) in self._agenda.due(now):
            record = self._pods.get(begun.key)
            # A pod that was deleted meanwhile may have been replaced by another pod of the same name.
            if record is not None and record.uid == begun.uid:
                self._enter(phase, record, now)
        return self._agenda.next

    def _take_in(self, now: float) -> None:
        anew, changes = self._changes.take_changes()
        if anew:
            present = {record.uid for _, record in changes}
            self._admission.retain(present)
            self._started &= present
        for gone, record in changes:
            if gone:
                self._admission.leave(record.uid)
                self._started.discard(record.uid)
                self._stopping.pop(record.uid, None)
            else:
                self._consider(record, now)

    def _consider(self, record: Record, now: float) -> None:
        fields = dict(zip(self._pods.field_names, record.fields, strict=True))
        node, phase = fields["spec.nodeName"], fields["status.phase"]
        if not node:
            return
        if phase not in ("Pending", "Running"):
            self._admission.leave(record.uid)
            return
        if record.uid not in self._started:
            self._arrive(record, phase, now)
        if b'"deletionTimestamp"' in record.raw:
            self._stop(record, now)

    def _arrive(self, record: Record, phase: str, now: float) -> None:
        """Admit a bound pod, or let it fail.

        A pod that was created as running is only ended, when its run time is over.
        """
        self._started.add(record.uid)
        pod = decode(record)
        refusal = self._admission.arrive(record.uid, pod, runs=phase == "Running")
        if refusal is not None:
            self._refuse(record, refusal)
        elif phase == "Running":
            self._schedule_end(record, pod, now)
        else:
            self._agenda.put(now + self._start_delay, (record, "Running"))

    def _refuse(self, record: Record, refusal: Refusal) -> None:
        # The pod's record in a batch of changes may be older than the present one, so it is looked up again.
        current = self._pods.get(record.key)
        if current is None or current.uid != record.uid:
            return
        pod = decode(current)
        pod["status"].update(phase="Failed", reason=refusal.reason, message=refusal.message)
        pod["status"].setdefault("startTime", self._store.now())
        self._store.replace(self._pods, current, pod)

    def _stop(self, record: Record, now: float) -> None:
        """Remove a pod that is being deleted, when it has stopped or its grace period is over."""
        pod = decode(record)
        metadata = pod["metadata"]
        grace = metadata.get("deletionGracePeriodSeconds") or 0
        if not metadata.get("deletionTimestamp") or self._stopping.get(record.uid, grace + 1) <= grace:
            return
        self._stopping[record.uid] = grace
        needed = _seconds(annotations_of(pod).get(STOP_SECONDS)) or 0.0
        self._agenda.put(now + min(needed, grace), (record, _GONE))

    def _schedule_end(self, record: Record, pod: Object, now: float) -> None:
        seconds = _seconds(annotations_of(pod).get(RUN_SECONDS))
        if seconds is not None:
            self._agenda.put(now + seconds, (record, "Succeeded"))

    def _remove(self, record: Record) -> None:
        """Tell the API server that a pod has stopped. Finalizers may still keep the object."""
        pod = decode(record)
        if pod["metadata"].get("finalizers"):
            pod["metadata"]["deletionGracePeriodSeconds"] = 0
            self._store.replace(self._pods, record, pod)
        else:
            self._store.delete(self._pods, record)
        self._admission.leave(record.uid)

    def _can_mount(self, pod: Object) -> bool:
        """Return whether all claims of a pod are bound to volumes that its node reaches.

        If a claim is not bound to a volume that the node reaches, the pod does not start.
        """
        names = claim_names(pod)
        if not names:
            return True
        node = self._store.collection("nodes").get(pod["spec"]["nodeName"])
        claims, volumes = (self._store.collection(f"persistentvolume{kind}s") for kind in ("claim", ""))
        for name in names:
            claim = claims.get(f"{pod['metadata']['namespace']}/{name}")
            if claim is None or not is_bound(decode(claim)):
                return False
            volume = volumes.get(decode(claim)["spec"]["volumeName"])
            if volume is None or node is None or not is_reached(decode(volume), decode(node)):
                return False
        return True

    def _enter(self, phase: str, record: Record, now: float) -> None:
        if phase == _GONE:
            self._remove(record)
            return
        pod = decode(record)
        if pod["status"].get("phase") in ("Succeeded", "Failed"):
            return
        if phase == "Running" and not (self._can_mount(pod) and is_prepared(self._store, pod)):
            self._agenda.put(now + _MOUNT_RETRY, (record, phase))
            return
        status, time = pod["status"], self._store.now()
        running = phase == "Running"
        reason = {} if running else {"reason": "PodCompleted"}
        ready = {"status": "True" if running else "False", **reason}
        status["phase"] = phase
        changed = {"Initialized": {"status": "True"}, "Ready": ready, "ContainersReady": ready}
        set_conditions(
            status, **{kind: {**given, "lastTransitionTime": time} for kind, given in changed.items()}
        )
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
        else:
            self._admission.leave(record.uid)


def _seconds(text: Any) -> float | None:
    """Return the seconds in an annotation, or None if it is absent or no duration."""
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
