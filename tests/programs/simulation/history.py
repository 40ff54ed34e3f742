"""One history: a cluster, both programs and all faults, from a seed; then quiet, and what must hold by then."""

from __future__ import annotations

import gc
import logging
import re
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any
from unittest.mock import patch

from grpc import aio

from poseidon.leadership.options import LeaderElectionOptions
from tests.programs.simulation import restarting_users, workload
from tests.programs.simulation.actors import Kubelets, Machines, Rival
from tests.programs.simulation.api_server import (
    COMPOSITES,
    LEAVES,
    NODES,
    PODS,
    SERVED,
    ApiServer,
    Copy,
    Object,
)
from tests.programs.simulation.device_oracle import DeviceOracle
from tests.programs.simulation.device_part import CONFIGURED, DevicePart
from tests.programs.simulation.device_users import DeviceUsers
from tests.programs.simulation.event_queue import EventQueue
from tests.programs.simulation.faults import Faults
from tests.programs.simulation.http import SERVER
from tests.programs.simulation.job_controller import JobController
from tests.programs.simulation.network import Network, Rates
from tests.programs.simulation.oracle import Oracle
from tests.programs.simulation.programs import (
    CLUSTER,
    BridgeProgram,
    Front,
    SimulatedSolver,
    SolverProgram,
    bridge_options,
)
from tests.programs.simulation.queued_users import QueuedUsers
from tests.programs.simulation.quota_oracle import QuotaOracle
from tests.programs.simulation.restarting_users import RestartingUsers, RoomOracle
from tests.programs.simulation.streams import Channel
from tests.programs.simulation.tree_users import QueuedTreeUsers, TreeUsers
from tests.programs.simulation.users import Users
from tests.support.pod_invariants import violations

SETTLED = 180.0
"""Seconds after the end of all faults by which every pod that can be bound is.

A gang may wait in vain for evictions that the faults prevented. It gives up, and backs off for up to a minute.
"""

EMPTIED = 90.0
"""Seconds after the deletion of all pods by which nothing is kept of them."""

_ELECTIONS = (
    LeaderElectionOptions(leader_elect=True),
    LeaderElectionOptions(leader_elect=True, lease_duration=5.0, renew_deadline=3.5, retry_period=0.5),
)
_LOOK_EVERY = 25
_ENDLESS = 400_000


class ViolationError(AssertionError):
    """Something does not hold that always must."""


@dataclass
class Outcome:
    """How a history went. ``violation`` is "" where all held."""

    seed: int
    steps: int = 0
    seconds: float = 0.0
    bindings: int = 0
    evictions: int = 0
    resumptions: int = 0
    allocations: int = 0
    rooms: int = 0
    violation: str = ""
    digest: int = 0
    story: list[str] = field(default_factory=list)


class _Errors(logging.Handler):
    """Takes what the programs log as errors; some of it is what faults have to lead to.

    Rounds fail where solves are made to fail, and for no other reason.
    """

    REFUSED = "solver refused the session"
    UNSOLVED = re.compile(r"round failed .*error=['\"]Solver(Timeout)?Error: ")

    def __init__(self, history: History) -> None:
        super().__init__(logging.ERROR)
        self._history = history

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        expected = text.startswith(self.REFUSED) or self.UNSOLVED.match(text)
        if not expected and not self._history.unwinding:
            self._history.oracle.fail(f"logged: {text}{_trace(record)}")


def _trace(record: logging.LogRecord) -> str:
    if not record.exc_info or record.exc_info[1] is None:
        return ""
    import traceback

    return "\n" + "".join(traceback.format_exception(*record.exc_info))


