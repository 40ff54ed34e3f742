"""Decodes what a driver sends: events and binding reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

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
from firmament.core.model import MAX_QUANTITY, NO_ANNOTATIONS, Image, Job, Machine, Taint
from firmament.wire.checks import (
    moment,
    parallel,
    quantities,
    refuse,
    required,
    task_uids,
    usage,
)
from firmament.wire.classes import check_effect, class_from_proto
from firmament.wire.storage import storage_rooms

if TYPE_CHECKING:
    from protos.firmament.v1 import scheduler_pb2 as pb


def events_from_proto(messages: Iterable[pb.Event]) -> list[Event]:
    """Decode a batch. Raises ``InvalidEventError`` that names the event's place, its object and the field."""
    events: list[Event] = []
    for index, message in enumerate(messages):
        try:
            events.extend(event_from_proto(message))
        except InvalidEventError as error:
            raise InvalidEventError(f"event {index}: {error}") from error
    return events


def event_from_proto(message: pb.Event) -> tuple[Event, ...]:
    """Decode one event; one message may stand for several. Raises ``InvalidEventError``."""
    body = message.WhichOneof("body")
    if body is None:
        raise InvalidEventError(
            "Event: body: is missing or unknown to this version; send one of the known events"
        )
    decoded = _DECODERS[body](getattr(message, body))
    return decoded if isinstance(decoded, tuple) else (decoded,)


def reports_from_proto(message: pb.BindingReports) -> list[BindingReport]:
    """Decode binding reports. Raises ``InvalidEventError``."""
    reports = []
    for index, each in enumerate(message.reports):
        subject = f"report {index}: BindingReport"
        uid = required(subject, "task", each.task)
        machine = required(f"{subject} {uid}", "machine", each.machine)
        reports.append(BindingReport(uid, machine, each.bound, each.reason, each.retry))
    return reports


def _machine(message: pb.Machine) -> Event:
    subject = f"Machine {required('Machine', 'name', message.name)}"
    return MachineUpserted(
        Machine(
            name=message.name,
            allocatable=quantities(subject, "allocatable", message.allocatable),
            labels=dict(message.labels),
            taints=tuple(_taint(subject, f"taints[{i}]", taint) for i, taint in enumerate(message.taints)),
            unschedulable=message.unschedulable,
            not_ready=message.not_ready,
            annotations=dict(message.annotations) if message.annotations else NO_ANNOTATIONS,
            images=tuple(_image(subject, i, image) for i, image in enumerate(message.images)),
            total=quantities(subject, "total", message.total),
            attached=tuple(message.attached),
            storage=storage_rooms(subject, message.storage) if message.storage else (),
        )
    )


def _image(subject: str, index: int, message: pb.Image) -> Image:
    if not 0 <= message.size <= MAX_QUANTITY:
        fault = "is negative" if message.size < 0 else "is absurdly large"
        raise refuse(subject, f"images[{index}].size", f"{message.size} {fault}; send bytes")
    return Image(tuple(message.names), message.size)


def _taint(subject: str, field: str, message: pb.Taint) -> Taint:
    if not message.key:
        raise refuse(subject, f"{field}.key", "is empty; it is required")
    return Taint(message.key, message.value, check_effect(subject, field, message.effect))


def _machine_removed(name: str) -> Event:
    return MachineRemoved(required("MachineRemoved", "name", name))


def _job(message: pb.Job) -> Event:
    job_id = required("Job", "id", message.id)
    return JobDefined(
        Job(
            id=job_id,
            name=message.name,
            size=message.size,
            min_members=message.min_members,
            namespace=message.namespace,
            gang_seconds=moment(f"Job {job_id}", "gang_seconds", message.gang_seconds),
            was_whole=message.was_whole,
            disrupted_whole=message.disrupted_whole,
        )
    )


def _job_removed(job_id: str) -> Event:
    return JobRemoved(required("JobRemoved", "id", job_id))


def _task_class(message: pb.TaskClass) -> Event:
    return ClassDefined(*class_from_proto(message))


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


def _tasks_updated(message: pb.TasksUpdated) -> tuple[Event, ...]:
    return tuple(_tasks(batch) for batch in message.batches)


def _bound(message: pb.BoundTasks) -> Event:
    uids, names = _members("BoundTasks", message)
    subject = f"BoundTasks of {uids[0]}"
    return TasksBound(
        machine=required(subject, "machine", message.machine),
        task_class=message.task_class,
        uids=uids,
        names=names,
        priority=message.priority,
        job=message.job,
        assigned=_moments(subject, "assigned", message.assigned, len(uids)),
        initialized=_moments(subject, "initialized", message.initialized, len(uids)),
        group_priority=_group_priority(message),
        spread_group=message.spread_group,
        assumed=message.assumed,
    )


