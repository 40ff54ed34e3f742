from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cost_models.group_terms import LevelRule
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    ClassRemoved,
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
from firmament.core.model import (
    Machine,
    NodeSelectorTerm,
    PreferredTerm,
    Requirement,
    StorageRoom,
    Taint,
    TaskClass,
    Toleration,
    VolumeRule,
)
from firmament.wire.events import event_from_proto, events_from_proto, reports_from_proto
from protos.firmament.v1 import scheduler_pb2 as pb


def amounts(**values: int) -> list[pb.Quantity]:
    return [pb.Quantity(resource=resource, amount=amount) for resource, amount in values.items()]


def selector(operator: str, *values: str, key: str = "k") -> pb.NodeSelectorTerm:
    return pb.NodeSelectorTerm(labels=[pb.Requirement(key=key, operator=operator, values=values)])


def test_a_machine():
    message = pb.Machine(
        name="m",
        labels={"a": "b"},
        taints=[pb.Taint(key="t", effect="NoSchedule")],
        allocatable=amounts(cpu=1000, pods=0),
        unschedulable=True,
        not_ready=True,
        annotations={"x": "y"},
        storage=[pb.StorageRoom(storage_class="s", largest=2, capacity=3)],
    )
    (event,) = event_from_proto(pb.Event(machine=message))
    assert event == MachineUpserted(
        Machine(
            name="m",
            allocatable={"cpu": 1000, "pods": 0},
            labels={"a": "b"},
            taints=(Taint("t", "", "NoSchedule"),),
            unschedulable=True,
            not_ready=True,
            annotations={"x": "y"},
            storage=(StorageRoom("s", 2, 3),),
        )
    )


def test_a_class():
    message = pb.TaskClass(
        id=3,
        requests=amounts(memory=2, cpu=1),
        node_selector={"b": "2", "a": "1"},
        required=[
            pb.NodeSelectorTerm(fields=[pb.Requirement(key="metadata.name", operator="In", values=["m"])]),
            pb.NodeSelectorTerm(),
        ],
        preferred=[pb.PreferredTerm(weight=100, term=selector("Gt", "-5"))],
        tolerations=[pb.Toleration(operator="Exists"), pb.Toleration(key="k", value="v", effect="NoExecute")],
        namespace="ns",
        labels={"l": "v"},
        annotations={"n": "v"},
        machine="m",
    )
    (event,) = event_from_proto(pb.Event(task_class=message))
    assert isinstance(event, ClassDefined)
    assert event.id == 3
    content = event.task_class
    assert content.requests == (("cpu", 1), ("memory", 2))
    assert content.node_selector == (("a", "1"), ("b", "2"))
    assert content.required == (
        NodeSelectorTerm(fields=(Requirement("metadata.name", "In", ("m",)),)),
        NodeSelectorTerm(),
    )
    assert content.preferred == (
        PreferredTerm(100, NodeSelectorTerm(labels=(Requirement("k", "Gt", ("-5",)),))),
    )
    assert content.tolerations == (Toleration(operator="Exists"), Toleration("k", "Equal", "v", "NoExecute"))
    assert (content.namespace, content.machine, content.invalid) == ("ns", "m", "")
    assert hash(content)


def test_every_field_of_a_class_is_read():
    term = pb.TaskTerm(topology_key="zone")
    filled: dict[str, Any] = {
        "requests": amounts(cpu=1),
        "node_selector": {"k": "v"},
        "required": [selector("Exists")],
        "preferred": [pb.PreferredTerm(weight=1, term=selector("Exists"))],
        "tolerations": [pb.Toleration(operator="Exists")],
        "namespace": "n",
        "labels": {"k": "v"},
        "annotations": {"k": "v"},
        "machine": "m",
        "invalid": "no",
        "affinity": [term],
        "anti_affinity": [term],
        "preferred_affinity": [pb.TaskTerm(topology_key="zone", weight=1)],
        "preferred_anti_affinity": [pb.TaskTerm(topology_key="zone", weight=1)],
        "spread": [pb.SpreadRule(topology_key="zone", max_skew=1)],
        "ports": [pb.HostPort(port=1)],
        "volumes": [pb.VolumeRule(terms=[selector("Exists")])],
        "images": ["i"],
        "terminating": True,
        "never_preempts": True,
        "runs_to_completion": True,
        "run_seconds": 60,
        "attachments": [pb.Attachment(resource="r", volume="v")],
        "disks": [pb.Disk(name="d", read_only=True)],
        "claims": [pb.TaskClaim(name="c", claim="ns/c")],
        "new_storage": [pb.NewStorage(storage_class="s", largest=1, total=2)],
        "containers": [pb.Container(kind=pb.Container.APP)],
        "qos": "Burstable",
        "overhead": amounts(cpu=1),
        "limits": amounts(cpu=1),
        "service_class": "koord-prod",
        "daemon": True,
        "assumed": amounts(cpu=1),
        "queue": "ClusterQueue/a",
        "group": "prefill",
        "profile": "batch",
        "flavor_group": "lws",
    }
    assert set(filled) == set(pb.TaskClass.DESCRIPTOR.fields_by_name) - {"id"}
    for name, value in filled.items():
        (event,) = event_from_proto(pb.Event(task_class=pb.TaskClass(id=1, **{name: value})))
        assert isinstance(event, ClassDefined)
        assert replace(event.task_class, **{name: getattr(TaskClass(), name)}) == TaskClass()
        assert event.task_class != TaskClass(), f"{name} is not read"


