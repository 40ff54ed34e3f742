"""Room is kept for topology groups as a whole, by the rules of their tree, amid small tasks that come and go."""

from __future__ import annotations

from firmament.core.configuration import RoundOptions
from firmament.core.events import ClassDefined, TaskRemoved, TasksSubmitted
from tests.cost_models.tree_groups.scene import CPU, accept, cluster, counts, group, machines, racks, tree
from tests.support.core import Clock, task_class, uids

SMALL = 50
SOON = RoundOptions(reserve_after_rounds=3, reserve_after=0.0)


def test_a_group_that_small_tasks_overtake_gets_a_rack_of_its_own():
    given = racks(a=[2, 2], b=[2, 2], c=[2, 2])
    small = ClassDefined(SMALL, task_class(cpu=CPU, runs_to_completion=True))
    core = cluster(
        machines(given),
        tree(given),
        [small, TasksSubmitted(SMALL, uids("first", 12))],
        options=SOON,
        clock=Clock(1_000.0),
    )
    accept(core, core.run_round())
    running = [*uids("first", 12)]
    core.apply(group("g", 4, {"rack": {"hard": True}}))
    placed: dict[str, int] = {}
    for number in range(40):
        ended = running.pop(0)
        core.apply([TaskRemoved(ended), TasksSubmitted(SMALL, (f"small-{number}", f"more-{number}"))])
        result = core.run_round()
        accept(core, result)
        placed = counts(result, "g")
        if placed:
            break
        running += [delta.uid for delta in result.deltas]
    assert sum(placed.values()) == 4
    assert len({name.partition("-")[0] for name in placed}) == 1
