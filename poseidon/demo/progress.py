"""Shows the progress of a demonstration: as a bar on a terminal, or else as a line every few seconds.

A display is a context manager, which ends the display on exit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self, TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

_LINE_SECONDS = 2.0


class BarDisplay:
    """Shows a line for each finished stage, and below it a bar for the present stage."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[figures]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, figures="", visible=False)

    def __enter__(self) -> Self:
        """Start to draw the display."""
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop drawing, and remove the bar."""
        self._progress.stop()

    def stage(self, text: str) -> None:
        """Show the name of the next stage."""
        self._progress.reset(self._task, total=None, description=text, figures="", visible=True)

    def show_bound(self, count: int, total: int) -> None:
        """Move the bar to ``count`` bound pods of ``total``."""
        self._progress.update(
            self._task, completed=count, total=total, figures=f"{count:,} of {total:,} bound"
        )


class LineDisplay:
    """Prints a line for each stage, and the number of bound pods every few seconds."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console = console
        self._clock = clock
        self._last = clock()

    def __enter__(self) -> Self:
        """Return the display; nothing has to be prepared."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the display; nothing has to be cleaned up."""

    def stage(self, text: str) -> None:
        """Print the name of the stage."""
        self._print(f"{text} ...")

    def show_bound(self, count: int, total: int) -> None:
        """Print the number of bound pods, unless a line was printed recently."""
        if self._clock() - self._last >= _LINE_SECONDS:
            self._print(f"{count:,} of {total:,} pods bound")

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
        self._last = self._clock()


Display: TypeAlias = BarDisplay | LineDisplay


def make_display(console: Console, clock: Callable[[], float]) -> Display:
    """Return the display that suits the console: a bar on a terminal, else lines; ``clock`` returns seconds."""
    return BarDisplay(console) if console.is_terminal else LineDisplay(console, clock)
