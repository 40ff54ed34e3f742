"""Users whose pods claim devices, beside all others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from tests.programs.simulation import device_objects, workload
from tests.programs.simulation.api_server import CLAIMS, CLASSES, GROUPS, PODS, Object, stamp
from tests.programs.simulation.users import Users

_MOST_SHARED = 4


@dataclass
class DeviceUsers(Users):
    """Users as others are, who ask for devices as well. ``shared``: claims that pods share, with their templates."""

    shared: dict[str, str] = field(default_factory=dict)

    def found_classes(self) -> None:
        """Create the classes of devices."""
        for name, spec in device_objects.CLASSES.items():
            self.api.create(CLASSES, {"metadata": {"name": name}, "spec": spec})

    def list_kinds(self) -> tuple[Callable[[], None], ...]:
        """Return what they may do next."""
        ours = (self._claimants, self._claimants, self._claimants, self._claiming_gang, self._claiming_app)
        return (
            *super().list_kinds(),
            *ours,
            self._sharers,
            self._sharers,
            self._claiming_vip,
            self._drop_claim,
        )

    def _draw_claims(self) -> list[Object]:
        random = self.queue.random
        drawn = random.sample(sorted(device_objects.TEMPLATES), random.choice((1, 1, 1, 2)))
        return [{"name": f"c{at}", "resourceClaimTemplateName": each} for at, each in enumerate(drawn)]

    def _draw_labels(self) -> dict[str, str]:
        return {"lasting": "yes"} if self.queue.random.random() < 0.4 else {}

    def _asks(self) -> dict[str, str]:
        return {"cpu": f"{self.queue.random.choice((50, 100, 250))}m", "memory": "32Mi"}

    def _claimants(self) -> None:
        random = self.queue.random
        for _ in range(random.randint(1, 4)):
            named, importance = self._draw_claims(), random.choice((0, 0, 10))
            made = workload.pod(
                self._name("c"),
                self._asks(),
                priority=importance,
                labels=self._draw_labels(),
                resourceClaims=named,
            )
            self._create(made)

    def _claiming_vip(self) -> None:
        named = self._draw_claims()
        self._create(workload.pod(self._name("cvip"), self._asks(), priority=100, resourceClaims=named))

    def _claiming_gang(self) -> None:
        random = self.queue.random
        name, least, named = self._name("cgang"), random.randint(2, 3), self._draw_claims()
        labels = {workload.GROUP: name, **self._draw_labels()}
        asks, importance = self._asks(), random.choice((0, 0, 100))
        self.api.create(GROUPS, workload.group(name, least))
        for index in range(least):
            made = workload.pod(
                f"{name}-{index}", asks, priority=importance, labels=labels, resourceClaims=named
            )
            self.queue.after(random.random() * 0.5, partial(self._create, made))

    def _claiming_app(self) -> None:
        name, asks, named = self._name("capp"), self._asks(), self._draw_claims()[:1]
        self._own(
            name,
            self.queue.random.randint(2, 4),
            lambda each: workload.pod(each, asks, labels={"app": name}, owner=name, resourceClaims=named),
        )

    def _sharers(self) -> None:
        random = self.queue.random
        if len(self.shared) < _MOST_SHARED:
            name = self._name("shared")
            self.shared[name] = random.choice(sorted(device_objects.TEMPLATES))
            self.queue.after(random.random() * 2, self._keep_claims)
        name = random.choice(sorted(self.shared))
        for _ in range(random.randint(1, 3)):
            named = [{"name": "s", "resourceClaimName": name}]
            labels = self._draw_labels()
            self._create(workload.pod(self._name("s"), self._asks(), labels=labels, resourceClaims=named))

    def _keep_claims(self) -> None:
        for name, template in self.shared.items():
            if self.api.find(CLAIMS, workload.NAMESPACE, name) is None:
                self.api.create(CLAIMS, device_objects.shared_claim(name, template))
                self.queue.tell(f"user creates claim {name} ({template})")

    def _drop_claim(self) -> None:
        """Delete a claim that pods share: it goes once nobody has it, and comes again."""
        found = [each for each in self.api.all(CLAIMS) if each["metadata"]["name"] in self.shared]
        if found and self.queue.random.random() < 0.5:
            claim = self.queue.random.choice(found)
            self.queue.tell(f"user deletes claim {claim['metadata']['name']}")
            gone = {**claim["metadata"], "deletionTimestamp": stamp(self.queue.wall())}
            if claim["metadata"]["finalizers"]:
                self.api.replace(CLAIMS, {**claim, "metadata": gone})
            else:
                self.api.remove(CLAIMS, claim)

    def _reconcile(self) -> None:
        super()._reconcile()
        self._keep_claims()

    def drop_all(self) -> None:
        """Delete everything but classes; claims go as pods do."""
        self.shared.clear()
        super().drop_all()
        for pod in self.api.all(PODS):
            self.api.delete_pod(pod)
