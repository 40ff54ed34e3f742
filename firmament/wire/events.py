"""Decodes the events and binding reports that a driver sends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cost_models.group_terms import Affinity, LevelRule
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    ClassRemoved,
    Event,
    InvalidEventError,
    JobDefined,
    JobRemoved,
    MachineRemoved,
    MachineSampled,
    MachineSampleRemoved,
    MachineUpserted,
    RecordRemoved,
    RecordUpserted,
    TaskRemoved,
    TaskSampled,
    TasksBound,
    TasksSubmitted,
    TaskUses,
    WindowUse,
)
from firmament.core.model import MAX_QUANTITY, NO_ANNOTATIONS, Image, Job, JobGroup, Machine, Taint
from firmament.wire.checks import (
    check_amount,
    check_length,
    check_required,
    check_sorted_quantities,
    check_time,
    decode_each,
    decode_quantities,
    refuse,
    task_uids,
)
from firmament.wire.class_rules import check_effect, storage_rooms
from firmament.wire.classes import class_from_proto

if TYPE_CHECKING:
    from protos.firmament.v1 import scheduler_pb2 as pb


def events_from_proto(messages: Iterable[pb.Event]) -> list[Event]:
    """Decode a batch of events.

    Raise ``InvalidEventError``, which names the event's index, its object and the field, if an event is invalid.
    """
    events: list[Event] = []
    for index, message in enumerate(messages):
        try:
            events.extend(event_from_proto(message))
        except InvalidEventError as error:
            raise InvalidEventError(f"event {index}: {error}") from error
    return events


def event_from_proto(message: pb.Event) -> tuple[Event, ...]:
    """Decode one message, which may stand for several events. Raise ``InvalidEventError`` if the message is invalid."""
    body = message.WhichOneof("body")
    if body is None:
        raise InvalidEventError(
            "Event: body: is missing or unknown to this version; send one of the known events"
        )
    decoded = _DECODERS[body](getattr(message, body))
    return decoded if isinstance(decoded, tuple) else (decoded,)


def reports_from_proto(message: pb.BindingReports | pb.EventBatch) -> list[BindingReport]:
    """Decode binding reports. Raise ``InvalidEventError`` if a report is invalid."""
    reports = []
    for index, report in enumerate(message.reports):
        subject = f"report {index}: BindingReport"
        uid = check_required(subject, "task", report.task)
        machine = check_required(f"{subject} {uid}", "machine", report.machine)
        reports.append(BindingReport(uid, machine, report.bound, report.reason, report.retry))
    return reports


def _machine(message: pb.Machine) -> Event:
    subject = f"Machine {check_required('Machine', 'name', message.name)}"
    return MachineUpserted(
        Machine(
            name=message.name,
            allocatable=decode_quantities(subject, "allocatable", message.allocatable),
            labels=dict(message.labels),
            taints=decode_each(_taint)(subject, "taints", message.taints),
            unschedulable=message.unschedulable,
            not_ready=message.not_ready,
            annotations=dict(message.annotations) if message.annotations else NO_ANNOTATIONS,
            images=decode_each(_image)(subject, "images", message.images),
            total=decode_quantities(subject, "total", message.total),
            attached=tuple(message.attached),
            storage=storage_rooms(subject, "storage", message.storage) if message.storage else (),
        )
    )


def _image(subject: str, field: str, message: pb.Image) -> Image:
    return Image(tuple(message.names), check_amount(subject, f"{field}.size", message.size, "send bytes"))


def _taint(subject: str, field: str, message: pb.Taint) -> Taint:
    if not message.key:
        raise refuse(subject, f"{field}.key", "is empty; it is required")
    return Taint(message.key, message.value, check_effect(subject, field, message.effect))


def _job(message: pb.Job) -> Event:
    job_id = check_required("Job", "id", message.id)
    return JobDefined(
        Job(
            id=job_id,
            name=message.name,
            size=message.size,
            min_members=message.min_members,
            namespace=message.namespace,
            gang_seconds=check_time(f"Job {job_id}", "gang_seconds", message.gang_seconds),
            was_whole=message.was_whole,
            disrupted_whole=message.disrupted_whole,
            least_room=check_sorted_quantities(f"Job {job_id}", "least_room", message.least_room)
            if message.least_room
            else (),
            groups=_job_groups(f"Job {job_id}", message.groups) if message.groups else (),
        )
    )


def _job_groups(subject: str, messages: Iterable[pb.JobGroup]) -> tuple[JobGroup, ...]:
    """Return the groups of a job's tree; refuse repeated names, and groups that come before their parents."""
    groups: dict[str, JobGroup] = {}
    for index, message in enumerate(messages):
        field = f"groups[{index}]"
        name = check_required(subject, f"{field}.name", message.name)
        if name in groups:
            raise refuse(subject, f"{field}.name", f"is {name} as another one's; give each group a name")
        if message.parent and message.parent not in groups:
            raise refuse(subject, f"{field}.parent", f"is {message.parent}, which does not come before it")
        if "" in message.within or "" in message.rather_within:
            raise refuse(subject, field, "has an empty label; name labels of machines")
        groups[name] = JobGroup(
            name=name,
            parent=message.parent,
            least=message.least,
            within=tuple(message.within),
            rather_within=tuple(message.rather_within),
            apart=message.apart,
            disrupted_whole=message.disrupted_whole,
            expected=message.expected,
            expected_alike=message.expected_alike,
            divided=tuple(_level_rule(subject, f"{field}.divided", each) for each in message.divided),
        )
    return tuple(groups.values())


