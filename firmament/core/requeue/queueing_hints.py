"""Whom it concerns that tasks came to a machine or left one, or that domains of machines changed."""

from __future__ import annotations

from collections.abc import Collection

from firmament.core.model import TaskClass, TaskSelector
from firmament.core.state.class_selectors import own_selector
from firmament.core.state.cluster import Cluster


class Concerns:
    """Classes to which something that has happened may open a machine, wherever that machine is.

    Required rules count, pairs that a model knows, and constraints that models have: where a task with partners comes
    or leaves, another may find its limits kept, or room on a link. Preferences keep nobody waiting. Ports do not: one
    that comes free does so on a machine that a task has left, and those are looked at anyway.
    """

    def __init__(self, cluster: Cluster, touched: Collection[int], *, domains_changed: bool) -> None:
        """``touched``: rows of the classes of which tasks came or left; ``domains_changed``: as in `Marks`."""
        self._rows = cluster.classes.rows
        self._selector = cluster.selector()
        self._touched = frozenset(touched) if cluster.classes.ruled else frozenset()
        self._domains_changed = domains_changed
        self._kind_labels = cluster.needs.kind_labels
        self._partners_moved = bool(self._kind_labels) and any(
            self._paired(self._rows[row].content) for row in touched
        )
        speaking = cluster.classes.ruled if domains_changed else self._touched
        self._kept_off = {
            selected
            for row in speaking
            for term in self._rows[row].content.anti_affinity
            for selected in self._selector.matching(
                own_selector(term.selector, self._rows[row].content)
            ).tolist()
        }

    def of(self, cls: int) -> bool:
        """Whether it may matter to tasks of class row ``cls``."""
        content = self._rows[cls].content
        if cls in self._kept_off or (self._partners_moved and self._paired(content)):
            return True
        watched = _watched(content)
        if self._domains_changed:
            return bool(watched) or self._paired(content)
        return bool(self._touched) and any(
            not self._touched.isdisjoint(self._selector.matching(selector).tolist()) for selector in watched
        )

    def _paired(self, content: TaskClass) -> bool:
        """Whether a class's tasks may be partners of others."""
        return any(key in self._kind_labels for key, _ in content.labels)


def _watched(content: TaskClass) -> list[TaskSelector]:
    """Selectors of a class's required rules."""
    given = [term.selector for term in (*content.affinity, *content.anti_affinity)]
    given += [rule.selector for rule in content.spread if rule.required]
    return [own_selector(selector, content) for selector in given]
