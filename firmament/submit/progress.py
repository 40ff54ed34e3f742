"""A progress display for terminals; silent elsewhere."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from rich.console import Console

    from firmament.submit.submission_log import SubmissionLog

_REFRESH_SECONDS = 0.1


async def show_progress(ledger: SubmissionLog, total: int, console: Console) -> None:
    """Show how many tasks are submitted and placed, until cancelled."""
    if not console.is_terminal:
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} / {task.total:,.0f}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        submitted = progress.add_task("submitted", total=total)
        placed = progress.add_task("placed", total=total)
        while True:
            progress.update(submitted, completed=ledger.submitted_count)
            progress.update(placed, completed=ledger.placed_count)
            await asyncio.sleep(_REFRESH_SECONDS)
