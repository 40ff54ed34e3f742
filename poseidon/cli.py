"""Defines the ``poseidon`` command, whose sub-commands ``command_line`` finds and whose end it handles."""

from __future__ import annotations

from types import MappingProxyType

import click

import poseidon
from protos.conventions.command_line import LazyGroup

_COMMANDS = MappingProxyType(
    {
        "audit": "Say which nodes could be freed, which are overloaded, and which pods wait.",
        "bandwidth-agent": "Advertise the network bandwidth of the node that this program runs on.",
        "completion": "Print a script with which a shell completes commands and options.",
        "config": "Check or print the configuration of both programs, or print its JSON Schema.",
        "demo": "Schedule an example application on a simulated cluster.",
        "doctor": "Check that a bridge would find what it needs.",
        "explain": "Say whether one pod may run on each node, why not, and at what cost.",
        "get": "List queues as a tree, with the used part of each quota.",
        "netperf-probe": "Measure latencies between zones and regions, or answer such measurements.",
        "plan": "Say which pods would be bound to which nodes, and why the others would wait.",
        "reschedule": "Move running pods to nodes where they cost less.",
        "simulate": "Simulate hours of a cluster in minutes, with the real solver.",
        "shadow": "Watch another scheduler, and say on which nodes its pods would have cost less.",
        "support-bundle": "Write an archive for somebody who helps you, without secrets.",
        "tell-starts": "Annotate pods that ask for it with the time when they are expected to get a node.",
        "top": "Show how a running bridge and its solver are doing.",
        "ui": "Serve a web page that shows what a running bridge and solver do, or what files say.",
        "run": "Run the bridge, which connects a Kubernetes cluster to a solver.",
    }
)


@click.group(
    "poseidon",
    cls=LazyGroup,
    commands_in="poseidon.commands",
    helps=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(poseidon.__version__, prog_name="poseidon")
def main() -> None:
    """Place all waiting pods of a Kubernetes cluster at once."""
