"""Periods of leader election have an order, or a leader that is cut off would go on beside its successor."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from poseidon.leadership.options import LONGEST_LEASE, LONGEST_MULTIPLE, LeaderElectionOptions


@pytest.mark.parametrize(
    ("periods", "problem"),
    [
        ({}, ""),
        ({"lease_duration": 1.0, "renew_deadline": 0.9, "retry_period": 0.1}, ""),
        ({"lease_duration": 0.9, "renew_deadline": 0.5, "retry_period": 0.1}, "must be at least 1s"),
        ({"lease_duration": 10.0}, "leaseDuration must be longer than renewDeadline"),
        ({"lease_duration": 10.1}, ""),
        ({"retry_period": 8.4}, "renewDeadline must be longer than 1.2 times retryPeriod"),
        ({"retry_period": 8.3}, ""),
        (
            {"renew_deadline": 1.2, "retry_period": 1.0},
            "renewDeadline must be longer than 1.2 times retryPeriod",
        ),
    ],
)
def test_which_periods_are_taken(periods: dict[str, Any], problem: str) -> None:
    if not problem:
        assert not LeaderElectionOptions(**periods).leader_elect, "it is off unless it is asked for"
        return
    with pytest.raises(ValidationError, match=problem):
        LeaderElectionOptions(**periods)


def test_the_longest_lease_that_is_believed_grows_with_the_own() -> None:
    assert LeaderElectionOptions().longest_lease == LONGEST_LEASE
    long = 2 * LONGEST_LEASE
    assert LeaderElectionOptions(lease_duration=long).longest_lease == LONGEST_MULTIPLE * long
