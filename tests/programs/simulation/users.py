"""Users who create applications, scale them, change their pods and delete them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.programs.simulation import workload
from tests.programs.simulation.actors import leaving, requests_of
from tests.programs.simulation.api_server import (
    BUDGETS,
    GROUPS,
    PODS,
    ApiServer,
    Object,
    covers,
    finished,
)
from tests.programs.simulation.event_queue import EventQueue


@dataclass
class _App:
    """A ReplicaSet, in short."""

    name: str
    replicas: int
    make: Callable[[str], Object]
    made: int = 0


@dataclass
class Users:
    """Create and delete pods, while ``active``; and the controllers that keep the number of an app's pods."""

    queue: EventQueue
    api: ApiServer
    most: int = 40
    every: float = 0.4
    active: bool = True
    apps: list[_App] = field(default_factory=list)
    _serial: int = 0

    def begin(self) -> None:
        """Act from now on."""
        self.queue.after(0.01, self._act)
        self.queue.after(1.0, self._reconcile)

    def _act(self) -> None:
        random = self.queue.random
        self.queue.after(random.expovariate(1 / self.every), self._act)
        if not self.active:
            return
        ours = [pod for pod in self.api.all(PODS) if pod["spec"]["schedulerName"] == workload.OURS]
        if len(ours) >= self.most or random.random() < 0.25:
            self._delete_something(ours)
            return
        random.choice(self.list_kinds())()

    def list_kinds(self) -> tuple[Callable[[], None], ...]:
        """Return what they may do next."""
        return (
            *(self._plain, self._plain, self._important, self._gang, self._app, self._apart, self._spread),
            *(self._resize, self._resize),
        )

    def _name(self, prefix: str) -> str:
        self._serial += 1
        return f"{prefix}{self._serial}"

    def _create(self, made: Object) -> None:
        self.api.create(PODS, made)
        self.queue.tell(f"user creates {made['metadata']['name']}")

    def _plain(self) -> None:
        for _ in range(self.queue.random.randint(1, 4)):
            self._create(workload.pod(self._name("p"), workload.random_requests(self.queue.random)))

    def _important(self) -> None:
        random = self.queue.random
        asks = {"cpu": f"{random.choice((500, 900, 1500))}m", "memory": "256Mi"}
        self._create(workload.pod(self._name("vip"), asks, priority=random.choice((100, 1000))))

    def _gang(self) -> None:
        random = self.queue.random
        name, least = self._name("gang"), random.randint(2, 4)
        asks = workload.random_requests(random)
        members = [f"{name}-{index}" for index in range(least + random.choice((0, 0, 1)))]
        importance = random.choice((0, 0, 100))
        labels = {workload.GROUP: name, **({"lasting": "yes"} if random.random() < 0.5 else {})}
        self.api.create(GROUPS, workload.group(name, least))
        for member in members:
            made = workload.pod(member, asks, priority=importance, labels=labels)
            self.queue.after(random.random() * 0.5, lambda made=made: self._create(made))  # type: ignore[misc]

    def _resize(self) -> None:
        """Ask for more or less for a pod that runs."""
        random = self.queue.random
        running = [
            pod
            for pod in self.api.all(PODS)
            if pod["status"]["phase"] == "Running"
            and not leaving(pod)
            and "containerStatuses" in pod["status"]
        ]
        if running:
            pod = random.choice(running)
            asks = {**requests_of(pod), "cpu": f"{random.choice((50, 200, 600, 1500, 6000))}m"}
            self.queue.tell(f"user resizes {pod['metadata']['name']} to {asks['cpu']}")
            containers = [{**pod["spec"]["containers"][0], "resources": {"requests": asks}}]
            self.api.replace(PODS, {**pod, "spec": {**pod["spec"], "containers": containers}})

    def _app(self) -> None:
        random = self.queue.random
        name, asks = self._name("app"), workload.random_requests(random)
        importance = random.choice((0, 0, 10))
        if random.random() < 0.5:
            self.api.create(BUDGETS, workload.budget(name, random.choice((0, 1, 2))))
        self._own(
            name,
            random.randint(2, 5),
            lambda each: workload.pod(each, asks, priority=importance, labels={"app": name}, owner=name),
        )

    def _apart(self) -> None:
        name, asks = self._name("apart"), workload.random_requests(self.queue.random)
        rule = workload.apart(name)
        labels = {"app": name, "apart": "yes"}
        self._own(
            name,
            self.queue.random.randint(2, 4),
            lambda each: workload.pod(each, asks, labels=labels, owner=name, affinity=rule),
        )

    def _spread(self) -> None:
        name, asks = self._name("spread"), workload.random_requests(self.queue.random)
        rule = workload.spread(name)
        self._own(
            name,
            self.queue.random.randint(2, 5),
            lambda each: workload.pod(
                each, asks, labels={"app": name}, owner=name, topologySpreadConstraints=rule
            ),
        )

    def _own(self, name: str, replicas: int, make: Callable[[str], Object]) -> None:
        self.apps.append(_App(name, replicas, make))
        self._fill(self.apps[-1])

    def _fill(self, app: _App) -> None:
        present = [
            pod
            for pod in self.api.all(PODS)
            if pod["metadata"].get("ownerReferences", [{}])[0].get("name") == app.name
            and not finished(pod)
            and not leaving(pod)
        ]
        for _ in range(app.replicas - len(present)):
            app.made += 1
            self._create(app.make(f"{app.name}-{app.made}"))

    def _reconcile(self) -> None:
        self.queue.after(1.0 + self.queue.random.random(), self._reconcile)
        for app in self.apps:
            self._fill(app)
        for budget in self.api.all(BUDGETS):
            covered = [pod for pod in self.api.all(PODS) if covers(budget, pod) and not finished(pod)]
            absent = sum(leaving(pod) or not pod["spec"].get("nodeName") for pod in covered)
            allowed = max(0, budget["spec"]["maxUnavailable"] - absent)
            if allowed != budget["status"]["disruptionsAllowed"]:
                status = {**budget["status"], "disruptionsAllowed": allowed}
                self.api.replace(BUDGETS, {**budget, "status": status})

    def _delete_something(self, ours: list[Object]) -> None:
        random = self.queue.random
        if self.apps and random.random() < 0.3:
            self.drop(self.apps[random.randrange(len(self.apps))])
            return
        if not ours:
            return
        chosen = random.choice(ours)
        gang = workload.gang_of(chosen)
        for pod in ours:
            whole = gang is not None and workload.gang_of(pod) == gang
            if pod is chosen or (whole and random.random() < 0.9):
                self.queue.tell(f"user deletes {pod['metadata']['name']}")
                self.api.delete_pod(pod)

    def drop(self, app: _App) -> None:
        """Delete an app with all that is its."""
        self.apps.remove(app)
        self.queue.tell(f"user deletes app {app.name}")
        for pod in self.api.all(PODS):
            if pod["metadata"].get("ownerReferences", [{}])[0].get("name") == app.name:
                self.api.delete_pod(pod)
        for budget in self.api.all(BUDGETS):
            if budget["metadata"]["name"] == app.name:
                self.api.remove(BUDGETS, budget)

    def drop_all(self) -> None:
        """Delete everything."""
        self.active = False
        for app in list(self.apps):
            self.drop(app)
        for pod in self.api.all(PODS):
            self.api.delete_pod(pod)
        for path in (GROUPS, BUDGETS):
            for each in self.api.all(path):
                self.api.remove(path, each)
