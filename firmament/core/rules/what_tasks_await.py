"""Finds waiting tasks that may be placed when other tasks come or go, by rules about tasks and about shared amounts."""

from __future__ import annotations

import numpy as np

from firmament.core.model import TaskClass, TaskSelector
from firmament.core.rules import registry
from firmament.core.rules.framework.limit_rule import LimitRule
from firmament.core.state.class_selectors import own_selector
from firmament.core.state.cluster import Cluster

_POOLING = [rule for rule in registry.LIMIT_RULES if type(rule).get_pool is not LimitRule.get_pool]


def any_waits(cluster: Cluster) -> bool:
    """Return whether a task that comes or goes may make machines other than its own acceptable to waiting tasks."""
    if registry.list_ruled(cluster) or any(
        type(rule).select_awaited_tasks is not LimitRule.select_awaited_tasks for rule in registry.LIMIT_RULES
    ):
        return True
    return any(cluster.classes.list_stating(rule.for_tasks_with) for rule in _POOLING)


def list_pools(cluster: Cluster, content: TaskClass) -> set[tuple[str, str]]:
    """Return (rule, pool) for each pool that tasks of a class use.

    When a task ends, another task that uses the same pool may fit.
    """
    stated = [rule for rule in _POOLING if any(getattr(content, name) for name in rule.for_tasks_with)]
    return {(rule.name, pool) for rule in stated if (pool := rule.get_pool(cluster, content))}


def list_awaited(content: TaskClass) -> list[TaskSelector]:
    """Return selectors of the tasks whose arrival or departure may make any machine acceptable to a class."""
    awaited = [each for rule in registry.POD_RULES for each in rule.select_awaited_tasks(content)]
    awaited += [each for rule in registry.LIMIT_RULES for each in rule.select_awaited_tasks(content)]
    return [own_selector(each, content) for each in awaited]


def list_excluded_selectors(content: TaskClass) -> list[TaskSelector]:
    """Return selectors of the tasks that a class keeps off machines.

    When tasks of the class leave, the selected tasks may be placed.
    """
    return [
        own_selector(each, content)
        for rule in registry.POD_RULES
        for each in rule.select_excluded_tasks(content)
    ]


def selects(cluster: Cluster, ruled: int, cls: int) -> bool:
    """Return whether some term of pod affinity of a class selects another class.

    ``ruled``: row of the class that states terms, one of ``list_ruled``. ``cls``: row of the class that the terms of
    ``ruled`` may select.
    """
    selector = cluster.selector()
    for term in selector.list_terms(ruled):
        found = selector.find_selected(term)
        place = int(np.searchsorted(found, cls))
        if place < len(found) and found[place] == cls:
            return True
    return False
