"""Limits, sizes and defaults that other code relies on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "firmament.core.queue.work_budgets:ALONE": 2,
    "firmament.core.queue.class_work:ORDINARY": 64,
    "firmament.core.queue.class_work:PAIR": 1000,
    "firmament.core.queue.class_work:PLAIN_CHECKS": 6000,
    "firmament.core.queue.class_work:TASKS_PER_CHECK": 8,
    "firmament.core.queue.class_work:_CHECKS_LIKE_A_CLASS": 16,
    "firmament.core.queue.class_work:_OF_BEING_CHOOSY": 40,
    "firmament.core.queue.class_work:_SAMPLE": 4,
    "firmament.core.queue.gang_reservations:MACHINES_PER_GANG_MACHINE": 10,
    "firmament.core.queue.gang_size_limits:MOST_CHECKS_OF_A_GANG": 16_000,
    "firmament.core.queue.gang_size_limits:MOST_SELECTED_OF_A_GANG": 2000,
    "firmament.core.queue.gang_size_limits:MOST_TERMS_OF_A_GANG": 2000,
    "firmament.core.queue.gang_size_limits:_OF_A_KIND": 40,
    "firmament.core.queue.order:SYSTEM_CRITICAL": 2_000_000_000,
    "firmament.core.queue.namespace_turns:MOST_NAMESPACES": 10_000,
    "firmament.core.queue.reservations:MACHINES_PER_RESERVATION": 200,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