def test_a_rule_of_a_volume_says_whether_the_volume_is_in_use():
    rules = [pb.VolumeRule(terms=[selector("Exists")]), pb.VolumeRule(reason="taken", in_use=True)]
    (event,) = event_from_proto(pb.Event(task_class=pb.TaskClass(id=1, volumes=rules)))
    assert isinstance(event, ClassDefined)
    at, taken = event.task_class.volumes
    assert (at.reason, at.in_use, len(at.terms)) == ("", False, 1)
    assert taken == VolumeRule((), "taken", in_use=True)


def test_the_rules_of_an_invalid_class_are_not_read():
    message = pb.TaskClass(
        id=1, requests=amounts(cpu=1), required=[selector("Matches", "x")], invalid="bad operator"
    )
    (event,) = event_from_proto(pb.Event(task_class=message))
    assert isinstance(event, ClassDefined)
    assert event.task_class.invalid == "bad operator"
    assert event.task_class.required == ()
    assert event.task_class.requests == (("cpu", 1),)


@pytest.mark.parametrize(
    ("message", "event"),
    [
        (pb.Event(machine_removed="m"), MachineRemoved("m")),
        (pb.Event(job_removed="j"), JobRemoved("j")),
        (pb.Event(class_removed=7), ClassRemoved(7)),
        (pb.Event(task_removed="u"), TaskRemoved("u")),
        (
            pb.Event(tasks=pb.TaskBatch(task_class=1, job="j", priority=-5, uids=["a", "b"], created=[1, 2])),
            TasksSubmitted(1, ("a", "b"), "j", -5, (), (1.0, 2.0)),
        ),
        (
            pb.Event(
                bound=pb.BoundTasks(machine="m", task_class=2, priority=1, uids=["a"], names=["n"], job="j")
            ),
            TasksBound("m", 2, ("a",), ("n",), 1, "j"),
        ),
        (
            pb.Event(
                machine_sample=pb.MachineSample(
                    machine="m", time=5, usage=[pb.Usage(resource="cpu", amount=0.5)]
                )
            ),
            MachineSampled("m", 5.0, {"cpu": 0.5}),
        ),
        (
            pb.Event(
                machine_sample=pb.MachineSample(
                    machine="m",
                    report_interval=60,
                    no_usage=True,
                    own_windows=True,
                    windows=[
                        pb.WindowUsage(type="p95", seconds=300, usage=[pb.Usage(resource="cpu", amount=2)])
                    ],
                    system=[pb.Usage(resource="memory", amount=3)],
                    tasks=pb.TaskUsages(
                        tasks=["a", "b"], resources=["cpu"], amounts=[1, 2], prod=[True, False]
                    ),
                )
            ),
            MachineSampled(
                "m",
                0.0,
                {},
                interval=60.0,
                no_usage=True,
                windows=(WindowUse("p95", 300.0, {"cpu": 2.0}),),
                own_windows=True,
                system={"memory": 3.0},
                tasks=TaskUses(("a", "b"), ("cpu",), (1.0, 2.0), (True, False)),
            ),
        ),
        (pb.Event(machine_sample_removed="m"), MachineSampleRemoved("m")),
        (
            pb.Event(
                bound=pb.BoundTasks(
                    machine="m",
                    task_class=2,
                    uids=["a", "b"],
                    assigned=[5, 0],
                    initialized=[0, 6],
                    created=[3, 4],
                )
            ),
            TasksBound("m", 2, ("a", "b"), assigned=(5.0, 0.0), initialized=(0.0, 6.0), created=(3.0, 4.0)),
        ),
        (pb.Event(task_sample=pb.TaskSample(task="u", time=5)), TaskSampled("u", 5.0, {})),
        (
            pb.Event(record=pb.Record(key=pb.RecordKey(kind="K", name="ns/n"), payload=b"{}")),
            RecordUpserted("K", "ns/n", b"{}"),
        ),
        (pb.Event(record_removed=pb.RecordKey(kind="K", name="n")), RecordRemoved("K", "n")),
    ],
)
def test_plain_events(message, event):
    assert event_from_proto(message) == (event,)


