"""Batches of events and reports, as a driver sends them, with something hostile in every field of the protocol.

Fields come from the protocol's descriptors, so that one that is added later is drawn here as well. What is sane is
said by name; a batch is mostly sane, wild in a few places, or wild all over, and some are broken as bytes afterwards.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from protos.firmament.v1 import scheduler_pb2 as pb
from tests.programs.hostile import device_specs, values
from tests.programs.hostile.known import Known
from tests.programs.hostile.payloads import CLAIMS, JOBS, KINDS, MACHINES, PROGRAMS, payload, record_name
from tests.programs.hostile.words import (
    AMOUNTS,
    ANNOTATION_KEYS,
    BODIES,
    BOUNDS,
    DOUBLES,
    GIB,
    LABEL_KEYS,
    LABEL_VALUES,
    NEEDED,
    NUMBERS,
    RESOURCES,
    WEIGHTS,
    WORDS,
)


class Forger:
    """Draws batches; ``random`` decides. ``known``: what the solver has taken, which batches refer to."""

    def __init__(self, random: Random, known: Known) -> None:
        self._random = random
        self._known = known
        self._serial = 0
        self._wild = 0.0
        self._new: list[int] = []

    def batch(self) -> pb.EventBatch:
        """Draw a batch of up to a dozen events; a report about a placement comes with some."""
        random = self._random
        self._wild = random.choice((0.0, 0.0, 0.003, 0.003, 0.01, 0.05, 0.3))
        self._new = []
        batch = pb.EventBatch()
        weights = [WEIGHTS.get(name, 1) for name in BODIES]
        for body in random.choices(BODIES, weights, k=random.choice((1, 2, 4, 12))):
            self._event(batch.events.add(), body)
        if random.random() < 0.1:
            self._fill(batch.reports.add())
        return batch

    def reports(self, placed: list[tuple[str, str]]) -> pb.BindingReports:
        """Draw reports about placements, of which some are not there."""
        self._wild = self._random.choice((0.0, 0.05, 0.3))
        reports = pb.BindingReports()
        for uid, machine in (*placed, (f"m-{self._random.randint(0, self._serial)}", "h-0")):
            report = reports.reports.add()
            self._fill(report)
            if not self._is_wild():
                report.task, report.machine = uid, machine
        return reports

    # --- events ----------------------------------------------------------------------------------------------------

    def _event(self, event: pb.Event, body: str) -> None:
        random = self._random
        field = pb.Event.DESCRIPTOR.fields_by_name[body]
        if field.cpp_type != FieldDescriptor.CPPTYPE_MESSAGE:
            setattr(event, body, self._scalar(field, body))
            return
        message = getattr(event, body)
        message.SetInParent()
        self._fill(message)
        if body == "record_removed" and self._known.records and not self._is_wild():
            message.kind, message.name = random.choice(sorted(self._known.records))
        elif body == "task_class" and not self._is_wild():
            message.id = self._next()
            self._new.append(message.id)

    def _fill(self, message: Any, depth: int = 0) -> None:
        """Draw the fields of a message, then make it hang together as far as it is not to be wild."""
        descriptor = message.DESCRIPTOR
        likely = 0.25 if descriptor.name in ("TaskClass", "Machine") else 0.8
        for field in descriptor.fields:
            if self._random.random() < likely or (field.name in NEEDED and not self._is_wild()):
                self._field(message, field, depth)
        if not self._is_wild():
            mend = getattr(self, f"_mend_{descriptor.name}", None)
            if mend is not None:
                mend(message)

    def _field(self, message: Any, field: FieldDescriptor, depth: int) -> None:
        nested = field.message_type
        if nested is not None and nested.GetOptions().map_entry:
            keys = ANNOTATION_KEYS if field.name == "annotations" else LABEL_KEYS
            for key in self._random.sample(keys, self._random.randint(0, 3)):
                getattr(message, field.name)[self._odd(key)] = self._mapped(field.name)
        elif field.is_repeated:
            found = getattr(message, field.name)
            for _ in range(self._random.choice((0, 1, 1, 2, 3)) if depth > 1 or not self._is_wild() else 40):
                if nested is not None:
                    self._fill(found.add(), depth + 1)
                else:
                    found.append(self._scalar(field, field.name))
        elif nested is not None:
            inner = getattr(message, field.name)
            inner.SetInParent()
            self._fill(inner, depth + 1)
        else:
            setattr(message, field.name, self._scalar(field, field.name))

    # --- what hangs together ---------------------------------------------------------------------------------------

    def _mend_Machine(self, message: pb.Machine) -> None:  # noqa: N802 - the message's name
        message.name = self._random.choice(MACHINES)
        message.unschedulable = message.not_ready = self._random.random() < 0.1
        if self._random.random() < 0.8:
            del message.taints[:]
        for taint in message.taints:
            taint.key, taint.effect = taint.key or "t", taint.effect or "NoSchedule"
        self._distinct(message.allocatable)
        self._distinct(message.total)
        offered = {each.resource for each in message.allocatable}
        for resource, amount in (("cpu", 8_000), ("memory", 32 * GIB), ("pods", 110)):
            if resource not in offered:
                message.allocatable.add(resource=resource, amount=amount)

    def _mend_TaskClass(self, message: pb.TaskClass) -> None:  # noqa: N802
        for name in ("requests", "overhead", "limits", "assumed"):
            self._distinct(getattr(message, name))
        if self._random.random() < 0.7:
            for name in (
                "node_selector",
                "required",
                "volumes",
                "machine",
                "affinity",
                "invalid",
                "attachments",
                "claims",
            ):
                message.ClearField(name)  # type: ignore[arg-type]  # names of fields

    def _mend_Container(self, message: pb.Container) -> None:  # noqa: N802
        self._distinct(message.requests)
        self._distinct(message.limits)

    def _mend_Requirement(self, message: pb.Requirement) -> None:  # noqa: N802
        message.key = self._random.choice(LABEL_KEYS)
        message.operator = self._random.choice(("In", "NotIn", "Exists", "DoesNotExist"))
        if message.operator in ("Exists", "DoesNotExist"):
            del message.values[:]
        elif not message.values:
            message.values.append("a")

    def _mend_NodeSelectorTerm(self, message: pb.NodeSelectorTerm) -> None:  # noqa: N802
        for requirement in message.labels:
            if self._random.random() < 0.2:
                requirement.operator = self._random.choice(("Gt", "Lt"))
                requirement.values[:] = [self._odd("5")]
        for requirement in message.fields:
            requirement.key, requirement.operator = "metadata.name", "In"
            requirement.values[:] = [self._random.choice((*MACHINES, "good-1"))]

    def _mend_Toleration(self, message: pb.Toleration) -> None:  # noqa: N802
        message.key, message.operator = message.key or "t", self._random.choice(("Equal", "Exists", ""))

    def _mend_SpreadRule(self, message: pb.SpreadRule) -> None:  # noqa: N802
        message.min_domains = self._random.choice((0, 2)) if message.required else 0

    def _mend_TaskBatch(self, message: pb.TaskBatch) -> None:  # noqa: N802
        self._mend_tasks(message)
        message.created[:] = [1.7e9] * len(message.uids) if message.created else []

    def _mend_BoundTasks(self, message: pb.BoundTasks) -> None:  # noqa: N802
        self._mend_tasks(message)
        message.machine = self._random.choice(MACHINES)
        message.assigned[:] = [1.7e9] * len(message.uids) if message.assigned else []
        message.initialized[:] = [1.7e9] * len(message.uids) if message.initialized else []

    def _mend_tasks(self, message: pb.TaskBatch | pb.BoundTasks) -> None:
        classes = [*sorted(self._known.classes), *self._new * 5]
        message.task_class = self._random.choice(classes) if classes else 1
        message.uids[:] = dict.fromkeys(message.uids) or [f"m-{self._next()}"]
        message.names[:] = [f"mallory/{uid}"[:99] for uid in message.uids] if message.names else []

    def _mend_MachineSample(self, message: pb.MachineSample) -> None:  # noqa: N802
        message.machine = self._random.choice(MACHINES)
        self._distinct(message.usage)
        self._distinct(message.system)

    def _mend_WindowUsage(self, message: pb.WindowUsage) -> None:  # noqa: N802
        self._distinct(message.usage)

    def _mend_TaskSample(self, message: pb.TaskSample) -> None:  # noqa: N802
        message.task = self._uid()
        self._distinct(message.usage)

    def _mend_TaskUsages(self, message: pb.TaskUsages) -> None:  # noqa: N802
        message.tasks[:] = dict.fromkeys(message.tasks)
        message.resources[:] = dict.fromkeys(message.resources)
        cells = len(message.tasks) * len(message.resources)
        message.amounts[:] = [self._random.choice((0.0, 50.5, 1e9)) for _ in range(cells)]
        message.prod[:] = [True] * len(message.tasks) if message.prod else []

    def _mend_Record(self, message: pb.Record) -> None:  # noqa: N802
        kind = self._random.choice(KINDS)
        name = self._uid() if kind == "NominatedTask" else record_name(self._random, kind)
        message.key.kind, message.key.name = kind, self._odd(name)
        message.payload = payload(self._random, kind, self._random.choice((0.0, self._wild, 0.3)))

    def _mend_TaskClaim(self, message: pb.TaskClaim) -> None:  # noqa: N802
        message.claim = self._random.choice((*CLAIMS, ""))
        message.spec = ""
        if not message.claim:
            message.spec = _sound(
                json.dumps(device_specs.draw_claim(self._random, self._random.choice((0, 0.4))))
            )

    def _mend_Attachment(self, message: pb.Attachment) -> None:  # noqa: N802
        message.resource, message.volume = "v", "vol-0"

    def _distinct(self, amounts: Any) -> None:
        """Let every resource be named once, and be of its usual amount."""
        found = dict.fromkeys(each.resource for each in amounts)
        del amounts[:]
        for resource in found:
            usual = self._random.choice(AMOUNTS.get(resource, (0, 1, 5)))
            extreme = self._random.choice((2**53, 2**53 - 1, 2**52))
            amounts.add(resource=resource, amount=extreme if self._is_wild() else usual)

    # --- scalars ---------------------------------------------------------------------------------------------------

    def _next(self) -> int:
        self._serial += 1
        return self._serial

    def _uid(self) -> str:
        known = [*self._known.tasks]
        return self._random.choice(known) if known and self._random.random() < 0.3 else f"m-{self._next()}"

    def _is_wild(self) -> bool:
        return self._random.random() < self._wild

    def _odd(self, sane: str) -> str:
        return text(self._random) if self._is_wild() else sane

    def _mapped(self, name: str) -> str:
        random = self._random
        if name == "annotations":
            told = (*PROGRAMS, "100M", '[{"bytes": 100, "machine": "h-0"}]', '{"cpu": 80}', "true", "30")
            return _sound(values.json_text(random)) if self._is_wild() else random.choice(told)
        return text(random) if self._is_wild() else random.choice((*LABEL_VALUES, *MACHINES))

    def _scalar(self, field: FieldDescriptor, name: str) -> Any:
        random, wild = self._random, self._is_wild()
        if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
            return random.random() < 0.3
        if field.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE:
            return random.choice(DOUBLES if wild else NUMBERS.get(name, (0.0, 50.5, 1e9)))
        if field.type == FieldDescriptor.TYPE_BYTES:
            return random.randbytes(random.choice((0, 5, 100)))
        if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
            return text(random) if wild else self._word(name)
        return self._whole(name, BOUNDS[field.cpp_type], wild=wild)

    def _whole(self, name: str, bounds: tuple[int, int], *, wild: bool) -> int:
        random, (least, most) = self._random, bounds
        if wild:
            drawn = random.choice((least, least + 1, most, most - 1, *values.NUMBERS))
            return max(least, min(most, int(drawn)))
        if name == "class_removed":
            return random.choice([*sorted(self._known.classes), 1])
        return int(random.choice(NUMBERS.get(name, (0, 1, 5))))

    def _word(self, name: str) -> str:
        random = self._random
        if name in ("uids", "tasks", "task", "task_removed"):
            return random.choice((self._uid(), self._uid(), "decent-0")) if name == "tasks" else self._uid()
        if name.startswith("machine_"):
            return random.choice(MACHINES)
        if name in ("job", "job_removed", "id"):
            return random.choice((*JOBS, "") if name == "job" else JOBS)
        if name in ("resource", "resources"):
            return random.choice(RESOURCES)
        return random.choice(WORDS.get(name, LABEL_VALUES))


def text(random: Random) -> str:
    """Draw a text that can travel: most are short, one in a thousand is longer than any name."""
    if random.random() < 0.002:
        return "y" * random.choice((1_025, 100_000, 2_000_000))
    return _sound(values.text(random))


def _sound(drawn: str) -> str:
    return drawn.encode("utf-8", "replace").decode()
