"""Shows the progress of a command that takes a while."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def show_progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a line of progress on a terminal; the line is removed at the end.

    It goes to standard error, so that the output can be piped; where that is no terminal, nothing is shown.
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
