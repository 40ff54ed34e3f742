"""One gang or pod of each queue takes part in a round, as in Kueue: the most important, then the oldest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from poseidon.simulate.engine import Simulation
from poseidon.simulate.queue_heads import Head, QueueHeads
from poseidon.simulate.report import make_report
from poseidon.simulate.setup import SimulationError
from poseidon.simulate.tasks import TaskProgress
from poseidon.simulate.workloads.kueue import QUEUE_NAME
from protos.conventions.configuration_file import ConfigurationError
from tests.poseidon.simulate.scenarios import begin, kind, scenario

ROOTS = {"a": "left", "b": "left", "c": "right"}

heads = st.builds(
    Head,
    st.tuples(st.integers(-2, 0), st.floats(0, 5), st.integers(0, 99)),
    st.sampled_from([*ROOTS]),
    st.just((0,)),
)


def make_heads(waiting: list[Head]) -> QueueHeads:
    """Return queues in which these wait."""
    queues = QueueHeads(None, ROOTS)  # type: ignore[arg-type]  # kinds are read only of tasks that are added
    queues.put_back(waiting, ["left", "right"])
    return queues


@given(st.lists(heads, max_size=20))
def test_each_queue_gives_its_first_until_all_have_had_their_turn(waiting: list[Head]) -> None:
    queues, left = make_heads(waiting), list(waiting)
    while taken := queues.take_heads():
        assert sorted(head.queue for head in taken) == sorted({head.queue for head in left})
        for head in taken:
            assert head.turn == min(each.turn for each in left if each.queue == head.queue)
            left.remove(head)
    assert not left


def test_who_is_refused_waits_until_something_changes_in_its_tree() -> None:
    first, second, other = (
        Head((0, 1.0, 1), "a", (1,)), Head((0, 2.0, 2), "a", (2,)), Head((0, 1.0, 3), "c", (3,))
    )  # fmt: skip
    queues = make_heads([first, second, other])
    assert queues.take_heads() == [first, other]
    queues.put_back([first, other], [])
    assert queues.take_heads() == [second], "the next of the queue takes part"
    queues.put_back([second], [])
    assert queues.take_heads() == []
    queues.wake(["b"])
    assert queues.take_heads() == [first], "b is in the tree of a, and not in that of c"
    queues.wake(["c"])
    assert queues.take_heads() == [second, other]


def test_who_is_refused_in_a_round_that_placed_others_of_its_tree_stays_first() -> None:
    first, second = Head((0, 1.0, 1), "a", (1,)), Head((0, 2.0, 2), "a", (2,))
    queues = make_heads([first, second])
    queues.put_back(queues.take_heads(), ["left"])
    assert queues.take_heads() == [first]


GENERATOR = """
- className: cohort
  queuesSets:
  - className: cq
    count: 2
    nominalQuota: 4
    workloadsSets:
    - count: 6
      creationIntervalMs: 0
      workloads: [{className: small, runtimeMs: 1000, priority: 50, request: 2}]
    - count: 2
      creationIntervalMs: 0
      workloads: [{className: large, runtimeMs: 1000, priority: 100, request: 2, podCount: 2}]
"""


def begin_generator(folder: Path, **more: Any) -> Simulation:
    """Return the simulation of a small generator of Kueue, at its beginning."""
    (folder / "generator.yaml").write_text(GENERATOR, encoding="utf-8")
    configuration = {
        "apiVersion": "firmament.io/v1alpha1", "kind": "SchedulerConfiguration", "queues": {"source": ["kueue"]}
    }  # fmt: skip
    (folder / "queues.yaml").write_text(yaml.safe_dump(configuration), encoding="utf-8")
    document = scenario(configuration="queues.yaml", horizon="10m", roundEvery=0.1, **more) | {"cluster": {}}
    document["workload"] = {"trace": {"format": "kueue", "path": "generator.yaml"}}
    return begin(folder, document)


def test_all_work_of_queues_is_done_one_after_another(tmp_path: Path) -> None:
    simulation = begin_generator(tmp_path, onePerQueue=True)
    assert simulation.run()
    assert (simulation.tasks.state == TaskProgress.ENDED).all()
    report = make_report(simulation)
    assert report.makespan == pytest.approx(5.0, abs=0.5), "20 cpu of work in each queue of 4"


def test_the_next_round_waits_for_what_is_written_about_the_refused(tmp_path: Path) -> None:
    limit = {"perSecond": 2, "burst": 1, "perPod": 0, "perGang": 0, "perRefusal": 1}
    simulation = begin_generator(tmp_path, onePerQueue=True, requests=limit)
    simulation.run(0.0)
    begun = simulation.tasks.first_begun
    assert np.count_nonzero(begun == 0.0) == 4, "a large gang of each queue: all that the quotas let in"
    assert simulation.heads is not None
    assert simulation.heads.busy_until > 0.0
    refused_at_once = simulation.heads.busy_until
    simulation.run(refused_at_once - 0.2)
    assert simulation.heads.busy_until == refused_at_once, "no round until then"


def test_a_scenario_without_queues_cannot_have_one_per_queue(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match=r"onePerQueue: no queues are read"):
        begin(tmp_path, scenario(kind(), onePerQueue=True))


def test_requests_for_refusals_need_one_per_queue(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"requests\.perRefusal: has no effect"):
        begin(tmp_path, scenario(kind(), requests={"perSecond": 1, "perRefusal": 1}))


def test_pods_in_no_queue_take_part_in_every_round(tmp_path: Path) -> None:
    assert QUEUE_NAME
    simulation = begin_generator(tmp_path, onePerQueue=True)
    assert simulation.heads is not None
    kinds = simulation.kinds
    assert all(each.queue for each in kinds.classes), "all of this trace are in queues"
    for each in kinds.classes:
        each.queue = ""
    outside = simulation.heads.add(np.arange(5), simulation.tasks.work)
    assert outside == [0, 1, 2, 3, 4]
