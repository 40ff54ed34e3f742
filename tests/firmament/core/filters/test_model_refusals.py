"""Filters and joint rows of models: what they keep out, and what is said about it."""

from __future__ import annotations

import numpy as np

from cost_models.interface import (
    Assessment,
    JointRows,
    MachineColumns,
    ShapeBatch,
)
from firmament.core.configuration import WeightedModel
from firmament.core.events import MachineRemoved
from firmament.core.results import MachineVerdict
from firmament.core.scheduler import Scheduler
from tests.support.core import machine, messages, placed, scheduler, task_class, tasks, uids
from tests.support.models import Stated


def verdicts(core: Scheduler, uid: str) -> dict[str, MachineVerdict]:
    return {verdict.machine: verdict for verdict in core.explain(uid).machines}


def test_the_first_refusal_is_the_cause():
    def refuse_all(reason: str) -> Stated:
        return Stated(
            lambda machines, shapes: Assessment(
                raw=np.zeros((shapes.count, 1)),
                feasible=np.zeros((shapes.count, machines.count), np.bool_),
                reason=reason,
            )
        )

    core = scheduler(
        machine("cordoned", cordoned=True),
        machine("open"),
        machine("small", cpu=1),
        tasks(1, "t"),
        overlays=[WeightedModel(refuse_all("node(s) one")), WeightedModel(refuse_all("node(s) two"))],
    )
    assert placed(core.run_round()) == {}
    assert {name: verdict.reasons for name, verdict in verdicts(core, "t").items()} == {
        "cordoned": ("node(s) were unschedulable",),
        "open": ("node(s) one",),
        "small": ("Insufficient cpu",),
    }


def links(limit: int) -> Stated:
    """All machines share one link, of which every task takes as much as its milli-cores."""
    return Stated(
        lambda machines, shapes: Assessment(
            raw=np.zeros((shapes.count, 1)),
            joint=[
                JointRows(
                    row_of=np.zeros(machines.count, dtype=np.int64),
                    amount=shapes.requests[:, 1].copy(),
                    limit=np.array([limit]),
                    reason="node(s) without bandwidth",
                )
            ],
        )
    )


def test_joint_rows_bound_what_tasks_use_together():
    core = scheduler(
        machine("m"),
        machine("n"),
        tasks(1, *uids("t", 9), content=task_class(cpu=100)),
        tasks(2, *uids("u", 9), content=task_class(cpu=130)),
        overlays=[WeightedModel(links(550))],
    )
    result = core.run_round()
    used = sum(100 if uid.startswith("t") else 130 for uid in placed(result))
    assert 550 - 100 < used <= 550


# --- messages --------------------------------------------------------------------------------------------------------


def too_hot(*names: str) -> Stated:
    """Refuses the machines called ``names``."""

    def judge(machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        cool = np.array([name not in names for name in machines.names], dtype=np.bool_)
        return Assessment(
            raw=np.zeros((shapes.count, 1)),
            feasible=np.broadcast_to(cool, (shapes.count, machines.count)).copy(),
            reason="node(s) too hot",
        )

    return Stated(judge)


def test_refusals_of_models_are_part_of_the_message():
    core = scheduler(
        machine("a", cordoned=True),
        machine("b"),
        machine("c"),
        machine("d", cpu=1),
        machine("e", cpu=1),
        tasks(1, "t"),
        overlays=[WeightedModel(too_hot("a", "b", "c", "d"))],
    )
    assert messages(core.run_round()) == {
        "t": "0/5 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu, 2 node(s) too hot."
    }


def test_refusals_of_models_follow_their_machines():
    core = scheduler(
        *(machine(name) for name in "abcd"), tasks(1, "t"), overlays=[WeightedModel(too_hot(*"abcd"))]
    )
    opened = core.open_round()
    placement = opened.solve()
    core.apply([MachineRemoved("a"), machine("b", cordoned=True), machine("e", cpu=1)])
    assert messages(core.close_round(opened, placement)) == {
        "t": "0/4 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable, 2 node(s) too hot."
    }


def test_nothing_is_said_where_a_machine_has_opened_meanwhile():
    core = scheduler(machine("a", cpu=1), tasks(1, "t"))
    opened = core.open_round()
    placement = opened.solve()
    core.apply([machine("b")])
    assert messages(core.close_round(opened, placement)) == {}
    assert core.next_round_in() == 0.0


def test_full_joint_rows_are_part_of_the_message():
    core = scheduler(
        machine("m"),
        machine("small", cpu=1),
        tasks(1, *uids("t", 3), content=task_class(cpu=100)),
        overlays=[WeightedModel(links(250))],
    )
    result = core.run_round()
    assert len(placed(result)) == 2
    assert list(messages(result).values()) == [
        (
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) without bandwidth. "
            "m had room until t-1 took it in the same round."
        )
    ]


def test_joint_rows_without_room_for_one_task_are_explained():
    core = scheduler(
        machine("m"), tasks(1, "t", content=task_class(cpu=300)), overlays=[WeightedModel(links(250))]
    )
    verdict = verdicts(core, "t")["m"]
    assert verdict.reasons == ("node(s) without bandwidth",)
    assert [model.feasible for model in verdict.models] == [True, False, True]
