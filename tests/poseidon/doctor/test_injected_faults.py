"""Everything that goes wrong when both programs are installed: `poseidon doctor` names each fault and its cure.

The API server is the simulated one, which enforces the shipped roles; the solver is a real one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from firmament.configuration.document import SchedulerConfiguration
from firmament.server.access.address import ListenAddress
from firmament.server.access.credentials import parse_clients
from firmament.server.solver_server import ServeOptions, SolverServer
from poseidon.cli import main
from poseidon.testbed.api_server import discovery
from poseidon.testbed.kubeconfig import write_kubeconfig
from poseidon.testbed.objects.resources import NODES
from poseidon.testbed.seeding import NodeShape, node
from protos.conventions.tls import TlsFiles
from tests.deploy.installation import NAMESPACE, Installation, installed
from tests.programs.end_to_end.scene import free_port
from tests.support.certificates import DAY, make_authority, sign

LEASE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "poseidon", "namespace": NAMESPACE},
    "spec": {
        "holderIdentity": "gone",
        "leaseDurationSeconds": 15,
        "renewTime": "2020-01-01T00:00:00.000000Z",
    },
}


@dataclass
class House:
    """What is installed, before the fault comes and with it: ``options`` of the command, ``config`` its file."""

    made: Installation
    folder: Path
    monkeypatch: pytest.MonkeyPatch
    token: str
    target: str
    config: dict[str, Any] = field(default_factory=dict)
    tls: TlsFiles | None = None
    namespace_of_lease: str = NAMESPACE

    async def diagnosis(self) -> tuple[int, dict[str, tuple[str, str]]]:
        """The exit status, and verdict and message of each check."""
        write_kubeconfig(self.folder / "kubeconfig", self.made.cluster.url, self.token)
        path = self.folder / "examined.yaml"
        head = {"apiVersion": "firmament.io/v1alpha1", "kind": "SchedulerConfiguration"}
        election = {"leaderElection": {"leaderElect": True, "resourceNamespace": self.namespace_of_lease}}
        path.write_text(yaml.safe_dump({**head, **election, **self.config}))
        words = [
            *("doctor", "-o", "json", f"--config={path}", f"--firmament={self.target}"),
            *("--kubeconfig", str(self.folder / "kubeconfig"), "--cluster-name=mine"),
        ]
        if self.tls is not None:
            words += [
                f"--tls-cert={self.tls.certificate}", f"--tls-key={self.tls.key}", f"--tls-ca={self.tls.authority}",
            ]  # fmt: skip
        result = await asyncio.to_thread(CliRunner().invoke, main, words)
        document = json.loads(result.stdout)
        found = {each["check"]: (each["verdict"], each["message"]) for each in document["checks"]}
        return result.exit_code, found

    def drop_right(self, resource: str) -> None:
        """Take a resource out of the base's role."""
        operations = self.made.operations
        roles = operations.registry.find("rbac.authorization.k8s.io", "v1", "clusterroles")
        assert roles is not None
        role = json.loads(operations.get(roles, "", "poseidon").raw)
        for rule in role["rules"]:
            rule["resources"] = [each for each in rule["resources"] if each != resource]
        operations.update(roles, "", "poseidon", role)

    def nodes(self, **spec: Any) -> None:
        """Write the spec of every node."""
        operations = self.made.operations
        for name in ("n1", "n2"):
            held = json.loads(operations.get(NODES, "", name).raw)
            operations.update(NODES, "", name, {**held, "spec": {**held["spec"], **spec}})

    def certificate(self, **options: Any) -> None:
        """Give the command a certificate of its own."""
        assert self.tls is not None
        made = sign(CA[self.folder], self.folder, "poseidon", **options)
        self.tls = TlsFiles(made.certificate, made.key, self.tls.authority)


CA: dict[Path, Any] = {}


def set_(**values: Any) -> Callable[[House], None]:
    def change(house: House) -> None:
        for name, value in values.items():
            setattr(house, name, value)

    return change


@dataclass(frozen=True)
class Fault:
    """``makes`` the fault; then ``check`` comes out with ``verdict`` and a message that ``says`` so."""

    name: str
    makes: Callable[[House], object]
    check: str
    says: str
    verdict: str = "wrong"
    tls: bool = False


def foreign_authority(house: House) -> None:
    other = make_authority(house.folder, "other")
    assert house.tls is not None
    house.tls = TlsFiles(house.tls.certificate, house.tls.key, other.certificate)


def another_key(house: House) -> None:
    assert house.tls is not None
    stray = sign(CA[house.folder], house.folder, "stray")
    house.tls = TlsFiles(house.tls.certificate, stray.key, house.tls.authority)


def old_server(house: House) -> None:
    house.monkeypatch.setattr(discovery, "VERSION", {"major": "1", "minor": "24", "gitVersion": "v1.24.0"})