def test_a_job():
    message = pb.Job(id="j", name="ns/j", size=3, min_members=2, namespace="ns")
    (event,) = event_from_proto(pb.Event(job=message))
    assert isinstance(event, JobDefined)
    job = event.job
    assert (job.id, job.name, job.size, job.min_members, job.namespace) == ("j", "ns/j", 3, 2, "ns")


def divided(*rules: pb.LevelRule) -> pb.Event:
    return pb.Event(job=pb.Job(id="j", groups=[pb.JobGroup(name="g", divided=rules)]))


def test_rules_that_divide_a_group():
    rule = pb.LevelRule(label="rack", spread=True, partitions=2, least=1, most=3)
    (event,) = event_from_proto(divided(rule))
    assert isinstance(event, JobDefined)
    (group,) = event.job.groups
    assert group.divided == (("rack", LevelRule("spread", partitions=2, least=1, most=3)),)


@pytest.mark.parametrize(
    ("rules", "fault"),
    [
        ([pb.LevelRule()], r"divided\.label"),
        ([pb.LevelRule(label="rack", hard=True, factor=2)], "is hard and has numbers"),
        ([pb.LevelRule(label="rack", least=3, most=2)], "is 3, more than most, 2"),
    ],
)
def test_rules_that_cannot_be_kept_are_refused(rules, fault):
    with pytest.raises(InvalidEventError, match=fault):
        event_from_proto(divided(*rules))


def test_updated_tasks_are_submitted_anew():
    batches = [pb.TaskBatch(task_class=1, uids=["a"]), pb.TaskBatch(task_class=2, uids=["b"])]
    message = pb.Event(tasks_updated=pb.TasksUpdated(batches=batches))
    assert events_from_proto([message]) == [TasksSubmitted(1, ("a",)), TasksSubmitted(2, ("b",))]


def test_reports():
    message = pb.BindingReports(
        reports=[pb.BindingReport(task="u", machine="m", bound=False, reason="r", retry=True)]
    )
    assert reports_from_proto(message) == [BindingReport("u", "m", bound=False, reason="r", retry=True)]


def machine(**fields) -> pb.Event:
    return pb.Event(machine=pb.Machine(name="m", **fields))


def task_class(**fields) -> pb.Event:
    return pb.Event(task_class=pb.TaskClass(id=7, **fields))


def tasks(**fields) -> pb.Event:
    return pb.Event(tasks=pb.TaskBatch(**({"task_class": 1} | fields)))


def sample(amount: float, when: float = 1.0) -> pb.Event:
    usage = [pb.Usage(resource="cpu", amount=amount)]
    return pb.Event(machine_sample=pb.MachineSample(machine="m", time=when, usage=usage))