def _level_rule(subject: str, field: str, message: pb.LevelRule) -> tuple[str, LevelRule]:
    """Return a label and the rule about its values; refuse a rule with fields that exclude each other."""
    label = check_required(subject, f"{field}.label", message.label)
    if message.hard and (message.partitions or message.least or message.most or message.factor):
        raise refuse(subject, field, "is hard and has numbers; send either")
    if message.most and message.least > message.most:
        raise refuse(
            subject, f"{field}.least", f"is {message.least}, more than most, {message.most}; lower it"
        )
    kind: Affinity = "spread" if message.spread else "pack"
    return label, LevelRule(
        kind, message.hard, message.partitions, message.least, message.most, max(message.factor, 1)
    )


def _class_removed(number: int) -> Event:
    if not number:
        raise refuse("ClassRemoved", "id", "is 0; send the number of a class")
    return ClassRemoved(number)


def _tasks(message: pb.TaskBatch) -> Event:
    uids, names = _members("TaskBatch", message)
    created = _moments(f"TaskBatch of {uids[0]}", "created", message.created, len(uids))
    return TasksSubmitted(
        task_class=message.task_class,
        uids=uids,
        job=message.job,
        priority=message.priority,
        names=names,
        created=created,
        group_priority=_group_priority(message),
        spread_group=message.spread_group,
    )


def _decode_bound(message: pb.BoundTasks) -> Event:
    uids, names = _members("BoundTasks", message)
    subject = f"BoundTasks of {uids[0]}"
    return TasksBound(
        machine=check_required(subject, "machine", message.machine),
        task_class=message.task_class,
        uids=uids,
        names=names,
        priority=message.priority,
        job=message.job,
        assigned=_moments(subject, "assigned", message.assigned, len(uids)),
        initialized=_moments(subject, "initialized", message.initialized, len(uids)),
        created=_moments(subject, "created", message.created, len(uids)),
        group_priority=_group_priority(message),
        spread_group=message.spread_group,
        assumed=message.assumed,
    )


def _group_priority(message: pb.TaskBatch | pb.BoundTasks) -> int | None:
    return message.group_priority if message.HasField("group_priority") else None


def _moments(subject: str, field: str, values: Iterable[float], count: int) -> tuple[float, ...]:
    """Return times, parallel to uids; () if none are stated."""
    times = tuple(values)
    if not times:
        return times
    check_length(subject, field, times, count)
    for index, value in enumerate(times):
        check_time(subject, f"{field}[{index}]", value)
    return times


