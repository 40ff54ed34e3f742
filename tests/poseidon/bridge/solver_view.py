"""What a solver makes of the bridge's messages, by the letter of the protocol's comments."""

from __future__ import annotations

from dataclasses import dataclass, field

from firmament.wire.events import events_from_proto
from protos.firmament.v1 import scheduler_pb2 as pb

PENDING, ASSUMED, BOUND = "PENDING", "ASSUMED", "BOUND"


@dataclass
class ViewedTask:
    state: str
    machine: str
    task_class: bytes
    job: str
    priority: int
    group_priority: int | None = None


@dataclass
class SolverView:
    """Applies events strictly: references to things that were not described before are errors."""

    machines: dict[str, pb.Machine] = field(default_factory=dict)
    classes: dict[int, bytes] = field(default_factory=dict)
    jobs: dict[str, pb.Job] = field(default_factory=dict)
    tasks: dict[str, ViewedTask] = field(default_factory=dict)
    records: dict[tuple[str, str], bytes] = field(default_factory=dict)
    samples: dict[str, pb.MachineSample] = field(default_factory=dict)

    def apply(self, events):
        events_from_proto(events)  # as strict as the real server
        for event in events:
            kind = event.WhichOneof("body")
            getattr(self, f"_on_{kind}")(getattr(event, kind))

    def place(self, uid, machine):
        task = self.tasks[uid]
        assert task.state == PENDING
        assert machine in self.machines
        task.state, task.machine = ASSUMED, machine

    def report(self, reports):
        for report in reports:
            task = self.tasks.get(report.task)
            if task is None or task.state != ASSUMED or task.machine != report.machine:
                continue
            if report.bound:
                task.state = BOUND
            else:
                task.state, task.machine = PENDING, ""

    def _on_machine(self, machine):
        self.machines[machine.name] = machine

    def _on_machine_removed(self, name):
        assert name in self.machines, f"{name} was never described"
        del self.machines[name]
        self.samples.pop(name, None)  # its tasks are kept aside: they count again should it return

    def _on_machine_sample(self, sample):
        assert sample.machine in self.machines, f"a sample of {sample.machine}, which was never described"
        for uid in sample.tasks.tasks:
            task = self.tasks.get(uid)
            assert task is None or task.machine in ("", sample.machine)
        self.samples[sample.machine] = sample

    def _on_machine_sample_removed(self, name):
        del self.samples[name]

    def _on_record(self, record):
        self.records[record.key.kind, record.key.name] = record.payload

    def _on_record_removed(self, key):
        del self.records[key.kind, key.name]

    def _on_job(self, job):
        self.jobs[job.id] = job

    def _on_job_removed(self, job_id):
        del self.jobs[job_id]

    def _on_task_class(self, task_class):
        content = pb.TaskClass()
        content.CopyFrom(task_class)
        content.id = 0
        encoded = content.SerializeToString(deterministic=True)
        assert self.classes.setdefault(task_class.id, encoded) == encoded

    def _on_class_removed(self, number):
        assert number in self.classes, "class was not described on this stream"
        del self.classes[number]

    def _on_tasks(self, batch):
        self._check(batch)
        for uid in batch.uids:
            known = self.tasks.get(uid)
            state, machine = (known.state, known.machine) if known is not None else (PENDING, "")
            self.tasks[uid] = ViewedTask(
                state,
                machine,
                self.classes[batch.task_class],
                batch.job,
                batch.priority,
                batch.group_priority if batch.HasField("group_priority") else None,
            )

    def _on_bound(self, batch):
        self._check(batch)
        assert batch.machine in self.machines, f"tasks bound to unknown machine {batch.machine}"
        for uid in batch.uids:
            self.tasks[uid] = ViewedTask(
                ASSUMED if batch.assumed else BOUND,
                batch.machine,
                self.classes[batch.task_class],
                batch.job,
                batch.priority,
                batch.group_priority if batch.HasField("group_priority") else None,
            )

    def _on_task_removed(self, uid):
        self.tasks.pop(uid, None)

    def _check(self, batch):
        assert batch.task_class in self.classes, "class was not described on this stream"
        assert not batch.job or batch.job in self.jobs, "job was not described on this stream"
        assert len(batch.names) == len(batch.uids)
