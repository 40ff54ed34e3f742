"""The order of causes: kube-scheduler's filters first, what it does not have after them."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool
from firmament.core.constraints.ruleset import KEPT_OFF, NOT_NEAR, PORTS_TAKEN, SKEWED, TOO_NEAR
from firmament.core.filters import reasons
from firmament.core.filters.root_causes import Cause, MachineRefusal, Stage, lacks, root_causes, rule_refusals

RESOURCES = ("pods", "cpu", "example.com/gpu", "attachable-volumes-csi-d", "available-volumes-local")
EVERYWHERE = np.ones(1, dtype=np.bool_)


def refusals(*without: str) -> list[MachineRefusal]:
    """Everything that can refuse the only machine, latest first, but for some."""
    resources = lacks(np.zeros((1, 5), dtype=np.int64), np.ones(5, dtype=np.int64), RESOURCES)
    rules = rule_refusals((text, EVERYWHERE) for text in (KEPT_OFF, TOO_NEAR, NOT_NEAR, SKEWED, PORTS_TAKEN))
    others = [
        MachineRefusal(Cause("node(s) too hot"), EVERYWHERE),
        MachineRefusal(Cause(reasons.WRONG_VOLUMES, Stage.VOLUMES), EVERYWHERE),
        MachineRefusal(Cause(reasons.CORDONED, Stage.NODE), EVERYWHERE),
        MachineRefusal(Cause(reasons.UNTOLERATED, Stage.NODE, "{a: b}"), EVERYWHERE),
        MachineRefusal(Cause(reasons.NOT_NAMED, Stage.NAMED), EVERYWHERE),
    ]
    return [each for each in (*others, *rules, *resources) if each.cause.text not in without]


def test_each_filter_has_its_turn():
    turns = []
    seen: list[str] = []
    while left := refusals(*seen):
        told = root_causes(1, left).told(0)
        turns.append(told)
        seen += [each.removesuffix(" {a: b}") for each in told]
    assert turns == [
        (reasons.NOT_NAMED,),
        (reasons.CORDONED,),
        (f"{reasons.UNTOLERATED} {{a: b}}",),
        (PORTS_TAKEN,),
        ("Too many pods", "Insufficient cpu", "Insufficient example.com/gpu"),
        (reasons.TOO_MANY_VOLUMES,),
        (reasons.WRONG_VOLUMES, reasons.NO_VOLUME_LEFT),
        (SKEWED,),
        (NOT_NEAR,),
        (TOO_NEAR,),
        (KEPT_OFF,),
        ("node(s) too hot",),
    ]


def at(*machines: int) -> Bool:
    """bool[4] of some machines."""
    return np.isin(np.arange(4), machines)


def test_counts_join_equal_words_and_name_no_details():
    taints = [
        MachineRefusal(Cause(reasons.UNTOLERATED, Stage.NODE, "{a: }"), at(0)),
        MachineRefusal(Cause(reasons.UNTOLERATED, Stage.NODE, "{b: }"), at(1, 2)),
    ]
    causes = root_causes(4, taints)
    assert causes.counts() == [(reasons.UNTOLERATED, 3)]
    assert causes.refused().tolist() == [True, True, True, False]
    assert causes.told(3) == ()


def test_what_evictions_may_open():
    found = [
        MachineRefusal(Cause("for good", Stage.NODE), at(0)),
        MachineRefusal(Cause("for now", Stage.PORTS, curable=True), at(0, 1)),
    ]
    assert root_causes(4, found).curable().tolist() == [False, True, True, True]
