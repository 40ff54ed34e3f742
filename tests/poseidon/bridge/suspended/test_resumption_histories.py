"""Whatever happens to Jobs, pods, writes and the bridge: no Job is resumed without places, and nothing leaks."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from poseidon.kube.write.suspension_writer import SuspensionEnd, SuspensionWrite
from poseidon.lifecycle.phases import Phase
from tests.poseidon.bridge.suspended.job_cluster import JobCluster, job
from tests.poseidon.queues.objects import cluster_queue, flavor, local_queue, quotas
from tests.support.effort import examples

QUOTA = 10
QUEUES = (
    flavor(),
    cluster_queue("team", quotas(cpu=QUOTA), preemption={"withinClusterQueue": "LowerPriority"}),
    local_queue("users", "team"),
)


class History:
    """Random steps in a cluster of Jobs, each followed by a look at what must hold."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cluster = JobCluster(cpu="6", queues=QUEUES, holds_writes=True)
        self.made = 0

    def act(self) -> None:
        """Do something."""
        random, cluster = self.random, self.cluster
        steps = (
            (4, self.create), (8, self.run_round), (6, self.answer), (6, cluster.control), (4, cluster.show_all),
            (3, self.finish), (1, self.delete), (1, self.change), (1, self.lose_pod),
            (0.3, cluster.restart), (2, self.wait),
        )  # fmt: skip
        random.choices([step for _, step in steps], [weight for weight, _ in steps])[0]()
        cluster.act()
        self.check()

    def create(self) -> None:
        if len(self.cluster.jobs) < 6:
            self.made += 1
            pods, cpu = self.random.randint(1, 5), self.random.choice(("1", "2"))
            suspend, priority = self.random.random() < 0.9, self.random.choice((0, 0, 100))
            self.cluster.create(job(f"j{self.made}", pods, cpu=cpu, suspend=suspend, priority=priority))

    def run_round(self) -> None:
        """Run a round, and carry it out in parts."""
        self.cluster.round(self.random.choice((1, 2, 250)))

    def answer(self) -> None:
        """Carry out writes; of some, the answer is lost, and a second try fails; some cannot be carried out at all."""
        writes, self.cluster.unanswered = self.cluster.unanswered, []
        for write in writes:
            luck = self.random.random()
            if luck < 0.1:
                self.cluster.state.suspension_written(self.fail(write))
                continue
            end = self.carry_out(write)
            if luck < 0.3:
                end = self.cluster.carry_out(write)
            self.cluster.state.suspension_written(end)

    @staticmethod
    def fail(write: SuspensionWrite) -> SuspensionEnd:
        """Return how a write ends that is not allowed."""
        return SuspensionEnd(write, "forbidden")

    def carry_out(self, write: SuspensionWrite) -> SuspensionEnd:
        """Carry out a write; what is resumed must have places for all pods at this moment."""
        before = len(self.cluster.writes)
        end = self.cluster.carry_out(write)
        if len(self.cluster.writes) > before and not write.suspended:
            found = next(each for each in self.cluster.jobs.values() if each["metadata"]["uid"] == write.uid)
            placed = [
                record
                for record in self.cluster.state.tasks
                if record.task.uid.startswith(f"{write.uid}[") and record.place
            ]
            assert len(placed) == found["spec"]["parallelism"], "resumed without places for all pods"
        return end

    def pick(self) -> str:
        return self.random.choice([*self.cluster.jobs]) if self.cluster.jobs else ""

    def finish(self) -> None:
        name = self.pick()
        if name and (places := self.cluster.places(name)) and all(places):
            self.cluster.finish(name)
            self.cluster.delete(name)

    def delete(self) -> None:
        if name := self.pick():
            self.cluster.delete(name)

    def change(self) -> None:
        name = self.pick()
        if name and self.cluster.is_suspended(name):
            pods = self.random.randint(1, 5)
            self.cluster.change(name, parallelism=pods, completions=pods)

    def lose_pod(self) -> None:
        if self.cluster.pods:
            self.cluster.remove(self.random.choice([*self.cluster.pods]))

    def wait(self) -> None:
        self.cluster.now += self.random.choice((1.0, 1.0, 20.0, 400.0))
        self.cluster.state.expire()

    def check(self) -> None:
        """Hold that nothing is overcommitted: what runs, and what is held in the bridge's own books."""
        used: Counter[str] = Counter()
        for pod in self.cluster.pods.values():
            used[pod["spec"].get("nodeName", "")] += int(
                pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
            )
        del used[""]
        assert all(each <= 6 for each in used.values()), used
        assert sum(used.values()) <= QUOTA, used
        real = {record.task.uid for record in self.cluster.state.tasks if "[" not in record.task.uid}
        assert real == self.cluster.pods.keys()

    def end(self) -> None:
        """Let everything settle: whatever fits in the quota alone must have come to run, and nothing may be left."""
        cluster = self.cluster
        cluster.holds_writes = False
        for _ in range(60):
            cluster.now += 400
            cluster.settle(1)
            for name in [*cluster.jobs]:
                places = cluster.places(name)
                if places and all(places):
                    cluster.finish(name)
                    cluster.delete(name)
            if not cluster.jobs:
                break
        assert not cluster.jobs, {
            name: (each["spec"]["suspend"], cluster.places(name)) for name, each in cluster.jobs.items()
        }
        cluster.settle(1)
        assert not [*cluster.state.tasks]
        assert not [*cluster.state.gangs.groups]
        assert cluster.state.resumptions is not None
        assert not cluster.state.resumptions.holds_places


@pytest.mark.parametrize("seed", range(examples(40)))
def test_no_job_is_resumed_without_places_and_nothing_is_left(seed):
    history = History(seed)
    for _ in range(60):
        history.act()
    history.end()


def test_the_phases_of_placeholders_are_those_of_pods():
    cluster = JobCluster(cpu="6", queues=QUEUES, creates_pods=False)
    cluster.create(job("a", 2))
    cluster.settle()
    assert {record.phase for record in cluster.state.tasks} == {Phase.BOUND}