class History:
    """Everything that there is in one simulation. ``run`` goes through it."""

    def __init__(
        self,
        seed: int,
        always: Collection[str] = (),
        *,
        queued: bool = False,
        trees: bool = False,
        devices: bool = False,
        restarts: bool = False,
    ) -> None:
        self.queue = queue = EventQueue(Random(f"history {seed}"))
        self.network = Network(queue, Rates())
        self.api = ApiServer(queue.wall, (*SERVED, LEAVES, COMPOSITES) if trees or restarts else SERVED)
        oracle = QuotaOracle if queued else DeviceOracle if devices else Oracle
        self.oracle = oracle(queue, self.api)
        self.solves = SimulatedSolver(queue)
        self.front = Front(self.network, self.oracle)
        self.kubelets = Kubelets(queue, self.api)
        self.jobs = JobController(queue, self.api)
        self.machines = Machines(queue, self.api, self.kubelets)
        every = queue.random.choice((0.1, 0.4, 1.5))
        users = DeviceUsers if devices else Users
        if trees or queued:
            users = (QueuedTreeUsers if queued else TreeUsers) if trees else QueuedUsers
        self.users = (RestartingUsers if restarts else users)(queue, self.api, every=every)
        self.rooms: RoomOracle | None = None
        self.devices: DevicePart | None = None
        self.rival = Rival(queue, self.api, every=queue.random.choice((0.1, 0.5, 2.0)))
        self.bridges: dict[str, BridgeProgram] = self.front.bridges
        self.unwinding = False
        self.restored = False
        """Whether the API server has ever come back from a copy."""
        self._serial = 0
        self._election = queue.random.choice((None, None, *_ELECTIONS))
        self.copies: deque[Copy] = deque(maxlen=4)
        """Those of the API server from which it may come back, oldest first."""
        self.faults = Faults(self, always)
        self.api.on_change = self._changed
        self.api.create("/api/v1/namespaces", {"metadata": {"name": workload.NAMESPACE}})
        for index in range(queue.random.randint(3, 7)):
            self.api.create(NODES, workload.random_node(queue.random, index))
        self._configured: dict[str, Any] = {}
        if queued:
            self._begin_queues()
        if devices:
            self._begin_devices()
        if restarts:
            self._begin_restarts()

    def _begin_restarts(self) -> None:
        """Let room be kept for gangs that restart."""
        assert isinstance(self.users, RestartingUsers)
        self.rooms = RoomOracle(self.queue.wall)
        self.users.on_restart = self.oracle.begin_anew
        self._configured = {**restarting_users.CONFIGURED}

    def _begin_devices(self) -> None:
        """Let there be devices."""
        assert isinstance(self.users, DeviceUsers)
        assert isinstance(self.oracle, DeviceOracle)
        self.devices = DevicePart(self.queue, self.api, self.oracle, self.kubelets)
        self.devices.begin(self.users)
        self._configured = CONFIGURED

    def _begin_queues(self) -> None:
        """Let there be queues, and bridges that admit their pods."""
        assert isinstance(self.users, QueuedUsers)
        assert isinstance(self.oracle, QuotaOracle)
        random = self.queue.random
        # A message to a bridge that is dead and forgotten may still be on its way.
        self.oracle.find_seen = lambda name: self.bridges[name].seen if name in self.bridges else {}
        self.users.changing = random.random() < 0.5
        self.users.found_queues()
        self.jobs.begin()
        fair = random.random() < 0.3
        self._configured = {"queues": {"source": "kueue", "admission": "poseidon", "fairSharing": fair}}

    @property
    def replicas(self) -> int:
        """How many bridges there ought to be: a standby for each leader where they elect one."""
        return 1 if self._election is None else 2

    @property
    def solver(self) -> SolverProgram | None:
        """The solver's process."""
        return self.front.solver

    # --- going through it ----------------------------------------------------------------------------------

    def run(self, steps: int) -> None:
        """Let ``steps`` events happen, faults among them; then have everything settle. Raises ``ViolationError``."""
        self.start_solver()
        self._tend()
        self._keep_copies()
        for each in (self.users, self.rival, self.faults):
            each.begin()
        while self.queue.steps < steps:
            self._step()
        self.settle()
        self.empty()

    def run_restored(self, steps: int, within: float) -> None:
        """Let ``steps`` events happen without faults; then the server comes back from its oldest copy.

        All that can be bound must be ``within`` so many seconds. Raises ``ViolationError``.
        """
        self.start_solver()
        self._tend()
        self._keep_copies()
        for each in (self.users, self.rival):
            each.begin()
        while self.queue.steps < steps:
            self._step()
        self._calm()
        self.restore(self.copies[0], 1.0)
        self._make_room()
        self._go_on(within)
        self._expect_bound(within)
        self._compare()
        self._check()

    def settle(self) -> None:
        """End all faults, make room for everybody, and see whether all is bound in time."""
        self._calm()
        self._make_room()
        if self.solver is None or self.solver.process.dead:
            self.start_solver()
        for name in self.alive()[self.replicas :]:
            self.kill_bridge(name, None)
        for program in (self.solver, *(self.bridges[name] for name in self.alive())):
            if program is not None:
                program.process.go_on()
        self._go_on(SETTLED)
        self._expect_bound(SETTLED)
        halves = self.oracle.halves()
        if halves:
            self.oracle.fail(f"gangs in part bound {SETTLED:g} s after the faults: {', '.join(halves)}")
        self.oracle.judge_disruptions(self.alive())
        self._compare()
        self._check()

    def _calm(self) -> None:
        """End all faults, and all that users do."""
        self.queue.tell("faults end")
        self.faults.active = self.users.active = False
        self.network.calm()
        self.solves.calm()
        self.machines.wake_all()
        self.rival.leave()
        self.kubelets.lasting = True

    def _make_room(self) -> None:
        """Let there be room for everybody."""
        for zone in workload.ZONES:
            for index in range(2):
                spare = workload.node(
                    f"spare-{zone}{index}", cpu=64_000, memory=65_536, pods=200, gpus=50, zone=zone
                )
                self.api.create(NODES, spare)
        if isinstance(self.users, QueuedUsers):
            self.users.give_quota()
        if self.devices is not None:
            self.devices.make_room()

    def _expect_bound(self, seconds: float) -> None:
        unbound = self.oracle.unbound()
        if unbound:
            self.oracle.fail(f"not bound {seconds:g} s after the faults: {', '.join(unbound)}")

    def empty(self) -> None:
        """Delete all pods, and see whether anything is kept of them."""
        self.queue.tell("everything is deleted")
        self.users.drop_all()
        self._go_on(EMPTIED)
        self._compare()
        for name in self.alive():
            bridge = self.bridges[name].bridge
            if bridge is not None and len(bridge.state.tasks):
                self.oracle.fail(f"{name} keeps {len(bridge.state.tasks)} pods that are gone")
        self._check()

    def _go_on(self, seconds: float) -> None:
        until, most = self.queue.now + seconds, self.queue.steps + _ENDLESS
        while self.queue.now < until:
            self._step()
            if self.queue.steps > most:
                self.oracle.fail(f"{_ENDLESS} events within {seconds:g} s: something does not rest")

    def _step(self) -> None:
        before = self.queue.steps
        self.queue.step()
        if self.queue.steps // _LOOK_EVERY > before // _LOOK_EVERY:
            self._look()
        self._check()
        if self.queue.steps // 2000 > before // 2000:
            self.oracle.forget_gone()

    def _check(self) -> None:
        if self.oracle.violation:
            raise ViolationError(self.oracle.violation)

    def _look(self) -> None:
        for name in self.alive():
            bridge = self.bridges[name].bridge
            found = violations(bridge.state) if bridge is not None else []
            if found:
                self.oracle.fail(f"{name}: {found[0]}")
            if self.rooms is not None and (fault := self.rooms.find_fault(self.bridges[name])):
                self.oracle.fail(f"{name}: {fault}")

    def _compare(self) -> None:
        """See whether bridge and solver know what the API server knows."""
        self._look()
        assert self.solver is not None
        counts, tasks, _ = self.solver.registry.get(CLUSTER).listing(with_tasks=True)
        truth = {
            pod["metadata"]["uid"]: pod["spec"].get("nodeName", "")
            for pod in self.api.all(PODS)
            if pod["status"]["phase"] in ("Pending", "Running")
        }
        told = {task.uid: task.machine or "" for task in tasks}
        for name in self.alive():
            drifted = self.bridges[name].drifted()
            if drifted and not self.restored:
                self.oracle.fail(f"{name} knew otherwise than the API server of {', '.join(drifted)}")
        if counts.assumed:
            self.oracle.fail(f"the solver counts {counts.assumed} tasks as on their way, and nothing is")
        for uid in sorted(truth.keys() | told.keys()):
            if truth.get(uid) != told.get(uid) and not (uid not in told and self.oracle.lacks_group(uid)):
                name = self.oracle.pods[uid].object["metadata"]["name"] if uid in self.oracle.pods else uid
                self.oracle.fail(
                    f"the solver has {name} at {told.get(uid)!r}, and it is at {truth.get(uid)!r}"
                )
        if self.rooms is not None:
            scheduler = self.solver.registry.get(CLUSTER)._scheduler
            assert scheduler is not None
            if left := self.rooms.find_left([self.bridges[name] for name in self.alive()], scheduler):
                self.oracle.fail(left)
        if self.devices is not None:
            scheduler = self.solver.registry.get(CLUSTER)._scheduler
            assert scheduler is not None
            self.devices.compare(scheduler._cluster.devices)

    def _changed(self, path: str, kind: str, found: Object) -> None:
        self.oracle.changed(path, kind, found)
        if path == PODS:
            self.kubelets.pod_changed(kind, found)
        self.jobs.changed(path, kind, found)
        if self.devices is not None:
            self.devices.changed(path, found)

    # --- copies of the API server --------------------------------------------------------------------------

    def _keep_copies(self) -> None:
        self.copies.append(self.api.copy())
        self.queue.after(self.queue.random.expovariate(1 / 8), self._keep_copies)

    def restore(self, copy: Copy, seconds: float) -> None:
        """Let the API server come back from a copy, and be reached by nobody for a while before."""
        self.queue.tell(
            f"the API server goes back from {self.api.version} to {copy.version}, {seconds:.2f} s away"
        )
        nodes = self.api.all(NODES)
        for name in self.alive():
            self.network.cut(name, SERVER, seconds, silently=False)
        self.api.restore(copy)
        self.restored = True
        self.machines.register_anew(nodes)
        self.kubelets.look_anew()

    # --- processes -----------------------------------------------------------------------------------------

    def alive(self) -> list[str]:
        """Names of the bridges that run, oldest first."""
        return [name for name, each in self.bridges.items() if not each.process.dead]

    def start_solver(self) -> None:
        """Start the solver."""
        self.queue.tell("solver starts")
        self.front.solver = SolverProgram("solver", self.network, self.solves, self.oracle.fail)

    def kill_solver(self, seconds: float) -> None:
        """Kill the solver; another one starts in a while."""
        if self.solver is not None and not self.solver.process.dead:
            self.queue.tell("solver is killed")
            self.solver.process.kill()
            self.queue.after(seconds, self._restart_solver)

    def _restart_solver(self) -> None:
        if self.solver is None or self.solver.process.dead:
            self.start_solver()

    def start_bridge(self) -> None:
        """Start a bridge, with a number by the clock as it is now."""
        self._serial += 1
        name = f"bridge-{self._serial}"
        fencing = int(self.queue.wall() * 1000)
        options = bridge_options(name, fencing, self.queue.random, self._configured)
        self.queue.tell(f"{name} starts")
        for gone in [each for each, program in self.bridges.items() if program.process.dead]:
            del self.bridges[gone]
        self.bridges[name] = BridgeProgram(
            name, self.network, self.api, self.oracle.fail, options, self._election
        )

    def kill_bridge(self, name: str, seconds: float | None) -> None:
        """Kill a bridge; another one starts in a while, unless ``seconds`` is None or there are enough."""
        self.queue.tell(f"{name} is killed")
        self.bridges[name].process.kill()
        if seconds is not None:
            self.queue.after(seconds, self.keep_bridges)

    def _tend(self) -> None:
        """Start bridges where some have ended, as a Deployment does."""
        self.keep_bridges()
        self.queue.after(2.0, self._tend)

    def keep_bridges(self) -> None:
        """Start bridges if there are fewer than there ought to be."""
        while len(self.alive()) < self.replicas:
            self.start_bridge()

    def close(self) -> None:
        """End all processes."""
        self.unwinding = True
        for each in self.bridges.values():
            each.process.kill()
        if self.solver is not None:
            self.solver.process.kill()


