"""Shows on the terminal how far a slow command has got."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def show_progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a line of progress on a terminal; at the end, the line is removed.

    The line goes to standard error, so that the output can be piped. If standard error is no terminal, nothing is
    shown.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("")
        yield lambda text: progress.update(task, description=text)
