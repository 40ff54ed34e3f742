"""Pauses after failures: they double up to a limit, and are drawn from the upper half of their step."""

from __future__ import annotations

from random import Random

import pytest

from poseidon.kube.client.backoff import Backoff


class Drawn(Random):
    """Draws always the same."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self._value = value

    def random(self) -> float:
        return self._value


@pytest.mark.parametrize(
    ("drawn", "pauses"),
    [(1.0, [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]), (0.0, [0.25, 0.5, 1.0, 2.0, 2.5, 2.5])],
)
def test_pauses_double_up_to_the_limit(drawn, pauses):
    backoff = Backoff(Drawn(drawn), initial=0.5, cap=5.0)
    assert [backoff.next() for _ in pauses] == pauses
    assert backoff.failures == 6
    backoff.reset()
    assert backoff.next() == pauses[0]


def test_pauses_are_from_a_fifth_of_a_second_to_half_a_minute_unless_said_otherwise():
    backoff = Backoff(Drawn(1.0))
    pauses = [backoff.next() for _ in range(3000)]
    assert pauses[0] == pytest.approx(0.2)
    assert pauses[-1] == 30.0
