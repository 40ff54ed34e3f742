"""The controller of Jobs: creates and deletes their pods, and counts those that have succeeded."""

from __future__ import annotations

from dataclasses import dataclass

from tests.programs.simulation import queued_objects
from tests.programs.simulation.actors import leaving
from tests.programs.simulation.api_server import JOBS, PODS, ApiServer, Object, finished
from tests.programs.simulation.event_queue import EventQueue


def owner_of(pod: Object) -> str:
    """Return the uid of the Job that a pod belongs to, "" for none."""
    owner = pod["metadata"].get("ownerReferences", [{}])[0]
    return str(owner["uid"]) if owner.get("kind") == "Job" else ""


@dataclass
class JobController:
    """Acts a moment after a Job or one of its pods has changed, and about every second."""

    queue: EventQueue
    api: ApiServer
    _serial: int = 0

    def begin(self) -> None:
        """Act from now on."""
        self._reconcile()

    def _reconcile(self) -> None:
        self.queue.after(1.0 + self.queue.random.random(), self._reconcile)
        for each in self.api.all(JOBS):
            self._sync(each)
        known = {each["metadata"]["uid"] for each in self.api.all(JOBS)}
        for pod in self.api.all(PODS):
            if owner_of(pod) and owner_of(pod) not in known:
                self.api.delete_pod(pod)

    def changed(self, path: str, kind: str, found: Object) -> None:
        """Take a change of a Job or a pod."""
        if kind == "DELETED":
            return
        if path == JOBS:
            self.queue.after(0.02 + self.queue.random.random() * 0.5, lambda: self._sync(found))
        elif path == PODS and found["status"]["phase"] == "Succeeded":
            for each in self.api.all(JOBS):
                if each["metadata"]["uid"] == owner_of(found):
                    self._count(each, found["metadata"]["uid"])

    def _count(self, job: Object, uid: str) -> None:
        """Count a pod as succeeded, in the same moment, so that no copy of the server has one without the other."""
        counted = job["status"].get("counted", [])
        if uid not in counted:
            status = {**job["status"], "counted": [*counted, uid], "succeeded": len(counted) + 1}
            self.api.replace(JOBS, {**job, "status": status})

    def _sync(self, given: Object) -> None:
        job = self.api.current(JOBS, given)
        if job is None:
            return
        uid, spec = job["metadata"]["uid"], job["spec"]
        active = [
            pod
            for pod in self.api.all(PODS)
            if owner_of(pod) == uid and not finished(pod) and not leaving(pod)
        ]
        wanted = 0 if spec["suspend"] else min(spec["parallelism"], queued_objects.count_missing(job))
        for pod in active[wanted:]:
            self.api.delete_pod(pod)
        for _ in range(wanted - len(active)):
            self._serial += 1
            name = f"{job['metadata']['name']}-{self._serial}"
            self.api.create(PODS, queued_objects.pod_of(job, name))
            self.queue.tell(f"the controller of Jobs creates {name}")
        status = {**job["status"], "active": wanted}
        if queued_objects.is_complete(job):
            status["conditions"] = [{"type": "Complete", "status": "True"}]
        latest = self.api.current(JOBS, given)
        if latest is not None and status != job["status"]:
            self.api.replace(JOBS, {**latest, "status": status})
