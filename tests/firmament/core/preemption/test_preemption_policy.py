"""Which waiting tasks may evict others."""

from __future__ import annotations

import pytest

from firmament.core.preemption.preemption_policy import may_evict
from tests.support.core import task_class


@pytest.mark.parametrize(
    ("content", "may"),
    [
        (task_class(), True),
        (task_class(never_preempts=True), False),
        (task_class(invalid="no such resource"), False),
    ],
)
def test_tasks_evict_unless_their_policy_is_never_or_they_fit_nowhere(content, may: bool):
    assert may_evict(content) is may
