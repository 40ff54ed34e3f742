"""Decides drawn cases by rounds of the core, with the quotas that the bridge reads of Kueue's objects."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.judge.drawn_queues.drawing import FLAVORS, RESOURCES, DrawnCase, DrawnWorkload
from benchmarks.judge.drawn_queues.objects import BEGIN, CYCLES, NOW, list_flavors, state_spec
from benchmarks.judge.queues.cases import Admitted, Decision
from firmament.core.configuration import CoreConfiguration
from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    MachineUpserted,
    RecordUpserted,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job, Machine, TaskClass
from firmament.core.record_kinds import FLAVOR_RECORD, QUOTA_RECORD
from firmament.core.results import Delta, DeltaKind
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from poseidon.kube.api import kinds
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.other_projects.queues import ClusterQueue, Cohort, ResourceFlavor
from poseidon.queues.kueue import name_cluster_queue
from poseidon.queues.options import QueueOptions
from poseidon.queues.queue_objects import KueueQueues

ENDLESS = 2**40
"""Of each resource, what there is on the one node of each flavor: only quotas are short."""


def decide_here(case: DrawnCase, rounds: int = CYCLES) -> Decision:
    """Return what has been decided once a round decides nothing more, or after so many rounds.

    Most cases take one round. A second one decides anew about tasks of a StrictFIFO queue that lost their places in
    the first, because they had passed an older one. Victims go on until the last round.
    """
    core = Scheduler(
        configuration=CoreConfiguration(), solver=OrToolsSolver(), clock=lambda: float(BEGIN + NOW)
    )
    allocatable = {**dict.fromkeys(RESOURCES, ENDLESS), "pods": 100_000}
    core.apply([MachineUpserted(Machine(name, allocatable, labels={"flavor": name})) for name in FLAVORS])
    core.apply(_list_records(case))
    for number, made in enumerate(sorted(case.workloads, key=lambda each: each.created), start=1):
        core.apply(_introduce(number, made))
    decided: list[Delta] = []
    for _ in range(rounds):
        news = core.run_round().deltas
        if not news:
            break
        decided += news
    return _describe(case, decided)


def _list_records(case: DrawnCase) -> list[Event]:
    options = QueueOptions(source=("kueue",), admission="poseidon", fair_sharing=case.fair)
    if case.strategies:
        options = options.model_copy(update={"preemption_strategies": case.strategies})
    shelf = KueueQueues(options)
    stated = (
        (kinds.RESOURCE_FLAVOR, ResourceFlavor, list_flavors()),
        (kinds.CLUSTER_QUEUE, ClusterQueue, [state_spec(*each) for each in case.queues.items()]),
        (kinds.COHORT, Cohort, [state_spec(*each) for each in case.cohorts.items()]),
    )
    for kind, struct, objects in stated:
        for each in objects:
            shelf.objects.put(kind, each["metadata"]["name"], convert_object(each, struct))
    trees = shelf.read_quotas()
    return [
        *(RecordUpserted(FLAVOR_RECORD, each.name, each.payload()) for each in trees.flavors),
        *(RecordUpserted(QUOTA_RECORD, each.name, each.payload()) for each in trees.quotas),
    ]


def _introduce(number: int, made: DrawnWorkload) -> list[Event]:
    content = TaskClass(requests=tuple(sorted(made.requests.items())), queue=name_cluster_queue(made.queue))
    uids = tuple(f"{made.name}/{index}" for index in range(made.pods))
    job = made.name if made.pods > 1 else ""
    times = (float(BEGIN + made.created),) * made.pods
    events: list[Event] = [ClassDefined(number, content)]
    if job:
        events.append(JobDefined(Job(job, size=made.pods, min_members=made.pods, disrupted_whole=True)))
    events.append(TasksSubmitted(number, uids, job=job, priority=made.priority, created=times))
    if made.flavor:
        assigned = (float(BEGIN + made.admitted),) * made.pods
        bound = TasksBound(made.flavor, number, uids, job=job, priority=made.priority, assigned=assigned)
        events.append(bound)
    return events


def _describe(case: DrawnCase, decided: Iterable[Delta]) -> Decision:
    placed, evicted, waits = dict[str, str](), set[str](), set[str]()
    for delta in decided:
        name = delta.uid.partition("/")[0]
        if delta.kind is DeltaKind.PREEMPT:
            (evicted.discard if delta.withdrawn else evicted.add)(name)
        elif delta.kind is DeltaKind.PLACE:
            placed[name] = delta.machine
            (waits.add if delta.depends_on else waits.discard)(name)
    known = {each.name: each for each in case.workloads}
    given = {name: Admitted(known[name].use_in(flavor)) for name, flavor in placed.items()}
    return Decision(
        {name: each for name, each in given.items() if name not in waits},
        {name: each for name, each in given.items() if name in waits},
        tuple(sorted(evicted)),
    )
