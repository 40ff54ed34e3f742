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
from poseidon.simulate.report import make_report
from poseidon.simulate.rounds.queue_heads import Head, QueueHeads
from poseidon.simulate.setup import SimulationError
from poseidon.simulate.tasks import TaskProgress
from poseidon.simulate.workloads.kueue import QUEUE_NAME
from protos.configuration.file import ConfigurationError
from tests.poseidon.simulate.scenarios import begin, kind, scenario

ROOTS = {"a": "left", "b": "left", "c": "right"}

heads = st.builds(
    Head,
    st.tuples(st.integers(-2, 0), st.floats(0, 5), st.integers(0, 99)),
    st.sampled_from([*ROOTS]),
    st.integers(0, 2),
    st.just((0,)),
)


def head(number: int, queue: str, kind: int = 0, priority: int = 0) -> Head:
    """Return a pod that came at the second of its number."""
    return Head((-priority, float(number), number), queue, kind, (number,))


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
    first, second, other = head(1, "a"), head(2, "a", kind=1), head(3, "c")
    queues = make_heads([first, second, other])
    assert queues.take_heads() == [first, other]
    queues.put_back([first, other], [])
    assert queues.take_heads() == [second], "the next of the queue takes part"
    queues.put_back([second], [])
    assert queues.take_heads() == []
    queues.requeue_later(["b"], 5.0)
    queues.requeue_due(5.0)
    assert queues.take_heads() == [first], "b is in the tree of a, and not in that of c"
    queues.requeue_later(["c"], 5.0)
    queues.requeue_due(5.0)
    assert queues.take_heads() == [second, other]


def test_those_of_a_queue_that_are_like_the_refused_are_set_aside_with_it() -> None:
    refused, alike, another, elsewhere = head(1, "a"), head(2, "a"), head(3, "a", kind=1), head(4, "b")
    queues = make_heads([refused, alike, another])
    assert queues.put_back(queues.take_heads(), []) == 1, "one write for all"
    queues.put_back([head(5, "a"), elsewhere], ["left"])
    assert queues.take_heads() == [another, elsewhere], "also who comes later; the same kind elsewhere is not"
    queues.requeue_later(["a"], 0.0)
    queues.requeue_due(0.0)
    assert queues.take_heads() == [refused]


def test_what_was_set_aside_takes_part_again_a_while_after_the_first_change() -> None:
    queues = QueueHeads(None, ROOTS, requeue_after=1.0)  # type: ignore[arg-type]  # as above
    assert queues.find_next_requeue() is None
    queues.put_back([head(1, "a")], [])
    assert queues.find_next_requeue() is None, "nothing has changed yet"
    queues.requeue_later(["b"], 3.0)
    queues.requeue_later(["a"], 3.5)
    assert queues.find_next_requeue() == 4.0
    queues.requeue_due(3.9)
    assert queues.take_heads() == []
    queues.requeue_due(4.0)
    assert queues.take_heads() == [head(1, "a")]
    queues.put_back([head(1, "a")], [])
    assert queues.find_next_requeue() is None, "the second change came while the first was on its way"


def test_who_is_refused_in_a_round_that_placed_others_of_its_tree_stays_first() -> None:
    first, second = head(1, "a"), head(2, "a")
    queues = make_heads([first, second])
    assert queues.put_back(queues.take_heads(), ["left"]) == 0, "that it was passed over is written already"
    assert queues.take_heads() == [first]
    assert queues.put_back([first], []) == 1, "now it is written what it lacks"
    queues.requeue_later(["a"], 0.0)
    queues.requeue_due(0.0)
    assert queues.put_back(queues.take_heads(), ["left"]) == 1, "and that it was passed over, once more"


def test_nobody_of_a_queue_takes_part_while_its_first_waits_for_victims() -> None:
    first, second = head(1, "a"), head(2, "a", kind=1)
    queues = make_heads([second])
    queues.hold([first])
    assert queues.take_heads() == []
    assert queues.release(lambda task: task == 1) == []
    assert queues.take_heads() == []
    assert queues.release(lambda _: False) == [first]
    assert queues.take_heads() == [second]


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


def begin_generator(folder: Path, generator: str = GENERATOR, **more: Any) -> Simulation:
    """Return the simulation of a small generator of Kueue, at its beginning."""
    (folder / "generator.yaml").write_text(generator, encoding="utf-8")
    configuration = {
        "apiVersion": "firmament.io/v1alpha1", "kind": "SchedulerConfiguration", "queues": {"source": ["kueue"]}
    }  # fmt: skip
    (folder / "queues.yaml").write_text(yaml.safe_dump(configuration), encoding="utf-8")
    document = scenario(configuration="queues.yaml", horizon="10m", roundEvery=0.1, **more) | {"cluster": {}}
    document["workload"] = {"trace": {"format": "kueue", "path": "generator.yaml"}}
    return begin(folder, document)


@pytest.mark.parametrize(("after", "expected"), [(0.0, 5.0), (1.0, 9.0)], ids=["at-once", "as-in-Kueue"])
def test_all_work_of_queues_is_done_one_after_another(tmp_path: Path, after: float, expected: float) -> None:
    """20 cpu of work in each queue of 4 are five waves; who was refused waits for a while after each."""
    simulation = begin_generator(tmp_path, onePerQueue=True, requeueAfter=after)
    assert simulation.run()
    assert (simulation.tasks.state == TaskProgress.ENDED).all()
    report = make_report(simulation)
    assert report.makespan == pytest.approx(expected, abs=0.5)


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


def test_those_that_wait_for_victims_come_when_these_have_left(tmp_path: Path) -> None:
    """The large gangs of each queue come second and evict small pods, whose evictions are written slowly."""
    late = GENERATOR.replace(
        "count: 2\n      creationIntervalMs: 0", "count: 2\n      creationIntervalMs: 300"
    )
    late = late.replace("nominalQuota: 4", "nominalQuota: 4\n    withinClusterQueue: LowerPriority")
    limit = {"perSecond": 4, "burst": 1, "perPod": 0, "perGang": 0, "perRefusal": 0, "perEviction": 1}
    simulation = begin_generator(tmp_path, late, onePerQueue=True, requests=limit)
    tasks, used = simulation.tasks, []
    held = [0]

    def look(_: float) -> None:
        used.append(2 * np.count_nonzero(tasks.state == TaskProgress.RUNNING))
        held.append(sum(simulation.evictions.waits(task) for task in range(len(tasks.state))))

    assert simulation.run(note=look)
    assert (tasks.state == TaskProgress.ENDED).all()
    assert simulation.record.preempted
    assert max(used) <= 8, "the quotas of both queues"
    assert max(held) > 0


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
