"""A cluster for scripted histories: victims leave when told to, and their owners create them again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from firmament.core.events import ClassDefined, Event, JobDefined, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import Job, TaskClass
from firmament.core.results import Delta, DeltaKind
from tests.firmament.core.rules.quotas.quota_scene import flavor
from tests.support.core import Clock, machine, scheduler, task_class


@dataclass(frozen=True, slots=True)
class _Workload:
    """A gang, or one task."""

    number: int
    content: TaskClass
    priority: int
    size: int
    created: float


class ScriptedCluster:
    """A machine with room for all that quotas allow, and workloads by name, each with an owner.

    A task's uid is its workload's name, its place in it, and how often it was created again. It counts as created when
    its workload was, as for Kueue, which orders Workloads.
    """

    def __init__(self, *quotas: Event, **extended: int) -> None:
        self.clock = Clock()
        self._core = scheduler(
            machine("m", cpu=100_000, extended=extended), flavor("any"), quotas, clock=self.clock
        )
        self._workloads: dict[str, _Workload] = {}
        self._running: set[str] = set()
        self._going: list[str] = []
        self._coming: list[Delta] = []
        self.evictions: Counter[str] = Counter()
        """How many tasks of each workload have been evicted."""

    def submit(
        self,
        name: str,
        queue: str,
        cpu: int = 1,
        *,
        size: int = 1,
        priority: int = 0,
        age: int = 0,
        **extended: int,
    ) -> None:
        """Let a workload arrive, a second after the one before it, that was created ``age`` seconds ago."""
        self.clock.advance(1)
        number = len(self._workloads) + 1
        content = task_class(cpu, queue=queue)
        if extended:
            content = task_class(0, queue=queue, requests=(("cpu", cpu), *extended.items()))
        self._workloads[name] = _Workload(number, content, priority, size, self.clock.now - age)
        job = JobDefined(Job(name, size=size, min_members=size if size > 1 else 0))
        created = [f"{name}/{index}/0" for index in range(size)]
        self._core.apply([job, ClassDefined(number, content), self._create(name, created)])

    def _create(self, name: str, uids: list[str]) -> TasksSubmitted:
        made = self._workloads[name]
        times = (made.created,) * len(uids)
        return TasksSubmitted(made.number, tuple(uids), job=name, priority=made.priority, created=times)

    def run_round(self) -> None:
        """Run a round; who is evicted goes on until ``finish_evictions``, who waits for it is not bound before."""
        for delta in self._core.run_round().deltas:
            if delta.kind is DeltaKind.PREEMPT:
                self._going.append(delta.uid)
                self.evictions[delta.uid.partition("/")[0]] += 1
            else:
                assert delta.kind is DeltaKind.PLACE
                self._coming.append(delta)
        self._bind()

    def finish_evictions(self, *names: str) -> None:
        """Let evicted tasks of some workloads go, of all without names, and be created again at once."""
        for uid in [uid for uid in self._going if not names or uid.partition("/")[0] in names]:
            name, index, times = uid.split("/")
            self._going.remove(uid)
            self._running.discard(uid)
            self._core.apply([TaskRemoved(uid), self._create(name, [f"{name}/{index}/{int(times) + 1}"])])
        self._bind()

    def _bind(self) -> None:
        """Bind tasks that wait for nobody any more."""
        ready = [delta for delta in self._coming if not set(delta.depends_on) & set(self._going)]
        self._coming = [delta for delta in self._coming if delta not in ready]
        for delta in ready:
            name = delta.uid.partition("/")[0]
            made = self._workloads[name]
            self._core.apply(
                [
                    TasksBound(
                        delta.machine,
                        made.number,
                        (delta.uid,),
                        job=name,
                        priority=made.priority,
                        created=(made.created,),
                    )
                ]
            )
            self._running.add(delta.uid)

    def settle(self, most: int = 5) -> int:
        """Run rounds until one evicts nobody; returns how many did, raises ``AssertionError`` beyond ``most``."""
        for number in range(most + 1):
            self.run_round()
            if not self._going:
                return number
            self.finish_evictions()
        raise AssertionError(f"they evict each other without end: {dict(self.evictions)}")

    def list_running(self) -> set[str]:
        """Return the workloads whose tasks all run; none runs in part."""
        counts = Counter(uid.partition("/")[0] for uid in self._running)
        assert all(count == self._workloads[name].size for name, count in counts.items())
        return set(counts)
