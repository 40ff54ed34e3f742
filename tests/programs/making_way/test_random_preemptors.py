"""Random preemptors, grace periods and failures: nobody less important gets the room, and no victim is for nothing.

The least number of victims is found by trying all sets, one preemptor at a time, as they come.
"""

from __future__ import annotations

import random
from functools import partial
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.programs.making_way.play import Known, Play
from tests.support.effort import examples


class Unreliable:
    """Refuses what is asked for a pod with some probability, at most ``times`` times for one pod."""

    def __init__(self, rnd: random.Random, likely: float, times: int) -> None:
        self._rnd, self._likely, self._times = rnd, likely, times
        self._count: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        if self._count.get(name, 0) >= self._times or self._rnd.random() >= self._likely:
            return ""
        self._count[name] = self._count.get(name, 0) + 1
        return "refused"


class Watched(Play):
    """A play that says of each binding whether it takes room that others have left for somebody more important."""

    def _bind(self, request):
        before = self.pods.get(request.name)
        was_pending = before is not None and not before.node
        super()._bind(request)
        if before is not None and was_pending and before.node:
            self._check_not_taken(before)

    def _check_not_taken(self, came: Known) -> None:
        places = {each.uid: (each.state, each.machine) for each in self.core.task_states()}
        owed = 0
        for name, node in self.left_for.items():
            pod = self.pods.get(name)
            if pod is None or pod.node or node != came.node or pod.priority <= came.priority:
                continue
            state, machine = places.get(f"pod-{name}", ("", ""))
            owed += pod.cores if state != "ASSUMED" or machine == node else 0
        staying = sum(
            each.cores for each in self.pods.values() if each.node == came.node and not each.deleting
        )
        assert staying + owed <= self.nodes[came.node], f"{came.name} takes room that is not its own"


def future_free(play: Play, node: str) -> int:
    """Cores that a node will have left once who leaves has left and who comes has come."""
    coming = {
        each.uid.removeprefix("pod-"): each.machine
        for each in play.core.task_states()
        if each.state == "ASSUMED"
    }
    for name, at in play.left_for.items():
        coming.setdefault(name, at)
    return play.nodes[node] - sum(
        each.cores
        for each in play.pods.values()
        if (each.node == node and not each.deleting) or (not each.node and coming.get(each.name) == node)
    )


def least_victims(play: Play, cores: int, priority: int) -> int | None:
    """How many pods have to go for another one, None if it cannot come."""
    found: list[int] = []
    for node in play.nodes:
        free = future_free(play, node)
        might_go = [
            each.cores
            for each in play.pods.values()
            if each.node == node and not each.deleting and each.priority < priority
        ]
        found += [
            size
            for size in range(len(might_go) + 1)
            for some in combinations(might_go, size)
            if free + sum(some) >= cores
        ][:1]
    return min(found, default=None)


class Story:
    """A full cluster, pods that wait, and preemptors that come one after the other while things fail."""

    def __init__(self, seed: int, *, slot: bool, refusals: bool, restarts: tuple[str, ...]) -> None:
        self.rnd = rnd = random.Random(seed)
        self._size = (lambda _: 2) if slot else (lambda most: rnd.randint(1, most))
        self.play = Watched(
            {f"n{index}": rnd.choice((4, 6, 8)) for index in range(rnd.randint(1, 3))},
            refuses_binding=Unreliable(rnd, rnd.choice((0.0, 0.4)), 2),
            refuses_eviction=Unreliable(rnd, 0.3 if refusals else 0.0, 1),
            latency=rnd.choice((0.0, 0.05, 0.4)),
        )
        self._fill()
        for number in range(rnd.randint(1, 4)):
            self.play.create(f"waits-{number}", self._size(4))
        self.expected: int | None = None if refusals else 0
        second = 1.0
        for number in range(rnd.randint(2, 6)):
            second += rnd.choice((0.0, 0.1, 0.7, 2.0))
            self.play.at(second, partial(self._preempt, number))
        for restart in restarts:
            self.play.at(rnd.uniform(1.0, second + 2.0), getattr(self.play, restart))
        self.play.run(300.0)

    def _fill(self) -> None:
        for node, cores in self.play.nodes.items():
            left, number = cores, 0
            while left:
                size = min(self._size(4), left)
                grace = self.rnd.choice((0.5, 1.0, 2.0, 5.0))
                self.play.create(f"low-{node}-{number}", size, grace=grace, on=node)
                left, number = left - size, number + 1

    def _preempt(self, number: int) -> None:
        play, cores = self.play, self._size(4)
        play.settle()
        least, before = least_victims(play, cores, 9), len(play.evicted)
        if self.expected is not None:
            assert before == self.expected, "somebody was evicted although nobody came"
        play.create(f"high-{number}", cores, priority=9)
        play.settle()
        self.expected = None if least is None or self.expected is None else self.expected + least


SEEDS = st.integers(0, 10**6)


@settings(max_examples=examples(60))
@given(SEEDS)
def test_no_more_go_than_have_to(seed: int):
    story = Story(seed, slot=False, refusals=False, restarts=())
    if story.expected is not None:
        assert len(story.play.evicted) == story.expected
        assert {name for name in story.play.pods if "high" in name} <= set(story.play.bound)


@settings(max_examples=examples(60))
@given(SEEDS, st.lists(st.sampled_from(("start_solver", "start_bridge")), max_size=3))
def test_nor_where_evictions_are_refused_and_processes_begin_anew(seed: int, restarts: list[str]):
    """Pods of one size: each that comes takes the place of one that goes."""
    story = Story(seed, slot=True, refusals=True, restarts=tuple(restarts))
    came = [name for name in story.play.bound if "high" in name]
    assert len(story.play.evicted) == len(came)
    slots = sum(cores // 2 for cores in story.play.nodes.values())
    assert len(came) == min(slots, sum("high" in name for name in story.play.pods))
    assert not [name for name in story.play.bound if "waits" in name]
