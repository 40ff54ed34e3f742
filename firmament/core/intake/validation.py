"""Checks events before any of them is applied, so that a bad one in a batch changes nothing: each by itself, and how
much the cluster would consist of, as whoever describes it must not use up the memory of all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from firmament.core.configuration import Quota
from firmament.core.events import (
    ClassDefined,
    ClassRemoved,
    Event,
    InvalidEventError,
    JobDefined,
    MachineSampled,
    MachineUpserted,
    RecordUpserted,
    TaskSampled,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import (
    CONTAINER_KINDS,
    EFFECTS,
    MAX_QUANTITY,
    OPERATORS,
    QOS_CLASSES,
    Job,
    Machine,
    Requirement,
    SpreadRule,
    TaskClass,
    TaskTerm,
)
from firmament.core.selectors.labels import parse_integer
from firmament.core.selectors.taints import COMPARING, decimal
from firmament.core.state.classes import ClassTable, has_rules
from firmament.core.state.cluster import Cluster

T = TypeVar("T")


def validate(events: Sequence[Event], known: ClassTable) -> bool:
    """Raise ``InvalidEventError`` for the first event that could not be applied after those before it.

    Returns whether all events that submit or bind tasks name different ones.
    """
    changed: dict[int, TaskClass | None] = {}
    uids, count = set[str](), 0  # one set for all, as it is the dearest part of looking at an event

    def content_of(number: int) -> TaskClass | None:
        return changed[number] if number in changed else known.content(number)

    for event in events:
        match event:
            case MachineUpserted(machine):
                _machine(machine)
            case JobDefined(job):
                _job(job)
            case ClassDefined(number, content):
                _task_class(number, content, content_of(number))
                changed[number] = content
            case ClassRemoved(number):
                defined = content_of(number) is not None
                _require(defined, f"task class {number}: removed, but it is not defined; remove a class once")
                changed[number] = None
            case TasksSubmitted() | TasksBound():
                if content_of(event.task_class) is None:
                    raise InvalidEventError(
                        f"tasks: task class {event.task_class} is not defined; define a class before its tasks"
                    )
                _tasks(event)
                count += len(event.uids)
                _note_named(event.uids, uids, count)
            case MachineSampled():
                _machine_sample(event)
            case TaskSampled(uid=owner, time=time, usage=usage):
                _sample(f"sample of task {owner}", time, usage)
            case RecordUpserted(kind=kind, name=name):
                named = kind != "" and name != ""
                _require(named, f"record {kind!r} {name!r}: kind and name must not be empty")
    return len(uids) == count


def _note_named(uids: Sequence[str], named: set[str], count: int) -> None:
    """Add the tasks of an event to those ``named``, ``count`` with these; none may be given twice in one event."""
    named.update(uids)
    _require("" not in named, "tasks: a uid is empty")
    if len(named) < count:
        for uid, times in Counter(uids).items():
            _require(times == 1, f"tasks: {uid!r} is given twice in one event; send each task once")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InvalidEventError(message)


def _machine(machine: Machine) -> None:
    _require(machine.name != "", "machine: name is empty")
    _amounts(f"machine {machine.name}: allocatable", machine.allocatable.items())
    _amounts(f"machine {machine.name}: total", machine.total.items())
    for taint in machine.taints:
        _require(taint.key != "", f"machine {machine.name}: a taint has no key")
        _require(
            taint.effect in EFFECTS,
            f"machine {machine.name}: taint {taint.key!r} has effect {taint.effect!r}; "
            f"allowed are {', '.join(sorted(EFFECTS))}",
        )


def _job(job: Job) -> None:
    _require(job.id != "", "job: id is empty")
    _require(job.size >= 0, f"job {job.id}: size is negative")
    _require(job.min_members >= 0, f"job {job.id}: min_members is negative")


def _amounts(owner: str, amounts: Iterable[tuple[str, int]]) -> None:
    for name, amount in amounts:
        if name == "":
            raise InvalidEventError(f"{owner}: a resource has no name")
        if not 0 <= amount <= MAX_QUANTITY:
            raise InvalidEventError(f"{owner}: {name} is {amount}; it must lie between 0 and {MAX_QUANTITY}")


def _task_class(number: int, content: TaskClass, former: TaskClass | None) -> None:
    """Check a class; ``former``: what its number stands for already."""
    owner = f"task class {number}"
    _require(number > 0, f"{owner}: the number must be positive")
    if former is not None and former != content:
        raise InvalidEventError(f"{owner}: already defined with other content; use a new number")
    _amounts(f"{owner}: requests", content.requests)
    _amounts(f"{owner}: assumed", content.assumed)
    for preferred in content.preferred:
        _weight(f"{owner}: a preferred term", preferred.weight)
    for toleration in content.tolerations:
        _require(
            toleration.operator in {"Equal", "Exists", *COMPARING},
            f"{owner}: toleration of {toleration.key!r} has operator {toleration.operator!r}; "
            "allowed are Equal, Exists, Gt and Lt",
        )
        _require(
            toleration.operator not in COMPARING or decimal(toleration.value) is not None,
            f"{owner}: toleration of {toleration.key!r} compares with {toleration.value!r}, which is no integer",
        )
    if content.containers or content.overhead or content.qos:
        _containers(owner, content)
    volumes = (term for rule in content.volumes for term in rule.terms)
    for term in (*content.required, *(preferred.term for preferred in content.preferred), *volumes):
        for requirement in (*term.labels, *term.fields):
            _requirement(owner, requirement)
    if has_rules(content):
        _rules_between_tasks(owner, content)


def _containers(owner: str, content: TaskClass) -> None:
    _amounts(f"{owner}: overhead", content.overhead)
    _require(
        not content.qos or content.qos in QOS_CLASSES,
        f"{owner}: qos is {content.qos!r}; allowed are {', '.join(sorted(QOS_CLASSES))}, or none",
    )
    for container in content.containers:
        named = f"{owner}: container {container.name!r}"
        _require(
            container.kind in CONTAINER_KINDS,
            f"{named}: kind is {container.kind!r}; allowed are {', '.join(sorted(CONTAINER_KINDS))}",
        )
        _amounts(f"{named}: requests", container.requests)


def _rules_between_tasks(owner: str, content: TaskClass) -> None:
    weighted = (*content.preferred_affinity, *content.preferred_anti_affinity)
    for term in weighted:
        _weight(f"{owner}: a preferred term on {term.topology_key!r}", term.weight)
    for rule in content.spread:
        spread = f"{owner}: spread over {rule.topology_key!r}"
        _require(rule.max_skew >= 1, f"{spread}: max_skew must be at least 1")
        _require(rule.min_domains >= 0, f"{spread}: min_domains is negative")
    terms: Iterable[TaskTerm | SpreadRule] = (
        *content.affinity,
        *content.anti_affinity,
        *weighted,
        *content.spread,
    )
    for each in terms:
        _require(each.topology_key != "", f"{owner}: a rule between tasks has no topology key")
        selector = each.selector
        for requirement in (*selector.labels, *(selector.namespace_labels or ())):
            _require(
                requirement.operator not in {"Gt", "Lt"},
                f"{owner}: selector of tasks on {requirement.key!r}: {requirement.operator} is for machines only",
            )
            _requirement(owner, requirement)
    for port in content.ports:
        _require(1 <= port.port <= 65535, f"{owner}: port {port.port} is out of range; use 1 to 65535")


def _weight(owner: str, weight: int) -> None:
    _require(1 <= weight <= 100, f"{owner} has weight {weight}; it must lie between 1 and 100")


def _requirement(owner: str, requirement: Requirement) -> None:
    where = f"{owner}: requirement on {requirement.key!r}"
    operator, values = requirement.operator, requirement.values
    _require(
        operator in OPERATORS,
        f"{where}: unknown operator {operator!r}; allowed are {', '.join(sorted(OPERATORS))}",
    )
    if operator in {"In", "NotIn"}:
        _require(bool(values), f"{where}: {operator} needs at least one value")
    elif operator in {"Exists", "DoesNotExist"}:
        _require(not values, f"{where}: {operator} takes no values")
    else:
        _require(
            len(values) == 1 and parse_integer(values[0]) is not None,
            f"{where}: {operator} needs exactly one integer",
        )


def _tasks(event: TasksSubmitted | TasksBound) -> None:
    count = len(event.uids)
    _parallel("tasks: names", event.names, count)
    if isinstance(event, TasksSubmitted):
        _parallel("tasks: created", event.created, count)
        _require(all(map(math.isfinite, event.created)), "tasks: a creation time is not a finite number")
        return
    _require(event.machine != "", "bound tasks: machine is empty")
    for name, times in (("assigned", event.assigned), ("initialized", event.initialized)):
        if times:
            _parallel(f"bound tasks: {name}", times, count)
            _require(all(map(math.isfinite, times)), f"bound tasks: {name}: a time is not a finite number")


def _parallel(owner: str, values: Sequence[object], count: int) -> None:
    if values and len(values) != count:
        raise InvalidEventError(f"{owner} must be as many as uids, or none")


def _machine_sample(event: MachineSampled) -> None:
    owner = f"sample of machine {event.machine}"
    _sample(owner, event.time, event.usage)
    _sample(f"{owner}: system", event.time, event.system)
    _require(math.isfinite(event.interval) and event.interval >= 0, f"{owner}: interval is no duration")
    for window in event.windows:
        _sample(f"{owner}: {window.type}", window.seconds, window.usage)
    tasks = event.tasks
    if tasks is not None:
        cells = len(tasks.uids) * len(tasks.resources)
        _require(len(tasks.amounts) == cells, f"{owner}: tasks: {len(tasks.amounts)} amounts, not {cells}")
        _require(
            len(tasks.prod) in {0, len(tasks.uids)}, f"{owner}: tasks: prod must be as many as uids, or none"
        )
        _require(
            all(0 <= amount <= MAX_QUANTITY for amount in tasks.amounts),  # also false for NaN
            f"{owner}: tasks: an amount is not a number between 0 and {MAX_QUANTITY}",
        )


def _sample(owner: str, time: float, usage: Mapping[str, float]) -> None:
    _require(math.isfinite(time), f"{owner}: time is not a finite number")
    for name, amount in usage.items():
        _require(
            math.isfinite(amount) and 0 <= amount <= MAX_QUANTITY,
            f"{owner}: {name} is {amount}; it must be a number between 0 and {MAX_QUANTITY}",
        )


MOST_KINDS = 1000
"""Kinds of records per cluster. Models read a handful."""


class QuotaExceededError(InvalidEventError):
    """Events that would make the cluster larger than it may be; nothing of them has been applied."""


def check_quota(cluster: Cluster, events: Sequence[Event], quota: Quota) -> None:
    """Raise ``QuotaExceededError`` if there would be too much of something after all of ``events``.

    What they remove does not count: room that is made in one batch can be used from the next one on.
    """
    kinds = Counter(map(type, events))
    if kinds[MachineUpserted]:
        machines = (event.machine.name for event in events if isinstance(event, MachineUpserted))
        _check("machines", quota.machines, cluster.machines.row_of, kinds[MachineUpserted], machines)
    if kinds[ClassDefined]:
        numbers = (event.id for event in events if isinstance(event, ClassDefined))
        _check("classes", quota.classes, cluster.classes.numbers, kinds[ClassDefined], numbers)
    if kinds[JobDefined]:
        jobs = (event.job.id for event in events if isinstance(event, JobDefined))
        _check("jobs", quota.tasks, cluster.jobs.ids, kinds[JobDefined], jobs)
    if kinds[TasksSubmitted] or kinds[TasksBound]:
        named = [event.uids for event in events if isinstance(event, (TasksSubmitted, TasksBound))]
        tasks = (uid for uids in named for uid in uids)
        _check("tasks", quota.tasks, cluster.tasks.row_of, sum(map(len, named)), tasks)
    if kinds[RecordUpserted]:
        records = {(event.kind, event.name) for event in events if isinstance(event, RecordUpserted)}
        _check("records", quota.records, cluster.records, len(records), records)
        record_kinds = {kind for kind, _ in records}
        _check("kinds of records", MOST_KINDS, cluster.records.payloads, len(record_kinds), record_kinds)


def _check(what: str, most: int, known: Collection[T], count: int, named: Iterable[T]) -> None:
    """``named`` are at most ``count`` different ones; they are gone through only where that might be too many."""
    if len(known) + count <= most:
        return
    new = sum(each not in known for each in set(named))
    if len(known) + new > most:
        raise QuotaExceededError(
            f"{what}: {len(known)} are there, and {new} more would exceed {most} per cluster; remove some, or raise "
            "the section limits of the solver's configuration"
        )
