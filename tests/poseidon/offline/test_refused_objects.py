"""Events that the solver refuses: left out of a live cluster with a line each, a defect in files."""

from __future__ import annotations

import pytest

from poseidon.api import read
from poseidon.manifests.loader import ManifestError
from poseidon.offline.cluster import build_offline_cluster
from poseidon.offline.refused_objects import apply_events
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.offline.objects import node, pod


@pytest.fixture
def cluster(may_set_aside):
    found = read([node("n1"), pod("p")])
    return build_offline_cluster(found.manifests, found.configuration, 0.0)


def machine(name: str, cpu: int = 1000) -> pb.Event:
    return pb.Event(machine=pb.Machine(name=name, allocatable=[pb.Quantity(resource="cpu", amount=cpu)]))


def apply(cluster, *events, is_live=True):
    return apply_events(cluster.scheduler, cluster.state, list(events), is_live=is_live)


def machines(cluster) -> list[str]:
    return sorted(each.name for each in cluster.scheduler.machines())


def test_events_that_are_taken_leave_no_line(cluster):
    assert apply(cluster) == []
    assert apply(cluster, machine("n2")) == []
    assert machines(cluster) == ["n1", "n2"]


def test_a_live_cluster_loses_what_is_refused_and_nothing_else(cluster):
    lines = apply(
        cluster, machine("bad", cpu=-1), machine("n2"), machine("worse", cpu=-2), machine("bad", cpu=-1)
    )
    assert machines(cluster) == ["n1", "n2"]
    assert [line.partition(": ")[0] for line in lines] == ["Node bad", "Node worse"]
    assert all(": the solver does not take it, and it is left out: " in line for line in lines)
    assert apply(cluster, machine("bad", cpu=-1)) != []


def test_in_files_it_is_a_defect_and_nothing_is_applied(cluster):
    with pytest.raises(ManifestError) as raised:
        apply(cluster, machine("n2"), machine("bad", cpu=-1), is_live=False)
    [line] = raised.value.lines
    assert line.startswith("Node bad: the solver does not take it: ")
    assert "left out" not in line
    assert machines(cluster) == ["n1"]


def test_long_names_are_cut(cluster):
    [line] = apply(cluster, machine("x" * 500, cpu=-1))
    assert line.startswith(f"Node {'x' * 75}…: ")
    assert len(line) < 80 + 300 + 80


@pytest.mark.parametrize(
    ("event", "named"),
    [
        (pb.Event(record=pb.Record(key=pb.RecordKey(kind="", name="x"), payload=b"{")), " x"),
        (pb.Event(job=pb.Job(id="", name="shop/train")), "workload shop/train"),
        (
            pb.Event(
                machine_sample=pb.MachineSample(machine="n1", usage=[pb.Usage(resource="cpu", amount=-1)])
            ),
            "use of node n1",
        ),
        (
            pb.Event(task_sample=pb.TaskSample(task="p", usage=[pb.Usage(resource="cpu", amount=-1)])),
            "use of pod p",
        ),
    ],
)
def test_lines_name_the_object_that_an_event_is_about(cluster, event, named):
    [line] = apply(cluster, event)
    assert line.partition(": ")[0] == named
