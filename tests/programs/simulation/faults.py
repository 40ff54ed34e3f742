"""Faults, drawn at random: which kinds a history knows, when each happens, and how long it lasts."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import fields
from typing import TYPE_CHECKING

from tests.programs.simulation.api_server import GROUPS, LEASES, NODES, PODS
from tests.programs.simulation.http import SERVER
from tests.programs.simulation.network import Rates
from tests.programs.simulation.workload import STRANGER

if TYPE_CHECKING:
    from tests.programs.simulation.history import History

_SHARES = (0.02, 0.1, 0.3)


class Faults:
    """Lets faults happen to a ``history`` until told to stop. Each history knows some kinds of them only.

    ``always``: names of kinds that it knows in any case.
    """

    def __init__(self, history: History, always: Collection[str] = ()) -> None:
        self._history = history
        self._queue = history.queue
        self._random = history.queue.random
        self.active = True
        kinds = [
            self._kill_solver,
            self._kill_bridge,
            self._stop_bridge,
            self._second_bridge,
            self._part_bridge,
            self._part_solver,
            self._reset,
            self._compact,
            self._pause,
            self._turn_clock,
            self._silence_node,
            self._lose_node,
            self._cordon_node,
            self._bad_network,
            self._bad_solver,
            self._take_lease,
            self._refuse_lease,
            self._restore_server,
        ]
        self._kinds: list[Callable[[], None]] = [
            kind for kind in kinds if self._random.random() < 0.45 or kind.__name__[1:] in always
        ]
        self._every = self._random.choice((0.5, 2.0, 6.0))

    def begin(self) -> None:
        """Act from now on."""
        self._queue.tell(
            f"faults every {self._every:g} s: {', '.join(each.__name__[1:] for each in self._kinds)}"
        )
        self._next()

    def _next(self) -> None:
        self._queue.after(self._random.expovariate(1 / self._every), self._act)

    def _act(self) -> None:
        if self.active and self._kinds:
            self._random.choice(self._kinds)()
            self._next()

    def _seconds(self) -> float:
        return self._random.choice((0.05, 0.5, 3.0, 15.0, 50.0)) * (0.5 + self._random.random())

    # --- processes -----------------------------------------------------------------------------------------

    def _kill_solver(self) -> None:
        self._history.kill_solver(self._seconds() / 10)

    def _kill_bridge(self) -> None:
        for name in self._one_bridge():
            self._history.kill_bridge(name, self._seconds() / 10)

    def _stop_bridge(self) -> None:
        for name in self._one_bridge():
            self._queue.tell(f"{name} is told to stop")
            self._history.bridges[name].terminate()

    def _second_bridge(self) -> None:
        if len(self._history.alive()) < 2:
            self._history.start_bridge()
            self._queue.after(self._seconds(), self._remove_bridge)

    def _remove_bridge(self) -> None:
        alive = self._history.alive()
        if len(alive) > 1:
            self._history.kill_bridge(self._random.choice(alive), 0.0)

    def _take_lease(self) -> None:
        """Somebody who is no candidate writes himself into the Lease."""
        for lease in self._history.api.all(LEASES):
            self._queue.tell("a stranger takes the Lease")
            self._history.api.replace(
                LEASES, {**lease, "spec": {**lease["spec"], "holderIdentity": STRANGER}}
            )

    def _refuse_lease(self) -> None:
        """One bridge may not write the Lease, and everything else."""
        for name in self._one_bridge():
            seconds = self._seconds()
            self._queue.tell(f"{name} may not write the Lease for {seconds:.2f} s")
            self._history.network.leases_refused[name] = self._queue.now + seconds

    def _pause(self) -> None:
        solver = self._history.solver
        processes = [self._history.bridges[name].process for name in self._history.alive()]
        chosen = self._random.choice([*processes, *([] if solver is None else [solver.process])])
        seconds = min(self._seconds(), 20.0)
        self._queue.tell(f"{chosen.name} stands still for {seconds:.2f} s")
        chosen.stand_still(seconds)

    def _one_bridge(self) -> list[str]:
        alive = self._history.alive()
        return [self._random.choice(alive)] if alive else []

    # --- the network ---------------------------------------------------------------------------------------

    def _part_bridge(self) -> None:
        self._part(SERVER)

    def _part_solver(self) -> None:
        self._part("solver")

    def _part(self, other: str) -> None:
        for name in self._one_bridge():
            seconds, silently = self._seconds(), self._random.random() < 0.5
            self._queue.tell(f"nothing passes between {name} and {other} for {seconds:.2f} s")
            self._history.network.cut(name, other, seconds, silently=silently)

    def _reset(self) -> None:
        for name in self._one_bridge():
            other = self._random.choice((SERVER, "solver"))
            self._queue.tell(f"connections between {name} and {other} are reset")
            self._history.network.reset(name, other)

    def _bad_network(self) -> None:
        rates, random = Rates(), self._random
        rates.latency = random.choice((0.0005, 0.005, 0.05))
        chosen = [each.name for each in fields(Rates) if each.name != "latency" and random.random() < 0.35]
        for name in chosen:
            setattr(rates, name, random.choice(_SHARES))
        rates.stream_breaks /= 5
        self._queue.tell(f"network: {rates}")
        self._history.network.rates = rates

        def over() -> None:
            if self._history.network.rates is rates:
                self._queue.tell("network: as usual")
                self._history.network.rates = Rates()

        self._queue.after(self._seconds(), over)

    # --- the cluster and the clocks ------------------------------------------------------------------------

    def _compact(self) -> None:
        """Old versions are forgotten, while nobody watches: half the time after an outage."""
        path, seconds = self._random.choice((PODS, PODS, NODES, GROUPS)), 0.0
        if self._random.random() < 0.5:
            seconds = min(self._seconds(), 5.0)
            self._queue.tell(f"nobody reaches the API server for {seconds:.2f} s")
            for name in self._history.alive():
                self._history.network.cut(name, SERVER, seconds, silently=False)

        def forget() -> None:
            self._queue.tell(f"old versions of {path} are forgotten")
            self._history.api.compact(path)

        self._queue.after(seconds, forget)

    def _restore_server(self) -> None:
        """The API server comes back from one of the latest copies, after a while in which nobody reached it."""
        if self._history.copies:
            seconds = min(self._seconds(), 5.0)
            self._history.restore(self._random.choice(self._history.copies), seconds)

    def _turn_clock(self) -> None:
        by = self._random.choice((-7200.0, -30.0, -1.0, 1.0, 30.0, 7200.0))
        self._queue.tell(f"clocks are turned by {by:g} s")
        self._queue.wall_offset += by

    def _silence_node(self) -> None:
        for node in self._one_node():
            self._history.machines.silence(node, self._seconds())

    def _cordon_node(self) -> None:
        for node in self._one_node():
            self._history.machines.cordon(node, self._seconds())

    def _lose_node(self) -> None:
        for node in self._one_node():
            self._history.machines.lose(node, self._seconds())

    def _one_node(self) -> list[dict[str, object]]:
        nodes = self._history.api.all(NODES)
        return [self._random.choice(nodes)] if nodes else []

    def _bad_solver(self) -> None:
        solves = self._history.solves
        solves.seconds = self._random.choice((0.05, 0.5, 5.0))
        solves.exceeds = self._random.choice((0.0, 0.3, 1.0))
        solves.dies = self._random.choice((0.0, 0.0, 0.3))
        self._queue.tell(
            f"solves take up to {solves.seconds:g} s, {solves.exceeds:g} too long, {solves.dies:g} die"
        )

        def over() -> None:
            solves.calm()

        self._queue.after(self._seconds(), over)
