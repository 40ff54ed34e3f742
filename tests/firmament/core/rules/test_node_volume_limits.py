"""Shared volumes that are attached already: what tasks are spared on their machines, and what a round may give."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.events import MachineUpserted
from firmament.core.intake.events import apply_events
from firmament.core.model import Machine, TaskClass
from firmament.core.rules.framework.limit_rule import RoundDemand
from firmament.core.rules.task_amounts import add_spared, net_requests, spare_amounts
from firmament.core.rules.volumes import node_volume_limits
from firmament.core.rules.volumes.node_volume_limits import AttachedVolumes
from firmament.core.state.cluster import Cluster
from tests.support.rules import ints

CSI = "attachable-volumes-csi"
RULE = AttachedVolumes()


def sharing(*volumes: str, requested: int | None = None) -> TaskClass:
    """A class with shared volumes; it requests an attachment for each unless told otherwise."""
    number = len(volumes) if requested is None else requested
    return TaskClass(requests=((CSI, number),), attachments=tuple((CSI, volume) for volume in volumes))


def cluster(*classes: TaskClass, **attached: str) -> Cluster:
    """Machines with two attachments each, and the volumes that each has; classes numbered from 0."""
    made = Cluster()
    events = [
        MachineUpserted(Machine(name, {"cpu": 1, "pods": 10, CSI: 2}, attached=tuple(volumes.split())))
        for name, volumes in attached.items()
    ]
    apply_events(made, events, 0.0)
    for number, content in enumerate(classes):
        made.classes.define(number, content)
    return made


def spared(made: Cluster, cls: int, *rows: int) -> list[int] | None:
    found = RULE.find_waived_requests(made, made.classes.rows[cls].shape, ints(*rows))
    if found is None:
        return None
    column = made.resources.columns([CSI])[0]
    assert not np.delete(found, column, axis=1).any()
    return found[:, column].tolist()


def test_a_task_is_spared_the_volumes_that_a_machine_has():
    made = cluster(sharing("v", "w"), a="v w x", b="w", c="x")
    assert spared(made, 0, 0, 1, 2) == [2, 1, 0]
    assert spared(made, 0, 2, 0) == [0, 2]


def test_nothing_is_spared_without_attachments_or_beyond_requests():
    made = cluster(sharing(), sharing("gone"), sharing("v", "w", requested=1), a="v w", b="v")
    assert spared(made, 0, 0) is None
    assert spared(made, 1, 0) is None
    assert spared(made, 2, 0, 1) == [1, 1]


def test_a_resource_that_no_machine_offers_spares_nothing():
    content = TaskClass(
        requests=(("attachable-volumes-other", 1),), attachments=(("attachable-volumes-other", "v"),)
    )
    assert spared(cluster(content, a="v"), 0, 0) is None


def demand(made: Cluster, *counts: int) -> RoundDemand:
    shapes = [made.classes.rows[cls].shape for cls in range(len(counts))]
    return RoundDemand(shapes, ints(*counts), made.requests.rows(shapes)[0])


def test_machines_offer_what_could_be_saved_and_rows_hold_tasks_to_what_is_left():
    made = cluster(sharing("v"), sharing("w", "x"), a="v", b="v w", c="", d="v")
    column = made.resources.columns([CSI])[0]
    free = made.free()
    before = free.copy()
    offered, rows = RULE.limit(made, demand(made, 5, 3), free)
    assert (free == before).all()
    # a and d spare five tasks one attachment; b spares three more one each; nothing changes for c.
    assert (offered - free)[:, column].tolist() == [5, 8, 0, 5]
    assert not np.delete(offered - free, column, axis=1).any()
    assert [each.row_of.tolist() for each in rows] == [[0, -1, -1, 3], [-1, 1, -1, -1]]
    assert [each.amount.tolist() for each in rows] == [[0, 2], [0, 1]]
    assert [each.limit.tolist() for each in rows] == [[2, 0, 0, 2], [0, 2, 0, 0]]
    assert {each.reason for each in rows} == {"node(s) exceed max volume count"}


def test_no_rows_if_nothing_is_attached():
    made = cluster(sharing("v"), a="", b="w")
    free = made.free()
    offered, rows = RULE.limit(made, demand(made, 5), free)
    assert offered is free
    assert rows == []


def test_overfull_machines_have_a_limit_of_nothing():
    made = cluster(sharing("v"), a="v")
    free = made.free()
    free[:] = -3
    offered, (rows,) = RULE.limit(made, demand(made, 4), free)
    assert rows.limit.tolist() == [0]
    assert offered[0, made.resources.columns([CSI])[0]] == 4


def test_only_the_commonest_kinds_of_machines_are_told_apart(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(node_volume_limits, "MOST_KINDS", 1)
    made = cluster(sharing("v", "w"), a="v w", b="v", c="w")
    offered, rows = RULE.limit(made, demand(made, 1), made.free())
    assert [each.row_of.tolist() for each in rows] == [[-1, 1, 2]]
    assert (offered - made.free())[:, made.resources.columns([CSI])[0]].tolist() == [0, 1, 1]


def test_amounts_of_tasks_are_net_of_what_they_are_spared():
    made = cluster(sharing("v"), sharing(requested=2), a="v", b="")
    column = made.resources.columns([CSI])[0]
    net = net_requests(made, ints(0, 0, 0, 1, 0), ints(0, 1, -1, 0, 0))
    assert net[:, column].tolist() == [0, 1, 1, 2, 0]
    shape, other = (made.classes.rows[cls].shape for cls in (0, 1))
    assert spare_amounts(made, other, ints(0, 1)) is None
    found = spare_amounts(made, shape, ints(1, 0))
    assert found is not None
    assert found[:, column].tolist() == [0, 1]
    free = made.free()
    assert add_spared(made, other, free) is free
    assert (add_spared(made, shape, free) - free)[:, column].tolist() == [1, 0]
