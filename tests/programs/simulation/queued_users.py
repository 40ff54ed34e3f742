"""Users of queues: pods, gangs and suspended Jobs in them, beside all others; and quotas that change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.programs.simulation import queued_objects, workload
from tests.programs.simulation.api_server import (
    CLUSTER_QUEUES,
    COHORTS,
    FLAVORS,
    GROUPS,
    JOBS,
    LOCAL_QUEUES,
    PODS,
)
from tests.programs.simulation.users import Users

_MOST_JOBS = 8


@dataclass
class QueuedUsers(Users):
    """Users as others are, who have queues. ``changing``: quotas change."""

    changing: bool = False

    def found_queues(self) -> None:
        """Create the queues."""
        for zone in workload.ZONES:
            self.api.create(FLAVORS, queued_objects.flavor(zone))
        for name in queued_objects.COHORTS:
            self.api.create(COHORTS, queued_objects.cohort(self.queue.random, name))
        for name in queued_objects.QUEUES:
            spec = queued_objects.draw_spec(self.queue.random, name)
            self.api.create(CLUSTER_QUEUES, {"metadata": {"name": name}, "spec": spec, "status": {}})
            self.api.create(LOCAL_QUEUES, queued_objects.local_queue(name))

    def give_quota(self) -> None:
        """Let there be quota for all."""
        for each in self.api.all(CLUSTER_QUEUES):
            spec = queued_objects.make_ample(each["spec"])
            self.api.replace(CLUSTER_QUEUES, {**each, "spec": spec})

    def list_kinds(self) -> tuple[Callable[[], None], ...]:
        """Return what they may do next."""
        change = (self._change_quota,) if self.changing else ()
        jobs = (self._submit_job, self._submit_job, self._submit_job, self._drop_job)
        return (*super().list_kinds(), *jobs, self._queue_pods, self._queue_pods, self._queue_gang, *change)

    def _draw_queue(self) -> str:
        return self.queue.random.choice((*queued_objects.QUEUES,))

    def _draw_priority(self) -> int:
        return self.queue.random.choice((0, 0, 10, 100))

    def _queue_pods(self) -> None:
        random, labels = self.queue.random, {queued_objects.LABEL: self._draw_queue()}
        for _ in range(random.randint(1, 3)):
            asks = workload.random_requests(random)
            made = workload.pod(self._name("q"), asks, priority=self._draw_priority(), labels=labels)
            self._create(made)

    def _queue_gang(self) -> None:
        random = self.queue.random
        name, least = self._name("qgang"), random.randint(2, 4)
        labels = {workload.GROUP: name, queued_objects.LABEL: self._draw_queue()}
        asks, importance = workload.random_requests(random), self._draw_priority()
        self.api.create(GROUPS, workload.group(name, least))
        for index in range(least):
            self._create(workload.pod(f"{name}-{index}", asks, priority=importance, labels=labels))

    def _submit_job(self) -> None:
        if len(self.api.all(JOBS)) >= _MOST_JOBS:
            self._drop_job()
            return
        random, queue = self.queue.random, self._draw_queue()
        labels = {"lasting": "yes"} if random.random() < 0.5 else {}
        made = queued_objects.job(
            self._name("job"),
            random.randint(1, 5),
            workload.random_requests(random),
            queue,
            priority=self._draw_priority(),
            labels=labels,
        )
        self.api.create(JOBS, made)
        self.queue.tell(f"user creates {made['metadata']['name']} in {queue}")

    def _drop_job(self) -> None:
        jobs = self.api.all(JOBS)
        if jobs:
            chosen = self.queue.random.choice(jobs)
            self.queue.tell(f"user deletes {chosen['metadata']['name']}")
            self.api.remove(JOBS, chosen)

    def _change_quota(self) -> None:
        queue = self.queue.random.choice(self.api.all(CLUSTER_QUEUES))
        self.queue.tell(f"the quota of {queue['metadata']['name']} changes")
        spec = queued_objects.draw_spec(self.queue.random, queue["metadata"]["name"])
        self.api.replace(CLUSTER_QUEUES, {**queue, "spec": spec})

    def drop_all(self) -> None:
        """Delete everything but the queues."""
        for job in self.api.all(JOBS):
            self.api.remove(JOBS, job)
        super().drop_all()
        for pod in self.api.all(PODS):
            self.api.delete_pod(pod)
