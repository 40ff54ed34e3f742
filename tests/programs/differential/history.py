"""A cluster in motion: rounds of the core, and between and during them whatever happens to clusters.

The truth is kept apart from the core, as a `Cluster` and the pods that wait; both are told of every event.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace

from firmament.core.events import BindingReport, MachineRemoved, TaskRemoved
from firmament.core.results import Delta
from tests.programs.differential.drive import MANNERS, Manner, Outcome, check, core, left_behind
from tests.programs.differential.generate import NAMESPACES, Size, case, node
from tests.programs.differential.translation import Classes, machines, namespaces
from tests.programs.differential.world import Pod
from tests.support.core import Clock

LONGER_THAN_ANY_BACKOFF = 100.0
MOST_ROUNDS = 10
"""Rounds in which a cluster at rest has to come to an end."""


class History:
    """Plays what a seed says. ``rests``: pods whose binding failed, which may or may not be tried again yet."""

    def __init__(self, seed: int, size: Size) -> None:
        self.draw = random.Random(f"history {size.name} {seed}")
        self.clock = Clock()
        self.classes = Classes()
        made = case(seed, size)
        self.manner = self.draw.choice([Manner(), *MANNERS.values()])
        self.scheduler = core(made, self.classes, clock=self.clock, manner=self.manner)
        self.cluster, self.waiting = made.cluster, dict(made.waiting)
        everything = [*made.waiting.values(), *(pod.spec for pod in made.cluster.pods.values())]
        self.specs = list({spec.name: spec for spec in everything}.values())
        self.names = sorted(made.cluster.nodes)
        self.rests: set[str] = set()
        self.new = 0

    def play(self, rounds: int, *, during: bool) -> list[str]:
        """So many rounds, with events ``during`` them or else between them; lines about what went wrong.

        A pod that was set aside before a round, and that only the round's own placements let onto some node, may wait
        for the next round, if that is asked for at once.
        """
        for number in range(rounds):
            faults = self._asked_for_if_needed()
            outcome = self.round(meanwhile=self.draw.randint(1, 4) if during else 0)
            faults += [*outcome.faults, *self._asked_for_if_needed(), *self.settle(), *self.neglected()]
            if faults:
                return [f"round {number}: {fault}" for fault in faults]
            if not during:
                for _ in range(self.draw.randint(1, 4)):
                    self.happen()
        return []

    def _asked_for_if_needed(self) -> list[str]:
        neglected = self.neglected()
        if neglected and self.scheduler.next_round_in() != 0:
            return [f"no round is asked for: {line}" for line in neglected]
        return []

    # --- rounds ------------------------------------------------------------------------------------------------------

    def round(self, meanwhile: int = 0) -> Outcome:
        """A round, with so many events while it is solved; the placements are held against what is true at its end."""
        opened = self.scheduler.open_round()
        placement = opened.solve()
        for _ in range(meanwhile):
            self.happen()
        result = self.scheduler.close_round(opened, placement)
        outcome = check(self.cluster, self.waiting, result.deltas, self.rests)
        self.cluster, self.waiting = outcome.cluster, outcome.pending
        self.rests &= self.waiting.keys()
        self._report(result.deltas)
        return outcome

    def neglected(self) -> list[str]:
        """Pods that wait, may be tried, and would be accepted by some node."""
        eligible = {uid: spec for uid, spec in self.waiting.items() if uid not in self.rests}
        return left_behind(self.cluster, eligible)

    def settle(self) -> list[str]:
        """Rounds as long as the core asks for them at once; faults of their placements."""
        faults: list[str] = []
        for _ in range(MOST_ROUNDS):
            if self.scheduler.next_round_in() != 0:
                return faults
            faults += self.round().faults
        return [*faults, f"still asks for rounds after {MOST_ROUNDS}"]

    def _report(self, deltas: Iterable[Delta]) -> None:
        """Most bindings succeed; one that fails takes those that depend on it along. Some are not heard of yet."""
        failed: set[str] = set()
        reports = []
        for delta in deltas:
            odds = self.draw.random()
            if odds < 0.04 or failed.intersection(delta.depends_on):
                failed.add(delta.uid)
                reports.append(BindingReport(delta.uid, delta.machine, bound=False, reason="refused"))
            elif odds < 0.8:
                reports.append(BindingReport(delta.uid, delta.machine, bound=True))
        for uid in failed:
            self.waiting[uid] = self.cluster.pods.pop(uid).spec
        self.rests |= failed
        self.scheduler.report(reports)

    # --- events ------------------------------------------------------------------------------------------------------

    def happen(self) -> None:
        """One thing happens."""
        happenings: list[tuple[Callable[[], None], int]] = [
            (self._pod_ends, 6),
            (self._pod_is_deleted, 3),
            (self._pod_begins_to_end, 2),
            (self._pods_arrive, 4),
            (self._another_scheduler_binds, 2),
            (self._node_goes, 1),
            (self._node_comes_or_changes, 3),
            (self._labels_of_a_namespace_change, 1),
            (self._time_passes, 1),
        ]
        choices, weights = zip(*happenings, strict=True)
        self.draw.choices(choices, weights)[0]()

    def _pod_ends(self) -> None:
        if self.cluster.pods:
            uid = self.draw.choice(sorted(self.cluster.pods))
            del self.cluster.pods[uid]
            self.scheduler.apply([TaskRemoved(uid)])

    def _pod_is_deleted(self) -> None:
        if self.waiting:
            uid = self.draw.choice(sorted(self.waiting))
            del self.waiting[uid]
            self.rests.discard(uid)
            self.scheduler.apply([TaskRemoved(uid)])

    def _pod_begins_to_end(self) -> None:
        if self.cluster.pods:
            uid = self.draw.choice(sorted(self.cluster.pods))
            self._bind(uid, self.cluster.pods[uid]._replace(terminating=True))

    def _pods_arrive(self) -> None:
        spec = self.draw.choice(self.specs)
        count = self.draw.randint(1, 4)
        arrived = {f"late-{self.new + index:03}": spec for index in range(count)}
        self.new += count
        self.waiting.update(arrived)
        self.scheduler.apply(self.classes.submitted(arrived, self.manner.priority_of))

    def _another_scheduler_binds(self) -> None:
        """A pod of its own, or one of those that wait here; without regard to any rule."""
        if not self.cluster.nodes:
            return
        name = self.draw.choice(sorted(self.cluster.nodes))
        if self.waiting and self.draw.random() < 0.4:
            uid = self.draw.choice(sorted(self.waiting))
            spec = self.waiting.pop(uid)
            self.rests.discard(uid)
        else:
            uid, spec = f"foreign-{self.new:03}", self.draw.choice(self.specs)
            self.new += 1
        self._bind(uid, Pod(spec, name))

    def _bind(self, uid: str, pod: Pod) -> None:
        self.cluster.pods[uid] = pod
        self.scheduler.apply(self.classes.bound({uid: pod}))

    def _node_goes(self) -> None:
        """Its pods stay on record until someone deletes them."""
        if len(self.cluster.nodes) > 1:
            name = self.draw.choice(sorted(self.cluster.nodes))
            del self.cluster.nodes[name]
            self.scheduler.apply([MachineRemoved(name)])

    def _node_comes_or_changes(self) -> None:
        index = self.draw.randrange(len(self.names) + 2)
        made = node(self.draw, index, f"zone-{self.draw.randrange(3)}", f"rack-{index // 2}")
        known = self.cluster.nodes.get(made.name)
        if known is not None and self.draw.random() < 0.6:
            made = replace(known, labels=made.labels, taints=known.taints)
        self.cluster.nodes[made.name] = made
        self.scheduler.apply(machines([made]))

    def _labels_of_a_namespace_change(self) -> None:
        name = self.draw.choice(sorted(NAMESPACES))
        labels = {"kubernetes.io/metadata.name": name}
        if self.draw.random() < 0.7:
            labels["team"] = self.draw.choice(["blue", "red"])
        self.cluster.namespaces[name] = labels
        self.scheduler.apply(namespaces({name: labels}))

    def _time_passes(self) -> None:
        self.clock.advance(LONGER_THAN_ANY_BACKOFF)
        self.rests.clear()
