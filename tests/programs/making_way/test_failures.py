"""Room that pods have left stays with whom they left for, whatever fails in between and is tried again."""

from __future__ import annotations

from functools import partial

import pytest

from tests.programs.making_way.play import Play


class Once:
    """Refuses what is asked for one pod, the first ``times`` times."""

    def __init__(self, name: str, times: int = 1) -> None:
        self.name, self.left = name, times

    def __call__(self, name: str) -> str:
        if name != self.name or not self.left:
            return ""
        self.left -= 1
        return "refused"


def one_preemptor(**how: object) -> Play:
    """A node of 4 cores; a pod that waits, one that runs, and at 1 s a more important one that needs the node."""
    play = Play({"n": 4}, **how)  # type: ignore[arg-type]  # by name
    play.create("low", 4, on="n")
    play.create("waits", 4)
    play.at(1.0, lambda: play.create("high", 4, priority=9))
    return play


@pytest.mark.parametrize("times", [1, 3])
def test_a_binding_that_fails_does_not_lose_the_room(times: int):
    play = one_preemptor(refuses_binding=Once("high", times), latency=0.1)
    play.run(60.0)
    assert play.evicted == ["low"]
    assert set(play.bound) == {"high"}


def test_those_who_come_meanwhile_do_not_get_it_either():
    play = one_preemptor(refuses_binding=Once("high", 2), latency=0.1)
    for number in range(30):
        play.at(1.5 + 0.1 * number, partial(play.create, f"more-{number}", 1))
    play.run(60.0)
    assert play.evicted == ["low"]
    assert set(play.bound) == {"high"}


def test_one_whose_victims_stayed_in_part_gets_the_room_of_the_others():
    play = Play({"n": 4}, refuses_eviction=Once("low-b"))
    play.create("low-a", 2, on="n")
    play.create("low-b", 2, on="n")
    play.create("waits", 2)
    play.at(1.0, lambda: play.create("high", 4, priority=9))
    play.run(60.0)
    assert play.evicted == ["low-a", "low-b"]
    assert set(play.bound) == {"high"}


def test_room_is_free_again_when_the_pod_is_deleted():
    play = one_preemptor(refuses_binding=Once("high", 99))
    play.at(20.0, lambda: play.delete("high"))
    play.run(19.0)
    assert play.bound == {}
    play.run(2.0)
    assert play.seconds("waits") == 20.0


def test_room_is_free_again_when_the_pod_finds_another_place():
    play = one_preemptor(refuses_binding=Once("high"))
    play.at(2.5, lambda: play.add_node("o", 4))
    play.run(30.0)
    assert sorted(play.bound) == ["high", "waits"]
    assert play.evicted == ["low"]


def test_more_important_pods_need_not_wait_for_a_back_off():
    """The one that is to be tried again takes part beside them, and they come first."""
    play = one_preemptor(refuses_binding=Once("high", 4))
    play.at(6.0, lambda: play.create("higher", 4, priority=10))
    play.run(60.0)
    assert play.seconds("higher") == 6.0
    assert play.evicted == ["low"]


def test_a_new_solver_and_a_new_bridge_leave_the_room_to_it():
    for restart in (Play.start_solver, Play.start_bridge):
        play = one_preemptor(refuses_binding=Once("high"))
        play.at(2.5, partial(restart, play))
        play.run(30.0)
        assert play.evicted == ["low"]
        assert set(play.bound) == {"high"}
