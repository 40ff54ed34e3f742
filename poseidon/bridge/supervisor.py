"""Runs a bridge as long as the process lives, and restarts it whenever the solver needs other data."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from prometheus_client import CollectorRegistry

from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.readiness import explain_unready
from poseidon.bridge.runner import Bridge, BridgeProcess, RewoundError
from poseidon.bridge.solver_stream.stream import NeedsChangedError, ask, needs_of
from poseidon.leadership.election import Role
from poseidon.pods.visibility import not_understood
from protos.firmament.v1 import scheduler_pb2 as pb

_log = logging.getLogger(__name__)

ASK_SECONDS = 5.0
"""Seconds for which a bridge waits for the solver to state its needs, before it assumes the needs of old solvers."""

STANDBY_SECONDS = 60.0
"""Seconds between two requests of a standby for the solver's needs; a standby has no stream to the solver."""

_PAUSE = 1.0
"""Longest pause in seconds before the bridge reads the cluster again after the API server went back in time.

All clients read the cluster again at that moment, so each client waits for a random part of the pause.
"""


class Supervisor:
    """The loop that runs one bridge after another, and asks the solver for its needs before each.

    The solver's needs may change later: after an upgrade, with a new configuration, or because it did not answer at
    first. If the needs change, the solver gets no snapshot. Instead, the bridge ends as on SIGTERM: it finishes the
    bindings under way, and the next bridge reads the cluster anew. A standby asks the solver for its needs from time
    to time, so that it need not start anew when it takes over. ``observer`` is a cluster name that no driver uses.
    """

    def __init__(
        self,
        process: BridgeProcess,
        options: BridgeOptions,
        observer: str,
        *,
        ask_seconds: float = ASK_SECONDS,
        standby_seconds: float = STANDBY_SECONDS,
    ) -> None:
        self._process = process
        self._options = options
        self._observer = observer
        self._leadership = process.leadership
        self._present: Bridge | None = None
        self._ask_seconds = ask_seconds
        self._standby_seconds = standby_seconds
        self.registry = CollectorRegistry()
        """The metrics of the present bridge.

        Each bridge has metrics of its own, which begin at zero, as in a new process.
        """

    def explain_unready(self) -> str:
        """Return what is missing before pods can be placed, or before standing by; "" for nothing.

        Callable from any thread.
        """
        return explain_unready(self._present.readiness if self._present is not None else None)

    async def run(self, stop: asyncio.Event) -> None:
        """Run bridges until ``stop`` is set. Raises the error of a bridge that fails, and ``LeadershipLostError``."""
        if self._leadership is None:
            await self._bridge_until(stop)
            return
        leading = asyncio.create_task(self._leadership.run(), name="leadership")
        bridging = asyncio.create_task(self._bridge_until(stop), name="bridge")
        try:
            await asyncio.wait({leading, bridging}, return_when=asyncio.FIRST_COMPLETED)
            if leading.done():
                # If leadership is lost, the call raises an exception, and no work is finished.
                leading.result()
            await bridging
        finally:
            for each in (leading, bridging):
                each.cancel()
            await asyncio.gather(leading, bridging, return_exceptions=True)

    async def _bridge_until(self, stop: asyncio.Event) -> None:
        needs = await self._first_needs(stop)
        options = self._options
        while not stop.is_set():
            unknown = not_understood(needs)
            if unknown:
                _log.warning('solver needs what this version does not tell words="%s"', " ".join(unknown))
            try:
                await self._run_bridge(replace(options, needs=needs), stop)
            except NeedsChangedError as changed:
                _log.info("solver needs something else, reading the cluster anew")
                needs = changed.needs
                options = self._later(options)
            except RewoundError:
                _log.warning("the API server has gone back to an older state, reading the cluster anew")
                options = self._later(options)
                await asyncio.sleep(_PAUSE * self._process.environment.random.random())

    def _later(self, options: BridgeOptions) -> BridgeOptions:
        """Return the options with a newer fencing number, unless the bridge only observes."""
        return replace(options, fencing=options.fencing and max(self._now(), options.fencing + 1))

    async def _run_bridge(self, options: BridgeOptions, stop: asyncio.Event) -> None:
        """Run one bridge. Raises ``NeedsChangedError``, ``RewoundError``, and any error of the bridge."""
        running = asyncio.create_task(self._bridge(options).run(stop), name="running")
        changing = asyncio.create_task(self._wait_for_changed_needs(options.needs), name="needs")
        try:
            await asyncio.wait({running, changing}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                return running.result()
            raise NeedsChangedError(changing.result())  # A standby has no work under way.
        finally:
            for each in (running, changing):
                each.cancel()
            await asyncio.gather(running, changing, return_exceptions=True)

    async def _wait_for_changed_needs(self, needs: frozenset[str]) -> frozenset[str]:
        """Wait until the solver's needs have changed while this process stands by; return the new needs."""
        while True:
            await asyncio.sleep(self._standby_seconds)
            if self._stands_by():
                found = await self._ask()
                if found is not None and found != needs and self._stands_by():
                    return found

    def _stands_by(self) -> bool:
        return self._leadership is not None and self._leadership.role is Role.STANDBY

    def _now(self) -> int:
        return int(self._process.environment.wall() * 1000)

    async def _first_needs(self, stop: asyncio.Event) -> frozenset[str]:
        asked = asyncio.create_task(self._ask())
        stopped = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({asked, stopped}, return_when=asyncio.FIRST_COMPLETED)
            found = asked.result() if asked.done() else None
        finally:
            for each in (asked, stopped):
                each.cancel()
            await asyncio.gather(asked, stopped, return_exceptions=True)
        if found is None and not stop.is_set():
            _log.info(
                "solver does not say what it needs, beginning without solver=%s",
                ",".join(self._options.firmament),
            )
        return needs_of(pb.Welcome()) if found is None else found

    async def _ask(self) -> frozenset[str] | None:
        options = self._options
        return await ask(
            options.firmament,
            self._observer,
            options.client,
            self._ask_seconds,
            random=self._process.environment.random,
            tls=options.session.tls,
        )

    def _bridge(self, options: BridgeOptions) -> Bridge:
        self.registry = CollectorRegistry()
        self._present = Bridge(self._process, options, self.registry)
        return self._present
