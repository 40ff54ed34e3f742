"""Whom tasks that come or go may help, by the rules about other tasks and about amounts that tasks share."""

from __future__ import annotations

import numpy as np

from firmament.core.model import TaskClass, TaskSelector
from firmament.core.rules import registry
from firmament.core.rules.framework.limit_rule import LimitRule
from firmament.core.state.class_selectors import own_selector
from firmament.core.state.cluster import Cluster

_POOLING = [rule for rule in registry.LIMIT_RULES if type(rule).get_pool is not LimitRule.get_pool]


def any_waits(cluster: Cluster) -> bool:
    """Return whether tasks that come or go may matter elsewhere than where they are."""
    if registry.list_ruled(cluster) or any(
        type(rule).awaits is not LimitRule.awaits for rule in registry.LIMIT_RULES
    ):
        return True
    return any(cluster.classes.list_stating(rule.for_tasks_with) for rule in _POOLING)


def list_pools(cluster: Cluster, content: TaskClass) -> set[tuple[str, str]]:
    """Return what tasks of a class share wherever they are: one that goes may let in another with the same."""
    stated = [rule for rule in _POOLING if any(getattr(content, name) for name in rule.for_tasks_with)]
    return {(rule.name, pool) for rule in stated if (pool := rule.get_pool(cluster, content))}


def list_awaited(content: TaskClass) -> list[TaskSelector]:
    """Return whose coming or going may open a machine to a class, wherever that is."""
    awaited = [each for rule in registry.POD_RULES for each in rule.awaits(content)]
    awaited += [each for rule in registry.LIMIT_RULES for each in rule.awaits(content)]
    return [own_selector(each, content) for each in awaited]


def list_kept_off(content: TaskClass) -> list[TaskSelector]:
    """Return selectors of tasks that a class may keep off machines anywhere: when one of its tasks goes, these may
    come."""
    return [own_selector(each, content) for rule in registry.POD_RULES for each in rule.keeps_off(content)]


def selects(cluster: Cluster, ruled: int, cls: int) -> bool:
    """Return whether a class (``ruled``, one of ``list_ruled``) has a say in where tasks of another go: some term
    of its pod affinity selects them. Rows of the class table.
    """
    selector = cluster.selector()
    for term in selector.list_terms(ruled):
        found = selector.find_selected(term)
        place = int(np.searchsorted(found, cls))
        if place < len(found) and found[place] == cls:
            return True
    return False
