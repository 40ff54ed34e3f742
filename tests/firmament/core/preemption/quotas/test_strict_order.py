"""In queues whose tasks come strictly in order, nobody evicts others before the first one has its place."""

from __future__ import annotations

import random

import numpy as np
import pytest

from firmament.core.constraints.quota_terms import Draw
from firmament.core.events import ClassDefined, TasksBound, TasksSubmitted
from firmament.core.preemption.quotas.strict_order import find_behind
from firmament.core.results import DeltaKind
from tests.firmament.core.constraints.quota_terms import one_of
from tests.firmament.core.constraints.quota_terms import pose as pose_quotas
from tests.firmament.core.preemption.quotas.quota_states import quota_state
from tests.firmament.core.preemption.states import Waiting
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, scheduler, task_class


@pytest.mark.parametrize("order", ["StrictFIFO", "BestEffortFIFO"])
def test_who_stands_behind_the_first_evicts_nobody_in_a_strict_queue(order: str):
    """The first asks for more than there is; the next one, as important, could have the place of a newer one."""
    core = scheduler(
        machine("m", cpu=20),
        flavor("any"),
        quota("queue", {"any": {"cpu": 4}}, order=order, preemption={"within": "LowerOrNewerEqualPriority"}),
        ClassDefined(1, task_class(9, queue="queue")),
        ClassDefined(2, task_class(2, queue="queue")),
        ClassDefined(3, task_class(4, queue="queue")),
        TasksSubmitted(1, ("first",), created=(1.0,)),
        TasksSubmitted(2, ("second",), created=(2.0,)),
        TasksSubmitted(3, ("newest",), created=(3.0,)),
        TasksBound("m", 3, ("newest",)),
    )
    gone = {delta.uid for delta in core.run_round().deltas if delta.kind is DeltaKind.PREEMPT}
    assert gone == (set() if order == "StrictFIFO" else {"newest"})


def test_the_first_is_the_most_important_then_the_oldest_with_its_whole_gang():
    """Against the definition, for random classes of two queues, of which the second is not strict."""
    draw = random.Random(5)
    kinds = [Draw(0, (one_of(0),)), Draw(1, (one_of(0),)), Draw(0, (one_of(0),), "refused")]
    for _ in range(200):
        count = draw.randint(1, 6)
        priority = [draw.randint(0, 2) for _ in range(count)]
        kind = [draw.randint(0, 2) for _ in range(count)]
        gang = [draw.choice((-1, -1, 0)) for _ in range(count)]
        terms = pose_quotas([[9], [9]], [kinds[each] for each in kind], strict=np.array([True, False]))
        now = quota_state(terms, [Waiting((1,), each) for each in priority], [[9]])
        strict = [cls for cls in range(count) if kind[cls] != 1]
        # Earlier classes have waited longer.
        able = [cls for cls in strict if kind[cls] == 0]
        first = min(able, key=lambda cls: (-priority[cls], cls), default=None)
        expected = [
            cls in strict
            and first is not None
            and cls != first
            and (gang[cls] < 0 or gang[cls] != gang[first])
            for cls in range(count)
        ]
        assert find_behind(now, np.array(gang)).tolist() == expected
