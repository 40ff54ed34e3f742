"""A simulated cluster with manifests of ``deploy/`` in it: the bridge comes as the account that they make."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from poseidon.testbed.access import Attributes
from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.api_server.server import SimulatedCluster
from poseidon.testbed.harness.stack import Stack, StackOptions
from poseidon.testbed.kubeconfig import write_kubeconfig
from tests.deploy.manifests import everything
from tests.support import preloaded

Object = dict[str, Any]

ADMINISTRATOR = "of the administrator"
NAMESPACE, ACCOUNT = "poseidon", "poseidon"
USER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
OF_OTHERS = ("CronJob", "PodMonitor", "PrometheusRule")
"""Kinds that the simulated cluster does not serve."""


class Installation:
    """``requests`` that were refused are kept: method, path and status."""

    def __init__(self, folder: Path, config: Object | None = None, **options: Any) -> None:
        self.folder = folder
        self.refused: list[tuple[str, str, int]] = []
        self.cluster = SimulatedCluster(
            ClusterOptions(token=ADMINISTRATOR, **options), observer=self._observe
        )
        self.operations = self.cluster.operations
        path = folder / "configuration.yaml"
        head = {"apiVersion": "firmament.io/v1alpha1", "kind": "SchedulerConfiguration"}
        # In a pod the namespace is that of its account.
        election = {"leaderElection": {"leaderElect": True, "resourceNamespace": NAMESPACE}}
        path.write_text(yaml.safe_dump({**head, **election, **(config or {})}))
        self.stack = Stack(
            StackOptions(
                folder,
                kubeconfig=folder / "kubeconfig",
                config=path,
                cluster_name=folder.name,
                launch=preloaded.fork,
            )
        )

    def create(self, objects: Iterable[Object]) -> None:
        """Create objects and the namespaces that they are in; who is there already stays."""
        for each in objects:
            if within := each["metadata"].get("namespace"):
                self._create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": within}})
            self._create(each)

    def _create(self, each: Object) -> None:
        kind, metadata = each["kind"], each["metadata"]
        resource = self.operations.registry.of_kind(each["apiVersion"], kind)
        assert resource is not None, (each["apiVersion"], kind)
        namespace = metadata.get("namespace", "default") if resource.namespaced else ""
        collection = self.operations.store.collection(resource.collection)
        if collection.get(collection.key(namespace, metadata["name"])) is None:
            create_object(self.operations, each)

    def apply(self, folder: str) -> None:
        """Do what ``kubectl apply -k deploy/FOLDER`` does."""
        self.create(each for each in everything(folder) if each["kind"] not in OF_OTHERS)

    def token(self) -> str:
        """Return a token of the bridge's account."""
        return self.cluster.accounts.issue(NAMESPACE, ACCOUNT, 3600.0)[0]

    def used(self) -> set[tuple[str, str, str]]:
        """Group, resource and verb of what the bridge was allowed and has done; Leases are a role of their own."""
        found = self.cluster.access.used.get(USER, set())
        return {(each.group, each.resource, each.verb) for each in found if each.resource != "leases"}

    def used_of_leases(self) -> set[Attributes]:
        """What it has done with Leases."""
        return {each for each in self.cluster.access.used.get(USER, ()) if each.resource == "leases"}

    def listed(self, collection: str) -> list[Object]:
        """All objects of a collection."""
        store = self.operations.store
        return store.objects(store.collection(collection))

    def nodes_of(self) -> dict[str, str]:
        """The node of each pod that has one, by name."""
        return {
            each["metadata"]["name"]: each["spec"]["nodeName"]
            for each in self.listed("pods")
            if each["spec"].get("nodeName")
        }

    async def start(self) -> None:
        """Let the API server listen, and start both processes."""
        await self.cluster.start()
        write_kubeconfig(self.stack.kubeconfig, self.cluster.url, self.token())
        await self.stack.start_solver()
        await self.stack.start_bridge()

    def _observe(self, method: str, path: str, status: int) -> None:
        if status in (401, 403):
            self.refused.append((method, path, status))


@asynccontextmanager
async def installed(
    folder: Path, components: Iterable[str] = (".",), config: Object | None = None, **options: Any
) -> AsyncIterator[Installation]:
    """Install components of ``deploy/``; the processes are started by the test, and ended here."""
    made = Installation(folder, config, **options)
    for each in components:
        made.apply(each)
    try:
        async with made.stack:
            yield made
    finally:
        await made.cluster.stop()
        await asyncio.sleep(0)