@contextmanager
def simulated(history: History) -> Iterator[None]:
    """Let bridges of a history reach its solver, and take what is logged as an error."""

    def channel(target: str, **_: Any) -> Channel:
        return Channel(lambda: history.front.open(target))

    handler = _Errors(history)
    loggers = [logging.getLogger(name) for name in ("poseidon", "firmament")]
    former = [(each.level, each.propagate) for each in loggers]
    for each in loggers:
        each.addHandler(handler)
        each.setLevel(logging.ERROR)
        each.propagate = False
    try:
        with patch.object(aio, "insecure_channel", channel):
            yield
            history.close()
    finally:
        history.unwinding = True
        for each, (level, propagate) in zip(loggers, former, strict=True):
            each.removeHandler(handler)
            each.setLevel(level)
            each.propagate = propagate


def run(
    seed: int,
    steps: int,
    always: Collection[str] = (),
    *,
    queued: bool = False,
    trees: bool = False,
    devices: bool = False,
    restarts: bool = False,
) -> Outcome:
    """Go through the history of a seed; ``always``: kinds of faults that it knows in any case; ``queued``: with
    queues; ``trees``: with trees of groups; ``devices``: with claims of devices; ``restarts``: with trees, and gangs
    for which room is kept while they restart.
    """
    history = History(seed, always, queued=queued, trees=trees, devices=devices, restarts=restarts)
    outcome = Outcome(seed)
    with simulated(history):
        try:
            history.run(steps)
        except ViolationError as violation:
            outcome.violation = str(violation)
            outcome.story = list(history.queue.story)
    queue = history.queue
    outcome.steps, outcome.seconds, outcome.digest = queue.steps, queue.now, queue.digest
    outcome.bindings, outcome.evictions = history.oracle.bindings, history.oracle.evictions
    if isinstance(history.oracle, QuotaOracle):
        outcome.resumptions = history.oracle.resumptions
    if history.rooms is not None:
        outcome.rooms = len(history.rooms.seen)
    if isinstance(history.oracle, DeviceOracle):
        outcome.allocations = history.oracle.allocations
    del history
    gc.collect()
    return outcome
