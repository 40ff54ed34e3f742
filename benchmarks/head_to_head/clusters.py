"""Provides the cluster of a run: a new control plane, an existing cluster, or a simulated API server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.head_to_head.group_tree_kinds import PLUGINS, RUNTIME, serve_later_kinds
from benchmarks.judge.control_plane import ControlPlane, ControlPlaneOptions
from benchmarks.processes.parts.usage import Roots
from poseidon.testbed.harness.stack import Stack, StackOptions

GATES = ("GenericWorkload=true", "GangScheduling=true")
"""Feature gates of API server and kube-scheduler that gangs need."""

_LEFT_OUT = (
    "node-lifecycle-controller",
    "taint-eviction-controller",
    "node-ipam-controller",
    "persistentvolume-binder-controller",
    "ttl-controller",
)


def list_controllers() -> str:
    """Return the value of ``--controllers``: all but those that need kubelets, of which there are none, and the one
    that binds claims.
    """
    return ",".join(("*", *(f"-{name}" for name in _LEFT_OUT)))


@dataclass(frozen=True, slots=True)
class Arena:
    """A cluster: ``roots`` returns its processes; ``scheduler`` is the binary of kube-scheduler, if any.

    An ``own`` cluster ends with the run, with all of its objects.
    """

    kubeconfig: Path
    roots: Roots
    scheduler: Path | None
    own: bool = True


@dataclass(frozen=True, slots=True)
class ArenaOptions:
    """Options: ``binaries``: folder of a control plane. ``kubeconfig``: an existing cluster. ``simulated``: this
    project's testbed. ``later_kinds``: a control plane serves the kinds of trees of groups, which no kube-scheduler
    knows.
    """

    binaries: Path | None = None
    kubeconfig: Path | None = None
    simulated: bool = False
    later_kinds: bool = False


@asynccontextmanager
async def open_arena(options: ArenaOptions, folder: Path) -> AsyncGenerator[Arena]:
    """Start the cluster, and end it. Raises ``ControlPlaneError``, ``ChildDiedError`` or ``TimeoutError``."""
    scheduler = options.binaries / "kube-scheduler" if options.binaries is not None else None
    if options.simulated:
        async with Stack(StackOptions(folder)) as stack:
            await stack.start_cluster()
            yield Arena(stack.kubeconfig, lambda: {"cluster": stack.cluster.pid}, None)
    elif options.kubeconfig is not None:
        yield Arena(options.kubeconfig, dict, scheduler, own=False)
    else:
        assert options.binaries is not None
        if options.later_kinds:
            later = ControlPlaneOptions(scheduler=False, features=GATES, runtime=RUNTIME, left_out=PLUGINS)
            async with ControlPlane(options.binaries, folder, later) as plane:
                await serve_later_kinds(plane.kubeconfig)
                yield Arena(plane.kubeconfig, lambda: plane.pids, None)
            return
        wanted = ControlPlaneOptions(
            controllers=list_controllers(),
            scheduler=False,
            features=GATES,
            runtime="scheduling.k8s.io/v1alpha2=true",
        )
        async with ControlPlane(options.binaries, folder, wanted) as plane:
            yield Arena(plane.kubeconfig, lambda: plane.pids, scheduler)
