"""Limits the size of gangs: a gang is not split, so one round must place all members that the gang needs."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.queue.class_work import ClassWork

MOST_TERMS_OF_A_GANG = 2_000
"""The most terms of pod affinity and anti-affinity that the kinds of a gang's members may have together."""

MOST_SELECTED_OF_A_GANG = 2_000
"""How often a gang's terms of pod affinity and anti-affinity may select kinds of its own members; a term is checked
against each kind that it selects."""

MOST_CHECKS_OF_A_GANG = 16_000
"""The most checks of each machine for all kinds of a gang's members, whatever their rules are."""

_OF_A_KIND = 40
"""Checks of each machine for a kind of a gang's members in addition to its rules.

These checks stand for a kind's own time on 1,500 machines, and for finding the reasons why it fits nowhere.
"""


def explain_too_large(work: ClassWork, classes: Int64) -> str:
    """Return why no round should take a gang with members of these classes (rows); "" if a round may."""
    terms = int(work.terms[classes].sum())
    own = np.zeros(len(work.terms), dtype=np.bool_)
    own[classes] = True
    if terms > MOST_TERMS_OF_A_GANG:
        has = f"{terms} terms of pod affinity and anti-affinity in the specs of its members"
        return (
            f"has {has}; at most {MOST_TERMS_OF_A_GANG} are supported, use fewer or label the members alike"
        )
    selected = sum(work.count_selected(row, own) for row in classes.tolist()) if terms else 0
    if selected > MOST_SELECTED_OF_A_GANG:
        return (
            f"has {terms} terms of pod affinity and anti-affinity, which select its {len(classes)} kinds of members "
            f"{selected} times; at most {MOST_SELECTED_OF_A_GANG} are supported, use fewer or label the members alike"
        )
    checked = int(work.checks[classes].sum()) + _OF_A_KIND * len(classes)
    if checked > MOST_CHECKS_OF_A_GANG:
        return (
            f"has {len(classes)} kinds of members, for whose specs a round looks at each node {checked} times; at most "
            f"{MOST_CHECKS_OF_A_GANG} are supported, use fewer rules or make members alike"
        )
    return ""
