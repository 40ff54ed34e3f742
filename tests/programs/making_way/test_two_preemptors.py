"""Those who need the same node, decided one after the other: room goes to whom it was made for, and to nobody else."""

from __future__ import annotations

from functools import partial

import pytest

from tests.programs.making_way.play import Play


@pytest.mark.parametrize("latency", [0.0, 0.05])
def test_each_is_bound_when_its_victim_has_gone_and_nobody_else_is(latency: float):
    play = Play({"n": 8}, latency=latency)
    play.create("low-a", 4, grace=1.0, on="n")
    play.create("low-b", 4, grace=2.0, on="n")
    play.create("waits", 4)
    play.at(1.0, lambda: play.create("a", 4, priority=9))
    play.at(1.3, lambda: play.create("b", 4, priority=9))
    play.run(30.0)
    assert play.evicted == ["low-a", "low-b"]
    assert play.bound == {"a": 1_002.0 + latency, "b": 1_003.3 + latency}


@pytest.mark.parametrize("latency", [0.0, 0.05])
def test_of_six_none_waits_for_the_victim_of_a_later_one(latency: float):
    play = Play({"n": 24}, latency=latency)
    for number in range(6):
        play.create(f"low-{number}", 4, grace=1.0 + 0.3 * number, on="n")
        play.at(1.0 + 0.3 * number, partial(play.create, f"high-{number}", 4, priority=9))
    play.create("waits", 4)
    play.create("waits-too", 4)
    play.run(60.0)
    assert play.evicted == [f"low-{number}" for number in range(6)]
    assert play.bound == {
        f"high-{number}": pytest.approx(1_002.0 + 0.6 * number + latency) for number in range(6)
    }


def test_a_less_important_pod_does_not_come_into_room_that_a_waiting_one_needs():
    """Another scheduler has taken what was left beside the place of the one that waits."""
    play = Play({"n": 8}, latency=0.5)
    play.create("victim", 4, grace=9.0, on="n")
    play.create("high", 6, priority=9)
    play.at(1.0, lambda: play.create("low", 2))
    play.at(1.2, lambda: play.create("foreign", 1, on="n", scheduler="default-scheduler"))
    play.run(5.0)
    assert play.bound == {}
    play.at(6.0, lambda: play.delete("foreign"))
    play.run(20.0)
    assert play.seconds("high") == 9.5
    assert "low" in play.bound
