"""Options and main loop of the programs that run on nodes: how often they repeat their work, and how they end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import click

from poseidon.commands.shared.options import together
from poseidon.commands.shared.output_and_exit import stop_event

if TYPE_CHECKING:
    from poseidon.kube.client.transport import Transport


def repetition_options(interval: float) -> Callable[[Any], Any]:
    """Return a decorator that adds ``--interval`` (in seconds, with this default) and ``--once`` to a command."""
    return together(
        click.option(
            "--interval",
            type=click.FloatRange(min=1.0),
            default=interval,
            help="Seconds between two runs.",
        ),
        click.option("--once", is_flag=True, help="Do the work once, and exit."),
    )


async def run_once_or_forever(
    transport: Transport,
    once: Callable[[], Awaitable[object]],
    for_ever: Callable[[], Awaitable[None]] | None,
) -> None:
    """Run ``for_ever`` until a signal ends the program, or ``once`` if ``for_ever`` is None; close ``transport``."""
    async with transport:
        if for_ever is None:
            await once()
        else:
            await run_until_stopped(for_ever())


async def run_until_stopped(work: Awaitable[object]) -> None:
    """Run ``work`` until it ends, or until SIGTERM or SIGINT.

    If ``work`` raises an error, the function raises it, too.
    """
    working = asyncio.ensure_future(work)
    stopping = asyncio.create_task(stop_event().wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        if not working.done():
            working.cancel()
    (ending,) = await asyncio.gather(working, return_exceptions=True)
    if isinstance(ending, Exception):
        raise ending


async def repeat(
    work: Callable[[], Awaitable[object]],
    interval: float,
    log: logging.Logger,
    errors: tuple[type[Exception], ...],
) -> None:
    """Run ``work`` every ``interval`` seconds until cancelled, and log its failures of the types ``errors``."""
    while True:
        try:
            await work()
        except errors as error:
            log.warning('failed, trying again in=%.0fs error="%s"', interval, error)
        await asyncio.sleep(interval)
