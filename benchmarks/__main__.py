"""Runs the harness's commands: ``python -m benchmarks``."""

from __future__ import annotations

import click

from benchmarks.commands.burst import burst
from benchmarks.commands.compare import compare
from benchmarks.commands.consolidate import consolidate
from benchmarks.commands.dashboard import dashboard
from benchmarks.commands.device_failover import device_failover
from benchmarks.commands.drift import drift
from benchmarks.commands.end_to_end import end_to_end
from benchmarks.commands.everything import full, small
from benchmarks.commands.expected_starts import expected_starts
from benchmarks.commands.failover import failover
from benchmarks.commands.fragmentation import fragmentation
from benchmarks.commands.gangs import gangs
from benchmarks.commands.head_to_head import head_to_head
from benchmarks.commands.hostile import hostile
from benchmarks.commands.job_admission import job_admission
from benchmarks.commands.judge import controllers, judge
from benchmarks.commands.kueue_generators import kueue_generators
from benchmarks.commands.large_day import large_day
from benchmarks.commands.lifetimes import lifetimes
from benchmarks.commands.limits import growth, memory, optimum
from benchmarks.commands.load import load
from benchmarks.commands.lone_pod import lone_pod
from benchmarks.commands.network import network
from benchmarks.commands.numa import numa
from benchmarks.commands.observability import observability
from benchmarks.commands.preemption import preemption
from benchmarks.commands.queues import queues
from benchmarks.commands.relieve import relieve
from benchmarks.commands.report import report
from benchmarks.commands.requests import requests
from benchmarks.commands.reschedule import reschedule
from benchmarks.commands.shards import shards
from benchmarks.commands.start import start
from benchmarks.commands.sweep import sweep
from benchmarks.commands.throughput import policies, throughput
from benchmarks.commands.topology import topology
from benchmarks.commands.trees import trees
from benchmarks.commands.workloads import list_workloads, run
from protos.conventions.command_line import OneLineGroup


@click.group(
    "benchmarks",
    cls=OneLineGroup,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
def main() -> None:
    """Measure the scheduler, stage by stage. Quote medians, and compare only figures of one run."""


main.add_command(burst)
main.add_command(run)
main.add_command(list_workloads)
main.add_command(compare)
main.add_command(consolidate)
main.add_command(relieve)
main.add_command(reschedule)
main.add_command(device_failover)
main.add_command(drift)
main.add_command(end_to_end)
main.add_command(optimum)
main.add_command(expected_starts)
main.add_command(failover)
main.add_command(fragmentation)
main.add_command(job_admission)
main.add_command(kueue_generators)
main.add_command(large_day)
main.add_command(lifetimes)
main.add_command(shards)
main.add_command(gangs)
main.add_command(growth)
main.add_command(head_to_head)
main.add_command(hostile)
main.add_command(controllers)
main.add_command(judge)
main.add_command(load)
main.add_command(lone_pod)
main.add_command(memory)
main.add_command(network)
main.add_command(numa)
main.add_command(dashboard)
main.add_command(observability)
main.add_command(policies)
main.add_command(preemption)
main.add_command(queues)
main.add_command(report)
main.add_command(requests)
main.add_command(small)
main.add_command(start)
main.add_command(sweep)
main.add_command(throughput)
main.add_command(topology)
main.add_command(trees)
main.add_command(full)


if __name__ == "__main__":
    main()