def _group_priority(message: pb.TaskBatch | pb.BoundTasks) -> int | None:
    return message.group_priority if message.HasField("group_priority") else None


def _moments(subject: str, field: str, values: Iterable[float], count: int) -> tuple[float, ...]:
    """Return checked times, parallel to uids or empty."""
    times = tuple(values)
    if not times:
        return times
    parallel(subject, field, times, count)
    for index, value in enumerate(times):
        moment(subject, f"{field}[{index}]", value)
    return times


def _members(kind: str, message: pb.TaskBatch | pb.BoundTasks) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return checked uids and names, and check that a class is named."""
    uids, names = task_uids(kind, message.uids), tuple(message.names)
    subject = f"{kind} of {uids[0]}"
    parallel(subject, "names", names, len(uids))
    if not message.task_class:
        raise refuse(subject, "task_class", "is 0; name the class that describes these tasks")
    return uids, names


def _task_removed(uid: str) -> Event:
    return TaskRemoved(required("TaskRemoved", "uid", uid))


def _machine_sample(message: pb.MachineSample) -> Event:
    subject = f"MachineSample {required('MachineSample', 'machine', message.machine)}"
    return MachineSampled(
        machine=message.machine,
        time=moment(subject, "time", message.time),
        usage=usage(subject, "usage", message.usage),
        interval=moment(subject, "report_interval", message.report_interval),
        no_usage=message.no_usage,
        windows=tuple(_window(subject, i, each) for i, each in enumerate(message.windows)),
        own_windows=message.own_windows,
        system=usage(subject, "system", message.system),
        tasks=_task_uses(subject, message.tasks) if message.HasField("tasks") else None,
    )


def _window(subject: str, index: int, message: pb.WindowUsage) -> WindowUse:
    field = f"windows[{index}]"
    return WindowUse(
        type=required(subject, f"{field}.type", message.type),
        seconds=moment(subject, f"{field}.seconds", message.seconds),
        usage=usage(subject, f"{field}.usage", message.usage),
    )


def _task_uses(subject: str, message: pb.TaskUsages) -> TaskUses:
    uids, resources, amounts = tuple(message.tasks), tuple(message.resources), tuple(message.amounts)
    if len(amounts) != len(uids) * len(resources):
        expected = f"{len(uids)} tasks x {len(resources)} resources"
        raise refuse(subject, "tasks.amounts", f"has {len(amounts)} entries; send one for each of {expected}")
    if "" in resources or len(set(resources)) != len(resources):
        raise refuse(subject, "tasks.resources", "has an empty name or one twice; name each resource once")
    if len(set(uids)) != len(uids):
        raise refuse(subject, "tasks.tasks", "has a uid twice; send each task once")
    parallel(subject, "tasks.prod", message.prod, len(uids))
    if not all(0 <= amount <= MAX_QUANTITY for amount in amounts):  # also false for NaN
        raise refuse(subject, "tasks.amounts", f"has an entry that is no amount; send 0 to {MAX_QUANTITY}")
    return TaskUses(uids, resources, amounts, tuple(message.prod))


def _machine_sample_removed(name: str) -> Event:
    return MachineSampleRemoved(required("MachineSampleRemoved", "machine", name))


def _task_sample(message: pb.TaskSample) -> Event:
    subject = f"TaskSample {required('TaskSample', 'task', message.task)}"
    return TaskSampled(
        message.task, moment(subject, "time", message.time), usage(subject, "usage", message.usage)
    )


def _record(message: pb.Record) -> Event:
    return RecordUpserted(*_record_key("Record", message.key), message.payload)


def _record_removed(message: pb.RecordKey) -> Event:
    return RecordRemoved(*_record_key("RecordRemoved", message))


def _record_key(subject: str, key: pb.RecordKey) -> tuple[str, str]:
    return required(subject, "kind", key.kind), required(f"{subject} {key.kind}", "name", key.name)


_DECODERS: Mapping[str, Callable[[Any], Event | tuple[Event, ...]]] = MappingProxyType(
    {
        "machine": _machine,
        "machine_removed": _machine_removed,
        "job": _job,
        "job_removed": _job_removed,
        "task_class": _task_class,
        "class_removed": _class_removed,
        "tasks": _tasks,
        "task_removed": _task_removed,
        "bound": _bound,
        "machine_sample": _machine_sample,
        "machine_sample_removed": _machine_sample_removed,
        "task_sample": _task_sample,
        "record": _record,
        "record_removed": _record_removed,
        "tasks_updated": _tasks_updated,
    }
)
