"""Random cases of queues: drawn from a seed, decided by a round and by another program, and judged."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from benchmarks.judge.drawn_queues.__main__ import main
from benchmarks.judge.drawn_queues.drawing import DrawnCase, draw_case
from benchmarks.judge.drawn_queues.other_program import decide_elsewhere
from benchmarks.judge.drawn_queues.this_scheduler import decide_here
from benchmarks.judge.queues.cases import Case
from benchmarks.judge.queues.rules import list_faults
from tests.support.effort import examples

KUEUE = os.environ.get("KUEUE_DECIDER", "")

DECIDER = """#!{python}
import json, sys
with open(sys.argv[1]) as asked, open(sys.argv[2], "w") as answered:
    for line in asked:
        case = json.loads(line)
        waiting = [each["metadata"]["name"] for each in case["workloads"] if not each["status"]]
        running = [each["metadata"]["name"] for each in case["workloads"] if each["status"]]
        admitted = {{waiting[0]: {{"cpu": "one"}}}}
        cycles = [{{"admitted": {{}}, "comes": waiting, "evicted": []}}]
        cycles.append({{"admitted": admitted, "comes": [], "evicted": running[:1]}})
        answered.write(json.dumps({{"name": case["name"], "cycles": cycles}}) + "\\n")
"""
"""Admits the first workload that waits, in its second cycle, and evicts the first one that runs."""


@pytest.fixture
def decider(tmp_path: Path) -> Path:
    program = tmp_path / "decider"
    program.write_text(DECIDER.format(python=sys.executable))
    program.chmod(0o755)
    return program


def test_a_round_decides_drawn_cases_as_the_judge_allows():
    decided = 0
    for seed in range(10_000, 10_000 + examples(300, least=30, slow=True)):
        case = draw_case(seed)
        found = decide_here(case)
        decided += len(found.given)
        posed = msgspec.structs.replace(case.make_case(), decisions={"here": found})
        assert list_faults(posed, found) == [], case.name
    assert decided


def test_equal_seeds_give_equal_cases_and_other_seeds_others():
    assert draw_case(7) == draw_case(7)
    assert draw_case(7) != draw_case(8)


def test_the_other_programs_cycles_count_together(decider: Path):
    case = draw_case(3)
    waiting = [each for each in case.workloads if not each.flavor]
    (found,) = decide_elsewhere(decider, [case])
    assert {name: each.use for name, each in found.admitted.items()} == {
        waiting[0].name: waiting[0].use_in("one")
    }
    assert [*found.comes] == [each.name for each in waiting[1:]]
    assert found.evicted == ("running-0",)


def test_who_waits_for_victims_takes_the_only_flavor_whatever_others_have_got(decider: Path):
    case = next(case for case in map(draw_case, range(100)) if _has_one_flavor(case))
    waiting = [each for each in case.workloads if not each.flavor]
    (found,) = decide_elsewhere(decider, [case])
    assert {name: each.use for name, each in found.comes.items()} == {
        each.name: each.use_in("one") for each in waiting[1:]
    }


def _has_one_flavor(case: DrawnCase) -> bool:
    """Whether all queues have the flavor ``one`` alone, some workload runs, and several wait."""
    flavors = {each["name"] for spec in case.queues.values() for each in spec["resourceGroups"][0]["flavors"]}
    waiting = sum(not each.flavor for each in case.workloads)
    return flavors == {"one"} and 1 < waiting < len(case.workloads)


def test_the_command_writes_cases_that_the_judge_reads(decider: Path, tmp_path: Path):
    file = tmp_path / "cases.jsonl"
    done = CliRunner().invoke(main, [str(file), "--first", "20", "--cases", "3", "--program", str(decider)])
    assert done.output.startswith("up to seed 22: ")
    cases = [msgspec.json.decode(line, type=Case) for line in file.read_bytes().splitlines()]
    assert [each.name for each in cases] == ["seed-20", "seed-21", "seed-22"]
    assert all(each.decisions.keys() == {"here", "kueue"} for each in cases)


def test_a_program_that_fails_is_named(tmp_path: Path):
    program = tmp_path / "broken"
    program.write_text("#!/bin/sh\necho no such case\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(RuntimeError, match=r"broken decided 0 of 1 cases: no such case"):
        decide_elsewhere(program, [draw_case(1)])


@pytest.mark.skipif(not KUEUE, reason="KUEUE_DECIDER names no program")
def test_nine_in_ten_cases_are_decided_as_kueue_does(tmp_path: Path):
    file = tmp_path / "cases.jsonl"
    CliRunner().invoke(main, [str(file), "--first", "50000", "--cases", "200", "--program", KUEUE])
    same = 0
    for line in file.read_bytes().splitlines():
        here, kueue = (json.loads(line)["decisions"][each] for each in ("here", "kueue"))
        come = [{*each.get("admitted", ()), *each.get("comes", ())} for each in (here, kueue)]
        same += come[0] == come[1] and {*here.get("evicted", ())} == {*kueue.get("evicted", ())}
    assert same >= 170
