"""Progress and results of a demonstration, as people see them."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from poseidon.demo.progress import BarDisplay, LineDisplay, make_display
from poseidon.demo.report import Summary, print_summary
from poseidon.demo.verification import Occupancy


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def console(*, terminal: bool = False) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=120)


def text(found: Console) -> str:
    assert isinstance(found.file, io.StringIO)
    return found.file.getvalue()


def test_lines_come_at_most_every_two_seconds():
    clock, shown = Clock(), console()
    with LineDisplay(shown, clock) as display:
        display.show_bound(1, 9)
        clock.now += 1.9
        display.show_bound(2, 9)
        clock.now += 0.1
        display.show_bound(1234, 5000)
        clock.now += 1.9
        display.show_bound(4, 9)
        display.stage("Begin [x]")
        clock.now += 1.9
        display.show_bound(5, 9)
        clock.now += 0.1
        display.show_bound(6, 9)
    assert text(shown).splitlines() == ["1,234 of 5,000 pods bound", "Begin [x] ...", "6 of 9 pods bound"]


def test_a_bar_is_for_terminals():
    assert isinstance(make_display(console(terminal=True), Clock()), BarDisplay)
    assert isinstance(make_display(console(), Clock()), LineDisplay)


def test_a_bar_shows_the_stage_and_how_far_it_is():
    shown = console(terminal=True)
    with BarDisplay(shown) as display:
        display.stage("Placing [pods]")
        display.show_bound(1234, 5000)
    assert "Placing [pods]" in text(shown)
    assert "1,234 of 5,000 bound" in text(shown)


def occupancy(**parts: Any) -> Occupancy:
    nothing: dict[str, Any] = {"nodes": 0, "bound": 0, "nodes_used": 0, "overcommitted_nodes": 0}
    return Occupancy(**{**nothing, "overcommitted": (), "unknown_nodes": (), **parts})


def summary(**parts: Any) -> Summary:
    given: dict[str, Any] = {
        "pods": 2000,
        "bound": 1500,
        "bound_twice": 0,
        "rounds": 3,
        "seconds": 3.0,
        "p50": 0.0123,
        "p99": None,
    }
    return Summary(**{**given, "occupancy": occupancy(nodes=1000, nodes_used=1), **parts})


def printed(found: Summary) -> list[str]:
    shown = console()
    print_summary(found, shown)
    return [" ".join(line.replace("│", " ").split()) for line in text(shown).splitlines()]


def test_a_summary_has_the_figures_of_the_run():
    lines = printed(summary())
    assert "pods bound 1,500 of 2,000" in lines
    assert "rounds 3" in lines
    assert "pods per second 500" in lines
    assert "creation to binding, p50 12 ms" in lines
    assert "creation to binding, p99 -" in lines
    assert "nodes used 1 of 1,000" in lines
    assert not [line for line in lines if "twice" in line]


def test_what_is_wrong_and_who_waits_is_listed_up_to_five():
    found = summary(
        bound_twice=2,
        pending={f"reason {number}": 1000 - number for number in range(6)},
        occupancy=occupancy(
            overcommitted=tuple(f"over {number}" for number in range(6)),
            unknown_nodes=tuple(f"gone {number}" for number in range(6)),
        ),
    )
    lines = printed(found)
    assert "pods bound twice 2" in lines
    assert [line for line in lines if line.startswith("over ")] == [f"over {number}" for number in range(5)]
    assert [line for line in lines if "is not a node" in line] == [
        f"gone {number}: is not a node" for number in range(5)
    ]
    assert [line for line in lines if "pending: " in line] == [
        "1,000 pending: reason 0",
        *(f"{1000 - number} pending: reason {number}" for number in range(1, 5)),
    ]


@pytest.mark.parametrize(("seconds", "rate"), [(3.0, 500.0), (0.0, 0.0)])
def test_a_rate_is_of_bound_pods(seconds, rate):
    found = summary(seconds=seconds)
    assert found.pods_per_second == rate
    assert found.as_json()["podsPerSecond"] == rate
    assert "machine" not in found.as_json()
    assert found.as_json()["latencySeconds"] == {"p50": 0.0123, "p99": None}


def test_a_result_is_sound_if_nothing_is_wrong():
    assert summary().sound
    assert not summary(bound_twice=1).sound
    assert not summary(occupancy=occupancy(unknown_nodes=("x",))).sound
    assert not summary(occupancy=occupancy(overcommitted_nodes=1)).sound
