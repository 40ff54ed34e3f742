"""``poseidon get queues``: prints the tree of queues, with the used part of each quota."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from poseidon.commands.shared.connection import connection_options, names_cluster
from poseidon.commands.shared.offline_input import Source, offline_options
from poseidon.commands.shared.output_and_exit import print_json, warn
from protos.configuration.sections import API_VERSION, KIND

if TYPE_CHECKING:
    from poseidon.offline.planned_queues import PlannedQueue
    from poseidon.simulate.expected_starts import QueueStarts


@click.group("get")
def get() -> None:
    """List what the bridge derives from the objects in files or in a running cluster."""


@get.command("queues")
@offline_options
@connection_options
@click.option(
    "--when",
    is_flag=True,
    help="Also say when the first and the last pod that waits in each queue are expected to get nodes. Takes up to a "
    "minute.",
)
def get_queues(*, source: Source, output: str, when: bool) -> None:
    """Show queues as a tree: quotas, what is used and borrowed, and how many workloads wait.

    With files, the queues are shown as `poseidon plan` would leave them. Without files, the command reads the cluster
    that the kubeconfig names, and shows its queues as a round would leave them now. The configuration has to name the
    projects whose queues are read (queues.source).
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
    starts: dict[str, QueueStarts] = {}
    if when:
        from poseidon.simulate.expected_starts import expect_starts, group_by_queue

        starts = group_by_queue(expect_starts(given.manifests, given.configuration, given.now))
    if output == "json":
        print_json({"queues": [_describe(each, starts, when=when) for each in made.queues]})
        return
    from poseidon.offline.tables import print_queues

    times = {queue: found.format_times() for queue, found in starts.items()}
    print_queues(made.queues, times if when else None)


def _describe(queue: PlannedQueue, starts: Mapping[str, QueueStarts], *, when: bool) -> dict[str, Any]:
    """Return the JSON object of a queue; if ``when``, it includes the expected starts of the queue's pods."""
    found = starts.get(queue.queue)
    more = {"expectedStarts": found and found.as_json()} if when else {}
    return queue.as_json() | more
