"""A class that asks for too much of anything is set aside with the reason, whatever it is; others never notice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from firmament.core.events import ClassDefined, TasksSubmitted
from firmament.wire.classes import LIMITS
from firmament.wire.events import events_from_proto
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.support.core import machine, messages, placed, scheduler, tasks


def _term(number: int) -> pb.NodeSelectorTerm:
    return pb.NodeSelectorTerm(labels=[pb.Requirement(key=f"k{number}", operator="Exists")])


def _task_term(number: int) -> pb.TaskTerm:
    selector = pb.TaskSelector(labels=[pb.Requirement(key="app", operator="In", values=[f"a{number}"])])
    return pb.TaskTerm(topology_key="zone", selector=selector, weight=1)


def _spread(number: int) -> pb.SpreadRule:
    return pb.SpreadRule(topology_key=f"z{number}", max_skew=1, selector=pb.TaskSelector(nothing=True))


def _all_in_one(count: int) -> pb.TaskClass:
    values = [f"v{number}" for number in range(count)]
    term = pb.NodeSelectorTerm(labels=[pb.Requirement(key="app", operator="NotIn", values=values)])
    return pb.TaskClass(required=[term])


TOO_MUCH: dict[str, Callable[[int], pb.TaskClass]] = {
    "resources in requests": lambda n: pb.TaskClass(
        requests=[pb.Quantity(resource=f"r{each}", amount=0) for each in range(n)]
    ),
    "labels in the node selector": lambda n: pb.TaskClass(
        node_selector={f"k{each}": "v" for each in range(n)}
    ),
    "terms of node affinity and volumes": lambda n: pb.TaskClass(
        preferred=[pb.PreferredTerm(weight=1, term=pb.NodeSelectorTerm()) for _ in range(n)]
    ),
    "tolerations": lambda n: pb.TaskClass(
        tolerations=[pb.Toleration(key=f"k{each}", operator="Exists") for each in range(n)]
    ),
    "terms of pod affinity and anti-affinity": lambda n: pb.TaskClass(
        preferred_anti_affinity=[_task_term(each) for each in range(n)]
    ),
    "topology spread constraints": lambda n: pb.TaskClass(spread=[_spread(each) for each in range(n)]),
    "expressions in selectors": lambda n: pb.TaskClass(
        preferred=[
            pb.PreferredTerm(
                weight=1, term=pb.NodeSelectorTerm(labels=[_term(each).labels[0] for each in range(n)])
            )
        ]
    ),
    "values in selectors": _all_in_one,
    "host ports": lambda n: pb.TaskClass(ports=[pb.HostPort(port=each + 1) for each in range(n)]),
    "disks without claims": lambda n: pb.TaskClass(disks=[pb.Disk(name=f"d{each}") for each in range(n)]),
    "volumes bound to nodes": lambda n: pb.TaskClass(volumes=[pb.VolumeRule() for _ in range(n)]),
    "storage classes of new volumes": lambda n: pb.TaskClass(
        new_storage=[pb.NewStorage(storage_class=f"c{each}") for each in range(n)]
    ),
    "claims of devices": lambda n: pb.TaskClass(
        claims=[pb.TaskClaim(name=f"c{each}", spec="{}") for each in range(n)]
    ),
    "containers": lambda n: pb.TaskClass(
        containers=[pb.Container(name=str(each), kind=pb.Container.APP) for each in range(n)]
    ),
}


def test_there_is_a_class_beyond_each_limit():
    assert list(TOO_MUCH) == [limit.what for limit in LIMITS]


@pytest.mark.parametrize("limit", LIMITS, ids=[limit.what for limit in LIMITS])
def test_a_class_beyond_a_limit_waits_and_says_so(limit):
    described = TOO_MUCH[limit.what](limit.most + 1)
    described.id = 1
    defined = events_from_proto([pb.Event(task_class=described)])
    core = scheduler(machine("m"), defined, TasksSubmitted(1, ("hostile",)), tasks(2, "other"))
    result = core.run_round()
    assert placed(result) == {"other": "m"}
    assert messages(result) == {
        "hostile": f"the pod has {limit.most + 1} {limit.what}; at most {limit.most} are supported, use fewer"
    }
    assert core.next_round_in() is None


@pytest.mark.parametrize("limit", LIMITS, ids=[limit.what for limit in LIMITS])
def test_a_class_at_a_limit_is_taken(limit):
    described = TOO_MUCH[limit.what](limit.most)
    described.id = 1
    (defined,) = events_from_proto([pb.Event(task_class=described)])
    assert isinstance(defined, ClassDefined)
    assert not defined.task_class.invalid


def test_what_a_running_task_beyond_a_limit_requests_counts():
    described = TOO_MUCH["tolerations"](2_000)
    described.id = 1
    described.requests.add(resource="cpu", amount=1_500)
    events = [
        pb.Event(task_class=described),
        pb.Event(bound=pb.BoundTasks(machine="m", task_class=1, uids=["running"])),
    ]
    core = scheduler(machine("m"), events_from_proto(events))
    assert next(core.machine_states()).free["cpu"] == 2_500