def _members(kind: str, message: pb.TaskBatch | pb.BoundTasks) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return uids and names of a batch of tasks; refuse a batch without class."""
    uids, names = task_uids(kind, message.uids), tuple(message.names)
    subject = f"{kind} of {uids[0]}"
    check_length(subject, "names", names, len(uids))
    if not message.task_class:
        raise refuse(subject, "task_class", "is 0; name the class that describes these tasks")
    return uids, names


def _machine_sample(message: pb.MachineSample) -> Event:
    subject = f"MachineSample {check_required('MachineSample', 'machine', message.machine)}"
    return MachineSampled(
        machine=message.machine,
        time=check_time(subject, "time", message.time),
        usage=decode_quantities(subject, "usage", message.usage),
        interval=check_time(subject, "report_interval", message.report_interval),
        no_usage=message.no_usage,
        windows=decode_each(_read_window)(subject, "windows", message.windows),
        own_windows=message.own_windows,
        system=decode_quantities(subject, "system", message.system),
        tasks=_read_task_uses(subject, message.tasks) if message.HasField("tasks") else None,
    )


def _read_window(subject: str, field: str, message: pb.WindowUsage) -> WindowUse:
    return WindowUse(
        type=check_required(subject, f"{field}.type", message.type),
        seconds=check_time(subject, f"{field}.seconds", message.seconds),
        usage=decode_quantities(subject, f"{field}.usage", message.usage),
    )


def _read_task_uses(subject: str, message: pb.TaskUsages) -> TaskUses:
    uids, resources, amounts = tuple(message.tasks), tuple(message.resources), tuple(message.amounts)
    if len(amounts) != len(uids) * len(resources):
        expected = f"{len(uids)} tasks x {len(resources)} resources"
        raise refuse(subject, "tasks.amounts", f"has {len(amounts)} entries; send one for each of {expected}")
    if "" in resources or len(set(resources)) != len(resources):
        raise refuse(subject, "tasks.resources", "has an empty name or one twice; name each resource once")
    if len(set(uids)) != len(uids):
        raise refuse(subject, "tasks.tasks", "has a uid twice; send each task once")
    check_length(subject, "tasks.prod", message.prod, len(uids))
    # The condition is also false for NaN, so NaN is refused.
    if not all(0 <= amount <= MAX_QUANTITY for amount in amounts):
        raise refuse(subject, "tasks.amounts", f"has an entry that is no amount; send 0 to {MAX_QUANTITY}")
    return TaskUses(uids, resources, amounts, tuple(message.prod))


def _task_sample(message: pb.TaskSample) -> Event:
    subject = f"TaskSample {check_required('TaskSample', 'task', message.task)}"
    return TaskSampled(
        message.task,
        check_time(subject, "time", message.time),
        decode_quantities(subject, "usage", message.usage),
    )


def _record_key(subject: str, key: pb.RecordKey) -> tuple[str, str]:
    return check_required(subject, "kind", key.kind), check_required(
        f"{subject} {key.kind}", "name", key.name
    )


def _make_removal_decoder(kind: type[Any], field: str) -> Callable[[str], Event]:
    """Return a decoder of removals of this kind; each message has the removed object's name in the given field."""
    return lambda name: kind(check_required(kind.__name__, field, name))


_DECODERS: Mapping[str, Callable[[Any], Event | tuple[Event, ...]]] = {
    "machine": _machine,
    "machine_removed": _make_removal_decoder(MachineRemoved, "name"),
    "job": _job,
    "job_removed": _make_removal_decoder(JobRemoved, "id"),
    "task_class": lambda message: ClassDefined(*class_from_proto(message)),
    "class_removed": _class_removed,
    "tasks": _tasks,
    "task_removed": _make_removal_decoder(TaskRemoved, "uid"),
    "bound": _decode_bound,
    "machine_sample": _machine_sample,
    "machine_sample_removed": _make_removal_decoder(MachineSampleRemoved, "machine"),
    "task_sample": _task_sample,
    "record": lambda message: RecordUpserted(*_record_key("Record", message.key), message.payload),
    "record_removed": lambda key: RecordRemoved(*_record_key("RecordRemoved", key)),
    "tasks_updated": lambda message: tuple(map(_tasks, message.batches)),
}