def report(**fields) -> pb.Event:
    return pb.Event(machine_sample=pb.MachineSample(machine="m", **fields))


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (pb.Event(), "Event: body: is missing"),
        (pb.Event(machine_sample_removed=""), "MachineSampleRemoved: machine: is empty"),
        (report(report_interval=-1), "MachineSample m: report_interval: -1.0 is not a time"),
        (report(windows=[pb.WindowUsage()]), "MachineSample m: windows[0].type: is empty"),
        (
            report(windows=[pb.WindowUsage(type="avg", seconds=math.inf)]),
            "MachineSample m: windows[0].seconds: inf is not a time",
        ),
        (
            report(system=[pb.Usage(resource="cpu", amount=-1)]),
            "MachineSample m: system[cpu]: -1.0 is not an amount",
        ),
        (
            report(tasks=pb.TaskUsages(tasks=["a"], resources=["cpu"], amounts=[1, 2])),
            "MachineSample m: tasks.amounts: has 2 entries; send one for each of 1 tasks x 1 resources",
        ),
        (
            report(tasks=pb.TaskUsages(tasks=["a"], resources=["cpu"], amounts=[math.nan])),
            "MachineSample m: tasks.amounts: has an entry that is no amount",
        ),
        (
            report(tasks=pb.TaskUsages(tasks=["a", "a"])),
            "MachineSample m: tasks.tasks: has a uid twice",
        ),
        (
            report(tasks=pb.TaskUsages(resources=["cpu", "cpu"])),
            "MachineSample m: tasks.resources: has an empty name or one twice",
        ),
        (
            report(tasks=pb.TaskUsages(tasks=["a"], prod=[True, True])),
            "MachineSample m: tasks.prod: has 2 entries",
        ),
        (
            pb.Event(bound=pb.BoundTasks(machine="m", task_class=1, uids=["a"], assigned=[1, 2])),
            "BoundTasks of a: assigned: has 2 entries",
        ),
        (
            pb.Event(bound=pb.BoundTasks(machine="m", task_class=1, uids=["a"], initialized=[-1])),
            "BoundTasks of a: initialized[0]: -1.0 is not a time",
        ),
        (machine(total=amounts(cpu=-1)), "Machine m: total[cpu]: -1 is negative"),
        (task_class(limits=amounts(cpu=-1)), "TaskClass 7: limits[cpu]: -1 is negative"),
        (pb.Event(machine=pb.Machine()), "Machine: name: is empty"),
        (machine(allocatable=amounts(cpu=-1)), "Machine m: allocatable[cpu]: -1 is negative"),
        (
            machine(allocatable=amounts(cpu=2**53 + 1)),
            "Machine m: allocatable[cpu]: 9007199254740993 is absurdly large",
        ),
        (machine(allocatable=amounts(cpu=1) * 2), "Machine m: allocatable[cpu]: is given twice"),
        (machine(allocatable=[pb.Quantity(amount=1)]), "Machine m: allocatable.resource: is empty"),
        (machine(taints=[pb.Taint(effect="NoSchedule")]), "Machine m: taints[0].key: is empty"),
        (
            machine(taints=[pb.Taint(key="k", effect="Never")]),
            "Machine m: taints[0].effect: 'Never' is not an effect",
        ),
        (machine(storage=[pb.StorageRoom()]), "Machine m: storage[0].storage_class: is empty"),
        (
            machine(storage=[pb.StorageRoom(storage_class="s")] * 2),
            "Machine m: storage[1].storage_class: s is given twice",
        ),
        (
            machine(storage=[pb.StorageRoom(storage_class="s", largest=-1)]),
            "Machine m: storage[0].largest: -1 is negative",
        ),
        (
            task_class(new_storage=[pb.NewStorage(storage_class="s", total=2**60)]),
            "TaskClass 7: new_storage[0].total: 1152921504606846976 is absurdly large",
        ),
        (task_class(disks=[pb.Disk()]), "TaskClass 7: disks[0].name: is empty"),
        (task_class(claims=[pb.TaskClaim(claim="ns/c")]), "TaskClass 7: claims[0]: name: is empty"),
        (
            task_class(claims=[pb.TaskClaim(name="c")]),
            "TaskClass 7: claims[0]: claim and spec are both empty; send exactly one",
        ),
        (pb.Event(machine_removed=""), "MachineRemoved: name: is empty"),
        (pb.Event(job=pb.Job(name="n")), "Job: id: is empty"),
        (pb.Event(job_removed=""), "JobRemoved: id: is empty"),
        (pb.Event(class_removed=0), "ClassRemoved: id: is 0"),
        (pb.Event(task_class=pb.TaskClass()), "TaskClass: id: is 0"),
        (task_class(requests=amounts(cpu=-1)), "TaskClass 7: requests[cpu]: -1 is negative"),
        (
            task_class(required=[selector("Like", "x")]),
            "TaskClass 7: required[0].labels[0].operator: 'Like' is not",
        ),
        (task_class(required=[selector("In")]), "TaskClass 7: required[0].labels[0].values: is empty"),
        (
            task_class(required=[selector("Exists", "x")]),
            "TaskClass 7: required[0].labels[0].values: has 1 entries",
        ),
        (task_class(required=[selector("Gt", "x")]), "TaskClass 7: required[0].labels[0].values: is ['x']"),
        (
            task_class(required=[selector("Gt", "9" * 5000)]),
            "TaskClass 7: required[0].labels[0].values: is ['999",
        ),
        (
            task_class(required=[selector("Lt", "1", "2")]),
            "TaskClass 7: required[0].labels[0].values: is ['1', '2']",
        ),
        (
            task_class(required=[selector("In", "x", key="")]),
            "TaskClass 7: required[0].labels[0].key: is empty",
        ),
        (
            task_class(preferred=[pb.PreferredTerm(weight=0)]),
            "TaskClass 7: preferred[0].weight: 0 is out of range",
        ),
        (
            task_class(preferred=[pb.PreferredTerm(weight=1, term=selector("in", "x"))]),
            "TaskClass 7: preferred[0].term.labels[0].operator: 'in' is not an operator",
        ),
        (
            task_class(tolerations=[pb.Toleration(key="k", operator="In")]),
            "TaskClass 7: tolerations[0].operator: 'In'",
        ),
        (
            task_class(tolerations=[pb.Toleration(operator="Equal")]),
            "TaskClass 7: tolerations[0].key: is empty",
        ),
        (
            task_class(tolerations=[pb.Toleration(key="k", effect="x")]),
            "TaskClass 7: tolerations[0].effect: 'x' is not",
        ),
        (tasks(), "TaskBatch: uids: is empty"),
        (tasks(uids=["a", ""]), "TaskBatch: uids[1]: is empty"),
        (tasks(uids=["a"], task_class=0), "TaskBatch of a: task_class: is 0"),
        (tasks(uids=["a", "b"], names=["n"]), "TaskBatch of a: names: has 1 entries for 2 uids"),
        (tasks(uids=["a"], created=[1, 2]), "TaskBatch of a: created: has 2 entries for 1 uids"),
        (tasks(uids=["a", "b"], created=[1, math.nan]), "TaskBatch of a: created[1]: nan is not a time"),
        (pb.Event(bound=pb.BoundTasks(task_class=1, uids=["a"])), "BoundTasks of a: machine: is empty"),
        (pb.Event(task_removed=""), "TaskRemoved: uid: is empty"),
        (sample(math.nan), "MachineSample m: usage[cpu]: nan is not an amount"),
        (sample(math.inf), "MachineSample m: usage[cpu]: inf is not an amount"),
        (sample(-0.1), "MachineSample m: usage[cpu]: -0.1 is not an amount"),
        (sample(1, math.nan), "MachineSample m: time: nan is not a time"),
        (pb.Event(task_sample=pb.TaskSample(time=1)), "TaskSample: task: is empty"),
        (pb.Event(record=pb.Record()), "Record: kind: is empty"),
        (pb.Event(record_removed=pb.RecordKey(kind="K")), "RecordRemoved K: name: is empty"),
    ],
)
def test_malformed_events(message, fault):
    good = pb.Event(task_removed="x")
    with pytest.raises(InvalidEventError) as caught:
        events_from_proto([good, message])
    assert str(caught.value).startswith(f"event 1: {fault}")


