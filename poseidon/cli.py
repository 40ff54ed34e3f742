"""The ``poseidon`` command; ``command_line`` finds its sub-commands and ends it."""

from __future__ import annotations

from types import MappingProxyType

import click

import poseidon
from protos.conventions.command_line import LazyGroup

_COMMANDS = MappingProxyType(
    {
        "audit": "Say which nodes could be freed, which hold too much, and which pods wait.",
        "bandwidth-agent": "Advertise the bandwidth of the node that it runs on.",
        "completion": "Print a script that teaches a shell the commands and options.",
        "config": "Check, show or describe the configuration of both programs.",
        "demo": "Schedule an example application on a simulated cluster.",
        "doctor": "Look whether a bridge would find what it needs.",
        "explain": "Say, for one pod and every node: feasible or why not, and the cost.",
        "get": "List queues as a tree, with what is used of them.",
        "netperf-probe": "Measure latencies between zones and regions, or answer those who do.",
        "plan": "Say what would be bound where, and why the rest would wait.",
        "reschedule": "Move running pods to where they cost less.",
        "simulate": "Run hours of a cluster in minutes, with the solver itself.",
        "shadow": "Watch another scheduler, and tell where its pods would have been cheaper.",
        "support-bundle": "Gather what somebody needs who helps from afar, without secrets.",
        "tell-starts": "Tell pods that ask for it when they are expected to get a node.",
        "top": "Show how a running pair is doing.",
        "ui": "Serve a web page that shows what a running pair does, or what files say.",
        "run": "Bridge a Kubernetes cluster to a solver.",
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
