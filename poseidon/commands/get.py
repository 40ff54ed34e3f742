"""``poseidon get queues``: the tree of queues, and what is used of them."""

from __future__ import annotations

import click

from poseidon.commands.connection import connection_options, names_cluster
from poseidon.commands.endings import print_json, warn
from poseidon.commands.offline_input import Source, offline_options
from protos.conventions.configuration import API_VERSION, KIND


@click.group("get")
def get() -> None:
    """List what the bridge makes of objects in files, or in a running cluster."""


@get.command("queues")
@offline_options
@connection_options
def get_queues(*, source: Source, output: str) -> None:
    """Show queues as a tree: quotas, what is used and borrowed, and how many workloads wait.

    With files, as poseidon plan would leave them; without, as a round now would leave those of the cluster that the
    kubeconfig names. The configuration has to name the projects (queues.source).
    """
    if source.names_files and names_cluster():
        raise click.UsageError("--kubeconfig and --context are for a live cluster; leave -f away")
    given = source.read() if source.names_files else source.read_live()
    from poseidon.offline.plan import make_plan

    if not given.configuration.queues.source:
        example = f"{{apiVersion: {API_VERSION}, kind: {KIND}, queues: {{source: [kueue]}}}}"
        raise click.UsageError(
            f"no queues are read; name their project in --config, as in a file with {example}"
        )
    made = make_plan(given.manifests, given.configuration, given.now)
    warn(made.warnings)
    if output == "json":
        print_json({"queues": [each.as_json() for each in made.queues]})
        return
    from poseidon.offline.tables import print_queues

    print_queues(made.queues)
