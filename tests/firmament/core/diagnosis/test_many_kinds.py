"""Reasons for very many kinds of tasks without a place are found in several rounds, and everybody is told."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.diagnosis.pending_reasons import MOST_KINDS
from firmament.core.events import ClassDefined, Event, TasksSubmitted
from firmament.core.filters.root_causes import make_root_causes
from firmament.core.reasons import Cause, Reason, StatedReason, lack_of
from firmament.core.rules.framework.node_rule import MachineRefusal
from tests.support.core import machine, scheduler, task_class
from tests.support.effort import examples


def test_so_many_kinds_are_told_at_a_time_and_the_others_in_the_next_round():
    count = 2 * MOST_KINDS + 3
    events: list[Event] = [machine("m")]
    for number in range(1, count + 1):
        events += [
            ClassDefined(number, task_class(cpu=10_000 + number)),
            TasksSubmitted(number, (f"task-{number}",)),
        ]
    core = scheduler(events)
    told: list[int] = []
    while core.next_round_in() == 0.0:
        told.append(sum(len(group.uids) for group in core.run_round().unscheduled))
    assert told == [MOST_KINDS, MOST_KINDS, 3]
    assert all("Insufficient cpu" in state.message for state in core.task_states())


MACHINES = 6
MASKS = st.lists(st.booleans(), min_size=MACHINES, max_size=MACHINES).map(np.array)
CAUSES = st.sampled_from(
    [
        Cause(Reason.CORDONED),
        Cause(Reason.UNTOLERATED, "{a: b}"),
        Cause(Reason.UNTOLERATED, "{c: d}"),
        Cause(Reason.NOT_NEAR),
        Cause(StatedReason("some model refuses")),
        lack_of("cpu"),
        lack_of("memory"),
        lack_of("pods"),
    ]
)
REFUSALS = st.lists(st.builds(MachineRefusal, CAUSES, MASKS), max_size=8)


@given(standing=st.lists(CAUSES, max_size=4), codes=st.data(), others=REFUSALS)
@settings(max_examples=examples(200))
def test_what_stands_is_put_in_order_as_if_given_with_the_others(
    standing: list[Cause], codes: st.DataObject, others: list[MachineRefusal]
):
    drawn = codes.draw(
        st.lists(st.integers(-1, len(standing) - 1), min_size=MACHINES, max_size=MACHINES), label="codes"
    )
    code = np.array(drawn, dtype=np.int16)
    fixed = [MachineRefusal(cause, code == index) for index, cause in enumerate(standing)]
    found = make_root_causes(MACHINES, others, (fixed, code))
    expected = make_root_causes(MACHINES, [*fixed, *others])
    assert found.code.tolist() == expected.code.tolist()
    assert found.counts() == expected.counts()
    by_machine: dict[str, int] = {}
    for reason, told in expected.machines().items():
        by_machine[reason] = int(told.sum())
    assert dict(found.counts()) == by_machine
