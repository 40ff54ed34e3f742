"""When requests are sent that a token bucket lets through."""

from __future__ import annotations

import pytest

from poseidon.simulate.token_bucket import TokenBucket


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ([(0.0, 3)], [0.0]),  # a burst at once
        ([(0.0, 4)], [0.5]),  # and one more after a half of a second
        ([(0.0, 3), (0.0, 1), (0.0, 1)], [0.0, 0.5, 1.0]),
        ([(0.0, 3), (0.5, 1), (0.5, 1)], [0.0, 0.5, 1.0]),  # one has been filled in meanwhile
        ([(0.0, 3), (100.0, 4)], [0.0, 100.5]),  # a long pause fills in no more than a burst
        ([(0.0, 6), (0.0, 0), (1.0, -1)], [1.5, 0.0, 1.0]),  # nobody who asks for nothing waits
    ],
)
def test_a_burst_goes_at_once_and_the_rest_at_its_rate(asked, sent):
    bucket = TokenBucket(per_second=2.0, burst=3)
    assert [bucket.send(requests, now) for now, requests in asked] == pytest.approx(sent)
