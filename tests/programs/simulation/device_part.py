"""All that histories with claims of devices have beside others."""

from __future__ import annotations

from firmament.core.state.device_allocations import DeviceAllocations
from tests.programs.simulation import device_objects, workload
from tests.programs.simulation.actors import Kubelets
from tests.programs.simulation.api_server import CLAIMS, ApiServer, Object
from tests.programs.simulation.device_controllers import ClaimController, DeviceDrivers
from tests.programs.simulation.device_oracle import DeviceOracle
from tests.programs.simulation.device_users import DeviceUsers
from tests.programs.simulation.event_queue import EventQueue

CONFIGURED = {"devices": {"bindTimeout": "20s"}}
"""What bridges are configured with: so short that what follows comes within a history."""


class DevicePart:
    """Drivers, the controller of claims, and what must hold of both at the end."""

    def __init__(self, queue: EventQueue, api: ApiServer, oracle: DeviceOracle, kubelets: Kubelets) -> None:
        self._api = api
        self._oracle = oracle
        self.controller, self.drivers = ClaimController(queue, api), DeviceDrivers(queue, api)
        kubelets.is_prepared = self._is_prepared

    def begin(self, users: DeviceUsers) -> None:
        """Let there be devices from now on."""
        users.found_classes()
        self.drivers.begin()
        self.controller.begin()

    def changed(self, path: str, found: Object) -> None:
        """Take a change of an object."""
        self.controller.changed(path)
        self.drivers.changed(path, found)

    def make_room(self) -> None:
        """Let there be devices for all, that do what they are to do. Nodes to come have many."""
        self.drivers.calm()
        self.drivers.publish_network(80)

    def compare(self, book: DeviceAllocations) -> None:
        """See whether the solver's book says of each device who has it, and whether somebody has some who is gone."""
        leaks = self._oracle.leaks()
        if leaks:
            self._oracle.fail(f"devices are had by nobody: {', '.join(leaks)}")
        if book.promised:
            self._oracle.fail(
                f"the solver keeps devices for {', '.join(book.promised)}, and nothing is on its way"
            )
        for claim in self._api.all(CLAIMS):
            key = f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
            known = book.known_claims.get(key)
            told = known.allocation if known is not None else None
            if told != claim["status"].get("allocation"):
                self._oracle.fail(f"the solver knows otherwise of the devices of {key}")

    def _is_prepared(self, pod: Object) -> bool:
        """Whether all claims of a pod have devices, for it as well."""
        names = device_objects.names_claims(pod)
        claims = [self._api.find(CLAIMS, workload.NAMESPACE, name) for name in names]
        return len(names) == len(device_objects.list_named(pod)) and all(
            each is not None and pod["metadata"]["uid"] in device_objects.list_users(each) for each in claims
        )
