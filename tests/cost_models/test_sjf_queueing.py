"""Under overload, shortest job first answers sooner on average than a policy that does not look at run times."""

from __future__ import annotations

from random import Random
from statistics import fmean

import pytest

from tests.cost_models.queueing import Arrival, response_times
from tests.support.effort import examples


def overload(seed: int) -> list[Arrival]:
    """Twice as much work as four machines can do, for five minutes: two short tasks to a long one."""
    random = Random(seed)
    lengths = {"long": 60.0, "short": 6.0}
    arrivals, time = [], 0.0
    while time < 300.0:
        program = random.choice(["long", "short", "short"])
        arrivals.append(Arrival(time, program, lengths[program] * random.uniform(0.8, 1.2)))
        time += random.expovariate(1.0 / 3.0)
    return arrivals


@pytest.mark.parametrize("seed", range(1, 1 + examples(3, least=1)))
def test_mean_response_is_lower_than_that_of_the_default_policy(seed: int):
    arrivals = overload(seed)
    shortest = fmean(response_times("sjf", arrivals, slots=4))
    default = fmean(response_times("cpu_mem", arrivals, slots=4))
    assert shortest < 0.9 * default


def test_with_room_for_all_there_is_no_difference():
    arrivals = overload(1)
    lengths = [each.seconds for each in arrivals]
    for policy in ("sjf", "cpu_mem"):
        assert response_times(policy, arrivals, slots=len(arrivals)) == pytest.approx(lengths)
