"""Shortest job first: figures, and who gets a contended place."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pytest

from cost_models.checks.sample_inputs import Case
from cost_models.conformance import check_model
from cost_models.firmament_policies.sjf import HISTORY, PROGRAM, Sjf
from cost_models.interface import ShapeRow
from firmament.core.configuration import WeightedModel
from firmament.core.events import Event, RecordUpserted
from tests.support.core import Clock, machine, placed, scheduler, task_class, tasks, uids
from tests.support.models import Stated, flat
from tests.support.policies import machines, shapes


def records(**seconds: float) -> dict[str, bytes]:
    return {name: json.dumps({"count": 1, "meanSeconds": mean}).encode() for name, mean in seconds.items()}


def running(program: str) -> ShapeRow:
    return ShapeRow(annotations={PROGRAM: program})


def raw(history: Mapping[str, bytes], *rows: ShapeRow) -> list[float]:
    answer = Sjf().assess(machines("a", "b", records={HISTORY: history}), shapes(*rows))
    assert answer.raw.shape == (len(rows), 1)
    return answer.raw[:, 0].tolist()


def history(program: str, seconds: float) -> Event:
    return RecordUpserted(HISTORY, program, records(x=seconds)["x"])


def of(program: str):
    return task_class(cpu=1_000, annotations=((PROGRAM, program),))


def test_a_task_costs_a_hundred_per_millisecond_and_one():
    assert raw(records(a=2, b=0.5, c=0), running("a"), running("b"), running("c")) == [200_001, 50_001, 1]


def test_a_thousand_seconds_are_a_hundred_points():
    # The original's microseconds would have made them a hundred million.
    figures = raw(records(a=1_000, b=86_400), running("a"), running("b"))
    assert Sjf.range.points(np.array(figures)).tolist() == [100.0, 8_640.0]


def test_an_unknown_program_counts_as_the_mean_task():
    known = {
        "often": b'{"count": 9, "meanSeconds": 10}',
        "once": b'{"count": 1, "meanSeconds": 110}',
    }
    assert raw(known, running("new"), ShapeRow(), running("once")) == [2_000_001, 2_000_001, 11_000_001]


def test_without_any_history_all_are_equal():
    assert raw({}, running("a"), ShapeRow()) == [1, 1]


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"[]",
        b"7",
        b'{"count": 1}',
        b'{"count": 0, "meanSeconds": 1}',
        b'{"count": 1, "meanSeconds": -1}',
        b'{"count": 1, "meanSeconds": "5"}',
        b'{"count": true, "meanSeconds": 5}',
        b'{"count": 1, "meanSeconds": NaN}',
        b'{"count": 1, "meanSeconds": 1e300}',
        b"[" * 100_000,
    ],
)
def test_a_bad_record_is_noted_once_and_its_program_unknown(payload: bytes):
    columns = machines("a", records={HISTORY: {"bad": payload, **records(good=3)}})
    answer = Sjf().assess(columns, shapes(running("bad"), ShapeRow()))
    assert answer.raw[:, 0].tolist() == [300_001, 300_001]
    expected = '{"count": N, "meanSeconds": S}'
    assert answer.notes == (
        f"sjf: RuntimeHistory 'bad': payload is not {expected}; the program counts as unknown",
    )


def test_it_conforms_with_a_history():
    columns = machines("a", "b", records={HISTORY: records(etl=12)})
    check_model(Sjf(), [Case("a history", columns, shapes(running("etl"), ShapeRow()))])


def test_the_shortest_get_the_places():
    core = scheduler(
        *(machine(f"m{index}", cpu=1_000) for index in range(3)),
        [history("long", 100), history("short", 10), history("middle", 50)],
        tasks(1, *uids("long", 2), content=of("long")),
        tasks(2, *uids("short", 2), content=of("short")),
        tasks(3, *uids("middle", 2), content=of("middle")),
        policy="sjf",
    )
    found = placed(core.run_round())
    assert {"short-0", "short-1"} < set(found)
    assert len(found) == 3
    assert not {"long-0", "long-1"} & set(found)


def test_what_has_waited_longer_goes_first_all_the_same():
    clock = Clock()
    core = scheduler(
        machine("m", cpu=1_000, cordoned=True),
        [history("long", 100), history("short", 10)],
        tasks(1, "long", content=of("long")),
        policy="sjf",
        clock=clock,
    )
    clock.advance(5)
    core.apply([machine("m", cpu=1_000), *tasks(2, "short", content=of("short"))])
    assert set(placed(core.run_round())) == {"long"}


def test_overlays_decide_where():
    core = scheduler(
        machine("a"),
        machine("b"),
        history("etl", 500),
        tasks(1, "t", content=of("etl")),
        policy="sjf",
        overlays=[WeightedModel(Stated(flat(1.0, 0.0)))],
    )
    assert placed(core.run_round()) == {"t": "b"}
