"""A pod that cannot fit beside a service keeps nobody off its node; one that waits for a Job does so for a while."""

from __future__ import annotations

from functools import partial

from tests.programs.making_way.play import Play


def small_ones(play: Play, count: int, seconds: float) -> None:
    """Pods of one core come again and again, and each ends after a second."""
    for number in range(count):
        second = 1.0 + number * seconds
        play.at(second, partial(play.create, f"small-{number}", 1, restart_policy="Never"))
        play.at(second + 1.0, partial(play.delete, f"small-{number}"))


def bound(play: Play) -> int:
    return sum(name.startswith("small") for name in play.bound)


def test_beside_a_service_nothing_is_kept_for_a_pod_that_can_never_fit():
    play = Play({"n": 4})
    play.create("service", 1, on="n")
    play.create("large", 4)
    small_ones(play, count=150, seconds=2.0)
    play.run(400.0)
    assert bound(play) == 150


def test_a_pod_that_waits_for_a_job_gets_the_node_when_that_has_ended():
    play = Play({"n": 4})
    play.create("job", 1, on="n", restart_policy="Never")
    play.create("large", 4, restart_policy="Never")
    for number in range(180):  # there is always one of them on the node, so it is never empty by chance
        play.at(1.0 + number, partial(play.create, f"small-{number}", 1, restart_policy="Never"))
        play.at(2.5 + number, partial(play.delete, f"small-{number}"))
    play.at(120.0, lambda: play.delete("job"))
    play.run(180.0)
    assert play.seconds("large") == 120.0


def test_a_burst_and_then_quiet_keep_nobody_off():
    play = Play({"n": 4})
    play.create("job", 1, on="n", restart_policy="OnFailure")
    play.create("large", 4)
    small_ones(play, count=40, seconds=0.05)
    play.at(3_600.0, lambda: play.create("late", 1))
    play.run(3_700.0)
    assert bound(play) == 40
    assert play.seconds("late") == 3_600.0
