"""``python -m benchmarks load`` at a small size: what it prints, and that both sides place the same."""

from __future__ import annotations

import json

from click.testing import CliRunner

from benchmarks.__main__ import main
from benchmarks.rounds.features.load import report_batches
from benchmarks.scenario import Scenario, machine_events
from firmament.core.events import MachineSampled, TasksBound
from firmament.wire.events import events_from_proto

SMALL = ["load", "--nodes", "20", "--tasks", "30", "--classes", "3", "--pairs", "1", "--interval", "0.5"]


def test_a_small_run():
    run = CliRunner().invoke(main, [*SMALL, "-o", "json"])
    assert run.exit_code == 0, run.output
    report = json.loads(run.stdout)
    overlay, stream = report["overlay"], report["stream"]
    assert overlay["placed_without"] == overlay["placed_with"] == 30
    assert stream["machines"] == 20
    assert stream["tasks"] > 20
    assert min(overlay["ratio"], stream["ratio"], stream["share_of_a_core"]) > 0


def test_each_pair_after_the_warm_up_gives_a_ratio():
    run = CliRunner().invoke(main, [*SMALL, "--pairs", "2", "-o", "json"])
    assert run.exit_code == 0, run.output
    assert len(json.loads(run.stdout)["overlay"]["ratios"]) == 2


def test_the_table_states_both_measurements():
    run = CliRunner().invoke(main, SMALL)
    assert run.exit_code == 0, run.output
    assert "round with the overlay" in run.stdout
    assert "of a core" in run.stdout


def test_reports_name_every_machine_and_task_once():
    cluster = machine_events(Scenario(nodes=300, fill="0.5"))
    reports = [event for batch in report_batches(cluster, 5.0) for event in events_from_proto(batch)]
    samples = [report for report in reports if isinstance(report, MachineSampled)]
    uids = [uid for sample in samples if sample.tasks is not None for uid in sample.tasks.uids]
    assert len({sample.machine for sample in samples}) == len(reports) == 300
    assert sorted(uids) == sorted(
        uid for event in cluster if isinstance(event, TasksBound) for uid in event.uids
    )
