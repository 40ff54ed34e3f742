"""Several bridges at one solver: who drives, who waits, and who only looks."""

from __future__ import annotations

import logging
import os

import pytest

from poseidon.commands.run import name_observer
from tests.programs.end_to_end.sessions import clusters, driving, solving
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("forked_programs")


async def test_a_second_bridge_takes_over_and_the_first_one_comes_back_after_it(caplog):
    async with solving() as target, driving(target, fencing=100) as first:
        await until(lambda: first.session.is_open)
        async with driving(target, fencing=200) as second:
            await until(lambda: first.metric("poseidon_solver_refused") == 1)
            second.submit("a")
            await until(lambda: second.peer.placed)
            # Refused over and over, it still says so only once.
            await until(lambda: (first.metric("poseidon_solver_stream_errors_total") or 0) > 5)
            assert not first.session.is_open
            assert first.metric("poseidon_solver_connected") == 0
        await until(lambda: first.session.is_open and first.metric("poseidon_solver_refused") == 0)
        first.submit("b")
        await until(lambda: first.peer.placed)
    refusals = [
        r for r in caplog.records if "refused the session" in r.message and r.levelno >= logging.ERROR
    ]
    assert len(refusals) == 1
    assert "may take over when that driver is gone" in refusals[0].message


async def test_a_bridge_whose_clock_is_behind_follows_one_that_has_ended():
    async with solving() as target:
        async with driving(target, fencing=20_000) as former:
            await until(lambda: former.session.is_open)
        async with driving(target, fencing=1) as late:
            late.submit("a")
            await until(lambda: late.peer.placed)
            assert late.metric("poseidon_solver_stream_errors_total") == 0


async def test_a_dry_run_leaves_a_live_bridge_alone_and_nothing_behind():
    async with solving() as target, driving(target, "real", fencing=100) as live:
        await until(lambda: live.session.is_open)
        observer = name_observer("real")
        assert observer.startswith("real.dry-run.")
        assert str(os.getpid()) in observer
        async with driving(target, observer, fencing=0, ephemeral=True) as dry:
            dry.submit("a")
            await until(lambda: dry.peer.placed)
            assert await clusters(target) == sorted(["real", observer])

        async def is_forgotten():
            return await clusters(target) == ["real"]

        await until(is_forgotten)
        live.submit("b")
        await until(lambda: live.peer.placed)
        assert live.metric("poseidon_solver_streams_total") == 1
