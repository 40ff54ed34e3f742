"""Shows what came of deciding a recording again."""

from __future__ import annotations

from poseidon.simulate.recorded.again import DecidedAgain
from protos.conventions.command_line import format_count

DIFFERENCES = ("ROUND", "POD", "WAS", "NOW")


def difference_rows(found: DecidedAgain) -> list[tuple[str, ...]]:
    """Return the rows of a table of the first differences."""
    return [(f"{each.round:,}", each.task, each.was or "-", each.now or "-") for each in found.first]


def again_lines(found: DecidedAgain) -> list[str]:
    """Return the figures as sentences."""
    rounds, streams = format_count(found.rounds, "round"), format_count(found.streams, "stream")
    lines = [
        f"{format_count(found.decisions, 'decision')} in {rounds} of {streams}; {found.same:,} made again."
    ]
    if found.partial:
        lines.append(
            f"The beginning of {format_count(found.partial, 'stream')} is not recorded any more: back-offs and "
            "reservations of that time are not known."
        )
    if found.refused:
        lines.append(f"The solver refused {format_count(found.refused, 'message')}, as it did then.")
    return lines