@pytest.mark.parametrize(
    ("report", "fault"),
    [
        (pb.BindingReport(machine="m"), "report 0: BindingReport: task: is empty"),
        (pb.BindingReport(task="u"), "report 0: BindingReport u: machine: is empty"),
    ],
)
def test_malformed_reports(report, fault):
    with pytest.raises(InvalidEventError, match=f"^{fault}"):
        reports_from_proto(pb.BindingReports(reports=[report]))


@given(st.binary(max_size=300))
def test_garbage_is_refused_or_well_formed(data):
    """Whatever bytes parse as a batch decode, or raise the one error that callers handle; any other fails here."""
    try:
        batch = pb.EventBatch.FromString(data)
    except Exception:  # noqa: BLE001 - protobuf's DecodeError; what it accepts is not the subject here
        return
    try:
        events_from_proto(batch.events)
    except InvalidEventError:
        return


def test_a_hundred_thousand_tasks_are_decoded_fast():
    batches = [
        pb.Event(
            tasks=pb.TaskBatch(task_class=1, uids=[f"{i}-{k}" for k in range(1000)], created=[1.0] * 1000)
        )
        for i in range(100)
    ]
    best = math.inf
    for _ in range(3):
        started = time.process_time()
        events = events_from_proto(batches)
        best = min(best, time.process_time() - started)
    assert len(events) == 100
    assert best < 0.5
