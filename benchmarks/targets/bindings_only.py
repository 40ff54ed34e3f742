"""A client that binds every pod to some node, nodes in turn: measures the API server's own rate of bindings.

Run as a process of its own. It says "listening on -" once it has read the nodes.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import click

from poseidon.kube.api.collections import NODES, PODS
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.watch.listing import pages
from poseidon.kube.watch.reflector import Reflector
from poseidon.kube.write.binder import Binder, BindOutcome, BindRequest
from protos.conventions import event_loop

_PAGE = 1000


class _BindAll:
    """Requests a binding for every pod without a node, once, as a reflector reports the pods."""

    def __init__(self, binder: Binder, nodes: Sequence[str]) -> None:
        self._binder = binder
        self._nodes = cycle(nodes)
        self._seen: set[str] = set()

    def take_changes(self, changes: Sequence[Change[Pod]]) -> None:
        """Bind new pods."""
        for change in changes:
            pod = change.object
            if pod is None or pod.spec.node_name or change.uid in self._seen:
                continue
            self._seen.add(change.uid)
            metadata = pod.metadata
            self._binder.submit(BindRequest(change.uid, metadata.namespace, metadata.name, next(self._nodes)))


@click.command()
@click.option("--kubeconfig", required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(kubeconfig: Path) -> None:
    """Bind every pod to some node, until SIGTERM."""
    # Uses the bridge's event loop, so that the figures differ only by the rest of the bridge.
    event_loop.run(_run(kubeconfig))


async def _run(kubeconfig: Path) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    settings = load_settings(kubeconfig)
    async with Transport(settings, clock=time.monotonic, user_agent="poseidon-bench-bind") as transport:
        nodes = [node.metadata.name async for page in pages(transport, NODES, _PAGE) for node in page.items]
        if not nodes:
            raise click.ClickException("the cluster has no nodes")
        environment = Environment(transport)
        binder = Binder(environment, _ignore)
        reflector = Reflector(environment, PODS, _BindAll(binder, nodes).take_changes)
        tasks = [asyncio.create_task(binder.run()), asyncio.create_task(reflector.run())]
        sys.stdout.write("listening on -\n")
        sys.stdout.flush()
        await stop.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _ignore(_: BindOutcome) -> None:
    """Ignore the outcome: the benchmark's own watcher sees which pods are bound."""


if __name__ == "__main__":
    main()
