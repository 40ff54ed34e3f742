"""What a new bridge makes of gangs that an earlier one has left behind."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from poseidon.bridge.state import BridgeState
from poseidon.kube.api.metadata import Condition, format_time
from poseidon.kube.api.pod_groups import PodGroupStatus
from poseidon.kube.api.resource import Change
from poseidon.pod_groups.group_names import POD_GROUP, WORKLOAD
from tests.poseidon.bridge.objects import node, present
from tests.poseidon.bridge.solver_view import SolverView
from tests.poseidon.pod_groups.objects import pod, pod_group, workload

NOW = 1_000_000_000.0
TIMEOUT = 600.0


def scheduled(name, seconds_ago, **group):
    """A pod that has had its node for so long."""
    made = pod(name, node="n1", phase="Running", **group)
    since = Condition(type="PodScheduled", status="True", last_transition_time=format_time(NOW - seconds_ago))
    return replace(made, status=replace(made.status, conditions=(since,)))


def jobs(kind, found, *pods):
    """What a new bridge tells its first solver about jobs."""
    state, view = BridgeState(wall=lambda: NOW), SolverView()
    state.nodes_changed([present(node("n1"))])
    state.gangs.get_handler(kind)([Change(found.metadata.uid, found)])
    for each in pods:
        state.pods_changed([present(each)])
    state.gangs.begin()
    view.apply(state.snapshot())
    return view.jobs


def train(*pods, phase="", seconds=None, members=2):
    [job] = jobs(
        POD_GROUP, pod_group("train", members, seconds=seconds, status=PodGroupStatus(phase=phase)), *pods
    ).values()
    return job.was_whole


@pytest.mark.parametrize(
    ("phase", "whole"),
    [
        ("", False),
        ("Pending", False),
        ("Scheduling", False),
        ("Scheduled", True),
        ("Running", True),
        ("Failed", True),
        ("Finished", True),
    ],
)
def test_the_phase_that_was_written_last_tells(phase, whole):
    assert train(scheduled("a", 5, group="train"), pod("b", group="train"), phase=phase) is whole


@pytest.mark.parametrize(
    ("seconds", "ago", "whole"), [(None, 590, False), (None, 610, True), (30, 31, True), (3600, 610, False)]
)
def test_so_does_a_pod_that_has_had_its_node_for_longer_than_the_time_out(seconds, ago, whole):
    pods = scheduled("a", 5, group="train"), scheduled("b", ago, group="train"), pod("c", group="train")
    assert train(*pods, phase="Scheduling", seconds=seconds, members=3) is whole


def test_a_pod_that_does_not_say_since_when_tells_nothing():
    assert not train(pod("a", group="train", node="n1"), pod("b", group="train"))


def test_any_kind_of_gang_is_looked_at():
    found = workload("run", workers=2, others=2, loose=None)
    told = jobs(
        WORKLOAD,
        found,
        scheduled("a", 700, workload=("run", "workers", "")),
        pod("b", workload=("run", "workers", "")),
        scheduled("c", 5, workload=("run", "others", "")),
        scheduled("d", 700, workload=("run", "loose", "")),
    )
    assert {each.name.rpartition("/")[2]: each.was_whole for each in told.values()} == {
        "workers": True,
        "others": False,
        "loose": False,
    }


def test_only_what_a_former_bridge_has_left_counts():
    state = BridgeState(wall=lambda: NOW)
    state.gangs.begin()
    state.gangs.get_handler(POD_GROUP)(
        [Change("g", pod_group("train", 2, status=PodGroupStatus(phase="Running")))]
    )
    state.pods_changed([present(scheduled("a", 700, group="train")), present(pod("b", group="train"))])
    state.gangs.begin()
    view = SolverView()
    state.nodes_changed([present(node("n1"))])
    view.apply(state.snapshot())
    assert [job.was_whole for job in view.jobs.values()] == [False]
