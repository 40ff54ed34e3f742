"""Equal events and an equal seed give equal deltas, whatever the process, its hash seed and the order of mappings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.configuration import RoundOptions
from firmament.core.events import Event, MachineUpserted
from tests.support.effort import examples
from tests.support.histories.replay import record
from tests.support.histories.strategies import Apply, History, Round, Step, crowds, histories

ROOT = Path(__file__).resolve().parents[3]


@settings(max_examples=examples(60))
@given(st.one_of(crowds(), histories(windows=True)), st.integers(0, 3))
def test_fresh_scheduler_repeats_every_round(history: History, seed: int):
    options = RoundOptions(seed=seed, reserve_after_rounds=2, reserve_after=0.0)
    assert record(history, options) == record(history, options)


def turned(event: Event) -> Event:
    """The event with the mappings of its machine filled in reverse order."""
    if not isinstance(event, MachineUpserted):
        return event
    machine = event.machine
    return MachineUpserted(
        replace(
            machine,
            labels=dict(reversed(list(machine.labels.items()))),
            allocatable=dict(reversed(list(machine.allocatable.items()))),
        )
    )


def turned_step(step: Step) -> Step:
    match step:
        case Apply(events):
            return Apply(tuple(turned(event) for event in events))
        case Round(meanwhile):
            return Round(tuple(turned_step(happening) for happening in meanwhile))  # type: ignore[misc]
        case _:
            return step


@settings(max_examples=examples(30))
@given(histories(windows=True))
def test_order_of_mappings_does_not_matter(history: History):
    mirrored = History(history.classes, tuple(turned_step(step) for step in history.steps))
    assert record(history) == record(mirrored)


def test_hash_seed_of_the_process_does_not_matter():
    answers = []
    for hash_seed in ("1", "4242"):
        run = subprocess.run(
            [sys.executable, "-m", "tests.support.histories.replay"],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        answers.append(json.loads(run.stdout))
    assert answers[0] == answers[1]
    assert sum(len(deltas) for deltas, _ in answers[0]) > 20
    assert any(unscheduled for _, unscheduled in answers[0])