FAULTS = [
    Fault("a wrong token", set_(token="of nobody"), "api server", "401"),
    Fault("an API server that is too old", old_server, "api server", "v1.24.0 is older than 1.30"),
    Fault("a key that nobody knows", set_(config={"polcy": {}}), "configuration", "did you mean policy?"),
    Fault("no right to bind", lambda h: h.drop_right("pods/binding"), "rights base", "create pods/binding; apply"),
    Fault("no right to look at nodes", lambda h: h.drop_right("nodes"), "nodes", "cannot be listed", "warning"),
    Fault(
        "the role of topology groups was not applied",
        set_(config={"costModels": [{"name": "topology"}]}), "rights topology", "apply deploy/topology",
    ),
    Fault(
        "the role of network-aware scheduling was not applied",
        set_(config={"costModels": [{"name": "network_overhead"}]}), "rights network", "apply deploy/network",
    ),
    Fault(
        "definitions of AppGroups are not installed",
        set_(config={"costModels": [{"name": "network_overhead"}]}),
        "definition appgroup.diktyo.x-k8s.io", "network_overhead has no data until",
    ),
    Fault(
        "nobody exports NUMA zones", set_(config={"costModels": [{"name": "numa_fit"}]}),
        "definition topology.node.k8s.io", "numa_fit has no data until",
    ),
    Fault("nobody may evict", set_(), "rights preemption", "apply deploy/preemption", "warning"),
    Fault(
        "bare pods are to be created again without the right",
        set_(config={"recovery": {"recreateBarePods": True}}), "rights recovery", "apply deploy/recovery",
    ),
    Fault("a Lease in another namespace", set_(namespace_of_lease="elsewhere"), "rights lease", "create leases"),
    Fault(
        "a bridge that is gone has the Lease", lambda h: h.made.create([LEASE]),
        "leader", "nothing is bound until a bridge runs", "warning",
    ),
    Fault("all nodes are cordoned", lambda h: h.nodes(unschedulable=True), "nodes", "none of 2 is ready", "warning"),
    Fault(
        "no metrics-server", set_(config={"utilisation": {"metricsServer": {"mode": "auto"}}}),
        "measured use metrics.k8s.io", "install metrics-server", "warning",
    ),
    Fault(
        "no koordlet", set_(config={"costModels": [{"name": "load_threshold"}]}),
        "measured use slo.koordinator.sh", "install koordlet", "warning",
    ),
    Fault(
        "no solver", lambda h: setattr(h, "target", f"127.0.0.1:{free_port()}"), "solver", "without TLS",
    ),
    Fault("no certificate where one is asked for", set_(tls=None), "solver", "without TLS", tls=True),
    Fault(
        "a certificate that has expired", lambda h: h.certificate(good=(-2 * DAY, -DAY)),
        "certificate", "was good until", tls=True,
    ),
    Fault(
        "a certificate that expires soon", lambda h: h.certificate(good=(-DAY, DAY)),
        "certificate", "which is soon", "warning", tls=True,
    ),
    Fault(
        "a certificate from tomorrow", lambda h: h.certificate(good=(DAY, 30 * DAY)),
        "certificate", "check the clock", tls=True,
    ),
    Fault("the key of another certificate", another_key, "certificate", "is not the key of", tls=True),
    Fault("a solver of another authority", foreign_authority, "solver", "with TLS", tls=True),
    Fault(
        "a certificate for another cluster",
        lambda h: h.certificate(good=(-DAY, 30 * DAY)),
        "solver", "may not", tls=True,
    ),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_it_is_named_and_was_not_found_before(tmp_path, monkeypatch, fault):
    async with AsyncExitStack() as stack:
        made = await stack.enter_async_context(installed(tmp_path))
        made.create(node(name, NodeShape()) for name in ("n1", "n2"))
        await made.cluster.start()
        CA[tmp_path] = authority = make_authority(tmp_path, "authority")
        own = sign(authority, tmp_path, "firmament", "IP:127.0.0.1")
        files = TlsFiles(own.certificate, own.key, authority.certificate)
        clients = parse_clients(("stranger=theirs" if "another cluster" in fault.name else "poseidon=mine",))
        options = ServeOptions(
            ListenAddress("127.0.0.1", 0), tls=files if fault.tls else None, clients=clients
        )
        server = SolverServer(SchedulerConfiguration(), options)
        target = str(await server.start())
        stack.push_async_callback(server.stop, 1.0)
        house = House(made, tmp_path, monkeypatch, made.token(), target)
        if fault.tls:
            house.tls = files
            house.certificate(good=(-DAY, 30 * DAY))
        status, before = await house.diagnosis()
        always = ("nobody may evict", "a certificate for another cluster")
        assert fault.name in always or fault.check not in before or before[fault.check][0] == "ok", before
        fault.makes(house)
        status, found = await house.diagnosis()
        assert fault.check in found, found
        assert found[fault.check][0] == fault.verdict, found
        assert fault.says in found[fault.check][1], found
        assert status == any(verdict == "wrong" for verdict, _ in found.values())
        del CA[tmp_path]
