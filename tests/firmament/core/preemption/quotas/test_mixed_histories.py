"""After whatever step of mixed histories, evictions end."""

from __future__ import annotations

import pytest

from tests.firmament.core.preemption.quotas.mixed_histories import run
from tests.support.effort import examples


def test_evictions_end_after_each_step_of_mixed_histories():
    evictions = sum(run(seed, 20).evictions for seed in range(examples(200, least=10, slow=True)))
    assert evictions


@pytest.mark.full
def test_evictions_end_after_each_of_thousands_of_mixed_steps():
    for seed in range(10_000, 10_250):
        run(seed, 40)
