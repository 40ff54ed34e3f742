"""What a task of a group is told per machine: outside of the tree, and where the others are."""

from __future__ import annotations

from cost_models.group_terms import NOT_IN_TREE
from firmament.core.results import MachineVerdict, ModelVerdict
from firmament.core.scheduler import Scheduler
from tests.cost_models.tree_groups.scene import (
    CPU,
    cluster,
    group,
    job,
    machines,
    racks,
    rules,
    running,
    singles,
    tree,
)
from tests.support.core import machine


def verdicts(core: Scheduler, uid: str) -> dict[str, MachineVerdict]:
    return {each.machine: each for each in core.explain(uid).machines}


def of_overlay(verdict: MachineVerdict) -> ModelVerdict:
    return next(each for each in verdict.models if each.model == "topology")


def test_a_machine_outside_of_the_tree_is_refused_to_groups_alone():
    given = racks(a=(2,))
    core = cluster(machines(given), machine("far", cpu=CPU), tree(given), group("g", 2), singles("x"))
    far = verdicts(core, "g-0")["far"]
    assert (far.feasible, far.reasons, of_overlay(far).feasible) == (False, (NOT_IN_TREE,), False)
    assert of_overlay(verdicts(core, "g-0")["a-0"]).feasible
    assert verdicts(core, "x")["far"].feasible


def test_details_say_where_the_others_of_the_group_are():
    given = racks(a=(2, 2), b=(2,))
    core = cluster(machines(given), tree(given), job("g", 3), rules("g"))
    core.apply(running("g", {"a-0": ("g-0", "g-1"), "a-1": ("g-2",)}))
    found = verdicts(core, "g-2")
    assert of_overlay(found["a-1"]).details == ("rack a: 2 other pods of the group",)
    assert of_overlay(found["a-0"]).details == (
        "rack a: 2 other pods of the group",
        "node a/a-0: 2 other pods of the group",
    )
    assert of_overlay(found["b-0"]).details == ()
