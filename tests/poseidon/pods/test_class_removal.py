"""Classes of pods that are gone are forgotten by bridge and solver alike, however many Jobs come and go."""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from firmament.wire.events import events_from_proto
from poseidon.bridge.state import BridgeState
from poseidon.kube.api.pod_rules import LabelSelector, TopologySpreadConstraint
from poseidon.pods.classes import LEAST_SURPLUS
from tests.poseidon.bridge import objects
from tests.poseidon.bridge.solver_view import SolverView
from tests.support.core import Clock, placed, scheduler
from tests.support.preloaded import quick_python

NODES = 20
JOBS_PER_TURN = 100


def job_pod(number, *, node="", phase="Pending"):
    """The only pod of a Job, as the Job controller labels it, spread among the pods of its own Job."""
    name = f"job-{number}"
    pod = objects.pod(name, node=node, phase=phase, owner=name, cpu="10m")
    spread = TopologySpreadConstraint(
        max_skew=1,
        topology_key="zone",
        when_unsatisfiable="DoNotSchedule",
        label_selector=LabelSelector(match_labels={"job-name": name}),
    )
    return replace(
        pod,
        metadata=replace(pod.metadata, labels={"job-name": name, "controller-uid": f"uid-{number}"}),
        spec=replace(pod.spec, topology_spread_constraints=(spread,)),
    )


class Stream:
    """A bridge's state and a solver's core; what the one says is applied by the other, and by the letter."""

    def __init__(self):
        self.state = BridgeState()
        self.state.nodes_changed(
            [
                objects.present(objects.node(f"n{index}", labels={"zone": f"z{index % 3}"}))
                for index in range(NODES)
            ]
        )
        self.open()

    def open(self):
        self.core, self.view = scheduler(clock=Clock()), SolverView()
        self._apply(self.state.snapshot())

    def see(self, *changes):
        self.state.pods_changed(changes)
        self._apply(self.state.take_events())

    def _apply(self, events):
        self.view.apply(events)
        self.core.apply(events_from_proto(events))
        self.core.next_round_in()  # as the server asks after each batch

    @property
    def classes(self):
        """How many classes the bridge, the protocol and the core know."""
        return (
            len(self.state.classes),
            len(self.view.classes),
            len(self.core._cluster.classes.rows),
        )


def run_jobs(stream, turn, *, decide=False):
    """Let Jobs come, run (where the core places them, if it is to decide), end, and be deleted."""
    numbers = range(turn * JOBS_PER_TURN, (turn + 1) * JOBS_PER_TURN)
    stream.see(*(objects.present(job_pod(number)) for number in numbers))
    place = {f"pod-job-{number}": f"n{number % NODES}" for number in numbers}
    if decide:
        place = placed(stream.core.run_round())
        assert len(place) == JOBS_PER_TURN
    bound = [job_pod(number, node=place[f"pod-job-{number}"], phase="Running") for number in numbers]
    stream.see(*map(objects.present, bound))
    stream.see(*map(objects.gone, bound))


def test_thousands_of_short_lived_jobs_with_labels_of_their_own():
    stream = Stream()
    for turn in range(25):  # four times as many jobs as classes may be known
        run_jobs(stream, turn, decide=turn % 8 == 7)
        assert max(stream.classes) <= 2 * LEAST_SURPLUS + JOBS_PER_TURN
        assert stream.view.tasks == stream.view.jobs == {}


def print_traced_memory():
    """Print the bytes that are in use after each turn; to be called in a process without other tests."""
    stream = Stream()
    tracemalloc.start()
    for turn in range(12):
        run_jobs(stream, turn)
        gc.collect()
        sys.stdout.write(f"{tracemalloc.get_traced_memory()[0]}\n")


@pytest.mark.full  # how many classes are known is held above, by numbers instead of bytes
def test_what_is_kept_does_not_grow_with_the_jobs_that_have_been():
    command = [quick_python(), "-c", f"from {__name__} import print_traced_memory as do; do()"]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=100, check=True
    )
    figures = [int(line) for line in done.stdout.split()]
    early, late = sum(figures[4:8]), sum(figures[8:])  # what is forgotten in bulk goes up and down
    assert late <= 1.2 * early, figures  # 1.67, if it grew with the turns


def test_a_pod_that_stays_keeps_its_class():
    stream = Stream()
    stay = objects.pod("stays", cpu="50m")
    stream.see(objects.present(stay))
    for turn in range(4):
        run_jobs_around(stream, turn, stay)
    assert stream.view.tasks["pod-stays"].task_class in stream.view.classes.values()


def run_jobs_around(stream, turn, stay):
    numbers = range(turn * LEAST_SURPLUS, (turn + 1) * LEAST_SURPLUS)
    pods = [job_pod(number) for number in numbers]
    stream.see(*map(objects.present, pods))
    stream.see(*map(objects.gone, pods))
    stream.see(objects.present(replace(stay, metadata=replace(stay.metadata, labels={"turn": str(turn)}))))


def test_labels_that_nobody_looks_at_any_more_no_longer_tell_pods_apart():
    stream = Stream()
    pods = [
        replace(
            objects.pod(f"p{number}"),
            metadata=replace(objects.pod(f"p{number}").metadata, labels={"job-name": str(number)}),
        )
        for number in range(10)
    ]
    stream.see(*map(objects.present, pods))
    assert len(stream.view.classes) == 1
    stream.see(objects.present(job_pod(1)))
    assert len({task.task_class for task in stream.view.tasks.values()}) == 11
    stream.see(objects.gone(job_pod(1)))
    # What has gone is noticed when more has come.
    others = [objects.pod(f"other-{index}", cpu=f"{index + 1}m") for index in range(LEAST_SURPLUS)]
    stream.see(*map(objects.present, others))
    stream.see(*map(objects.gone, others))
    assert len({task.task_class for task in stream.view.tasks.values()}) == 1


def test_histories_end_in_the_picture_that_a_new_solver_is_given():
    for seed in range(3):
        random, stream = Random(seed), Stream()
        alive: list[Any] = []
        number = 0
        for _ in range(12):
            born = [
                job_pod(number + index) if random.random() < 0.9 else objects.pod(f"p{number + index}")
                for index in range(random.choice((3, 100, 300)))
            ]
            number += len(born)
            random.shuffle(alive)
            dead = [alive.pop() for _ in range(random.randint(0, len(alive)))]
            alive += born
            changes = [*map(objects.present, born), *map(objects.gone, dead)]
            random.shuffle(changes)
            stream.see(*changes)
            if random.random() < 0.1:
                stream.open()
        told = stream.view.tasks
        stream.open()
        assert told == stream.view.tasks
