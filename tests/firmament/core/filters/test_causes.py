"""The order of causes: kube-scheduler's filters first, what it does not have after them."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool
from firmament.core.filters.root_causes import make_root_causes, rule_refusals
from firmament.core.model import Taint
from firmament.core.reasons import Cause, Reason, Severity, Stage, StatedReason, explain_untolerated
from firmament.core.rules.framework.node_rule import MachineRefusal
from firmament.core.rules.node_resources import find_refusals_by_resource

RESOURCES = ("pods", "cpu", "example.com/gpu", "attachable-volumes-csi-d", "available-volumes-local")
EVERYWHERE = np.ones(1, dtype=np.bool_)


def refusals(*without: str) -> list[MachineRefusal]:
    """Everything that can refuse the only machine but for some: rules between tasks in order, others latest first."""
    resources = find_refusals_by_resource(
        np.zeros((1, 5), dtype=np.int64), np.ones(5, dtype=np.int64), RESOURCES
    )
    rules = rule_refusals(
        (text, EVERYWHERE)
        for text in (Reason.SKEWED, Reason.NOT_NEAR, Reason.TOO_NEAR, Reason.KEPT_OFF, Reason.PORTS_TAKEN)
    )
    others = [
        MachineRefusal(Cause(StatedReason("node(s) too hot")), EVERYWHERE),
        MachineRefusal(Cause(Reason.WRONG_VOLUMES), EVERYWHERE),
        MachineRefusal(Cause(Reason.CORDONED), EVERYWHERE),
        MachineRefusal(explain_untolerated(Taint("a", "b", "NoSchedule")), EVERYWHERE),
        MachineRefusal(Cause(Reason.NOT_NAMED), EVERYWHERE),
    ]
    return [each for each in (*others, *rules, *resources) if each.cause.summary not in without]


def test_each_filter_has_its_turn():
    turns = []
    seen: list[str] = []
    while left := refusals(*seen):
        told = tuple(each.words for each in make_root_causes(1, left).list_causes(0))
        turns.append(told)
        seen += [each.removesuffix(" {a: b}") for each in told]
    assert turns == [
        (Reason.NOT_NAMED.value,),
        (Reason.CORDONED.value,),
        (f"{Reason.UNTOLERATED.value} {{a: b}}",),
        (Reason.PORTS_TAKEN.value,),
        ("Too many pods", "Insufficient cpu", "Insufficient example.com/gpu"),
        (Reason.TOO_MANY_VOLUMES.value,),
        (Reason.WRONG_VOLUMES.value, Reason.NO_VOLUME_LEFT.value),
        (Reason.SKEWED.value,),
        (Reason.NOT_NEAR.value,),
        (Reason.TOO_NEAR.value,),
        (Reason.KEPT_OFF.value,),
        ("node(s) too hot",),
    ]


def at(*machines: int) -> Bool:
    """bool[4] of some machines."""
    return np.isin(np.arange(4), machines)


def test_counts_join_equal_words_and_name_no_details():
    taints = [
        MachineRefusal(explain_untolerated(Taint("a", "", "NoSchedule")), at(0)),
        MachineRefusal(explain_untolerated(Taint("b", "", "NoSchedule")), at(1, 2)),
    ]
    causes = make_root_causes(4, taints)
    assert causes.counts() == [(Reason.UNTOLERATED.value, 3)]
    assert causes.find_refused().tolist() == [True, True, True, False]
    assert causes.list_causes(3) == ()


def test_what_evictions_may_open():
    found = [
        MachineRefusal(Cause(StatedReason("for good", Stage.NODE)), at(0)),
        MachineRefusal(Cause(StatedReason("for now", Stage.PORTS, Severity.UNSCHEDULABLE)), at(0, 1)),
    ]
    assert make_root_causes(4, found).curable().tolist() == [False, True, True, True]
