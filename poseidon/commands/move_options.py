"""Options of commands that look for moves: what a move has to save, and from which use on a node is hot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def move_cost_option(explanation: str, *, free: bool = True) -> Callable[[F], F]:
    """Return what adds ``--move-cost``; ``free``: moves may cost nothing."""
    return click.option(
        "--move-cost",
        type=click.FloatRange(min=0, min_open=not free),
        default=20.0,
        show_default=True,
        metavar="POINTS",
        help=explanation,
    )


class Percentage(click.ParamType[tuple[str, float]]):
    """``RESOURCE=PERCENT``."""

    name = "RESOURCE=PERCENT"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        """Return both, or end the command."""
        if isinstance(value, tuple):
            return value
        resource, _, percent = str(value).partition("=")
        try:
            found = float(percent)
        except ValueError:
            found = -1.0
        if not resource or not 0 < found <= 100:
            self.fail(f"{value!r} is not RESOURCE=PERCENT; write for example cpu=80", param, ctx)
        return resource, found


hot_option = click.option(
    "--hot",
    type=Percentage(),
    multiple=True,
    default=[("cpu", 80.0), ("memory", 90.0)],
    metavar="RESOURCE=PERCENT",
    help="From which measured use on a node is hot. Repeatable; default: cpu=80 and memory=90.",
)
