"""Compares how many machines the core and a search of prefixes empty in random clusters with equally many moves.

The comparator sorts machines by disruption cost and searches the longest prefix that can be emptied, as Karpenter's
multi-node consolidation does. Both use the same trials of whether machines can be emptied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from random import Random
from time import perf_counter

from benchmarks.environment import environment
from firmament.core.configuration import CoreConfiguration
from firmament.core.events import ClassDefined, Event, MachineUpserted, TasksBound
from firmament.core.model import Machine, TaskClass
from firmament.core.rescheduling.consolidation import UNLIMITED, Consolidation, consolidate
from firmament.core.rescheduling.trials import Trials
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver

Amounts = tuple[int, int]


@dataclass(frozen=True)
class Running:
    """Machines with cpu and memory, and requests of their tasks; with ``pools``, a task stays in the pool of its
    machine.
    """

    machines: Mapping[str, Amounts]
    tasks: Mapping[str, tuple[str, Amounts]]
    pools: Mapping[str, str] = field(default_factory=dict)

    def events(self) -> list[Event]:
        """Return the events that describe the cluster to a scheduler."""
        made: list[Event] = [
            MachineUpserted(
                Machine(
                    name,
                    {"cpu": cpu, "memory": memory, "pods": 50},
                    labels={"pool": self.pools.get(name, "")},
                )
            )
            for name, (cpu, memory) in self.machines.items()
        ]
        numbers: dict[tuple[str, Amounts], int] = {}
        for machine, amounts in self.tasks.values():
            kind = self.pools.get(machine, ""), amounts
            if kind not in numbers:
                numbers[kind] = len(numbers) + 1
                requests = (("cpu", amounts[0]), ("memory", amounts[1]))
                content = TaskClass(requests, node_selector=(("pool", kind[0]),) if kind[0] else ())
                made.append(ClassDefined(numbers[kind], content))
        made += [
            TasksBound(machine, numbers[self.pools.get(machine, ""), amounts], (uid,))
            for uid, (machine, amounts) in self.tasks.items()
        ]
        return made

    def list_tasks(self, machine: str) -> list[str]:
        """Return the tasks of a machine."""
        return [uid for uid, (where, _) in self.tasks.items() if where == machine]

    def holds(self, moves: Mapping[str, str], without: Sequence[str]) -> bool:
        """Return whether the moves overcommit no machine, and leave no task on the emptied ones."""
        left = {name: list(amounts) for name, amounts in self.machines.items()}
        for uid, (machine, amounts) in self.tasks.items():
            target = moves.get(uid, machine)
            if target in without or self.pools.get(target) != self.pools.get(machine):
                return False
            left[target][0] -= amounts[0]
            left[target][1] -= amounts[1]
        return all(cpu >= 0 and memory >= 0 for cpu, memory in left.values())


def random_cluster(
    random: Random, machines: int, *, fill: float, most: int = 1000, pools: int = 0
) -> Running:
    """Return machines of a few sizes, each filled to about a share of its own, with at most ``most`` tasks.

    With ``pools`` each machine is in one of these, whose share is drawn between 0.2 and 1.
    """
    sizes = [(4, 16), (8, 16), (8, 32), (16, 64)]
    offered = {f"m{index:03d}": random.choice(sizes) for index in range(machines)}
    tasks: dict[str, tuple[str, Amounts]] = {}
    shares = {f"pool-{index}": random.uniform(0.2, 1.0) for index in range(pools)}
    pool_of = {name: random.choice(sorted(shares)) for name in offered} if pools else {}
    for name, (cpu, memory) in offered.items():
        mean = shares[pool_of[name]] if pools else fill
        share = min(1.0, max(0.0, random.gauss(mean, 0.15 if pools else 0.25)))
        room = [round(cpu * share), round(memory * share)]
        count = 0
        while room[0] > 0 and room[1] > 0 and count < most:
            amounts = (
                random.randint(1, max(1, min(room[0], 4))),
                random.randint(1, max(1, min(room[1], 16))),
            )
            room = [room[0] - amounts[0], room[1] - amounts[1]]
            tasks[f"{name}-{count}"] = (name, amounts)
            count += 1
    return Running(offered, tasks, pool_of)


def trials_of(running: Running) -> Trials:
    """Return the trials of moves for a cluster."""
    scheduler = Scheduler(configuration=CoreConfiguration(), solver=OrToolsSolver(), clock=lambda: 0.0)
    return Trials(scheduler, running.events())


def search(running: Running, tries: int = 1000, budget: int = UNLIMITED) -> Consolidation:
    """Return the machines that the core's search empties."""
    trials = trials_of(running)
    return consolidate(trials, list(trials.machines), tries=tries, budget=budget)


def by_prefix(running: Running, lifetimes: Mapping[str, float]) -> tuple[str, ...]:
    """Return the machines emptied by a search of prefixes, in order of disruption cost.

    As in Karpenter, this cost is that of the pods, here 1 each, times the remaining share of the machine's lifetime.
    """
    trials = trials_of(running)
    ordered = sorted(
        running.machines, key=lambda name: (len(running.list_tasks(name)) * lifetimes[name], name)
    )
    untouched = trials.save()
    best: tuple[str, ...] = ()
    low, high = 1, len(ordered)
    while low <= high:
        middle = (low + high) // 2
        prefix = ordered[:middle]
        fits = trials.empty(prefix)
        trials.restore(untouched)
        if fits:
            best, low = tuple(prefix), middle + 1
        else:
            high = middle - 1
    return best


@dataclass(frozen=True, slots=True)
class ConsolidationOptions:
    """Options: ``seeds`` clusters of ``machines`` in ``pools``; ``tries`` of each search."""

    machines: int = 100
    pools: int = 8
    seeds: int = 100
    tries: int = 500
    first: int = 0


def measure_consolidation(
    options: ConsolidationOptions, *, progress: Callable[[str], None]
) -> dict[str, object]:
    """Search each cluster with as many moves as the comparator's choice takes, and with any number of them."""
    clusters = []
    for seed in range(options.first, options.first + options.seeds):
        progress(f"cluster {seed - options.first + 1} of {options.seeds}")
        random = Random(seed)  # noqa: S311 - a simulation
        running = random_cluster(random, options.machines, fill=0.5, pools=options.pools)
        lifetimes = {name: random.random() for name in running.machines}
        prefix = by_prefix(running, lifetimes)
        moves = sum(len(running.list_tasks(name)) for name in prefix)
        equal = search(running, options.tries, moves)
        began = perf_counter()
        free = search(running, options.tries)
        seconds = perf_counter() - began
        for found in (equal, free):
            if not running.holds(found.moves, found.machines):
                raise AssertionError(f"seed {seed}: the moves do not hold")
        clusters.append(
            {
                "seed": seed,
                "prefix": len(prefix),
                "prefixMoves": moves,
                "equal": len(equal.machines),
                "free": len(free.machines),
                "freeMoves": len(free.moves),
                "most": free.most,
                "seconds": seconds,
            }
        )
    return {
        "kind": "consolidation",
        "environment": environment(),
        "options": asdict(options),
        "clusters": clusters,
    }
