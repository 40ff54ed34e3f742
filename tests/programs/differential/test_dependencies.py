"""``depends_on`` is sound: in whatever order bindings succeed, and whichever fail, affinity holds at every step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.results import Delta
from tests.programs.differential.checker import Rule, broken_rules
from tests.programs.differential.drive import core
from tests.programs.differential.generate import SMALL, WIDE, Size, case
from tests.programs.differential.translation import Classes
from tests.programs.differential.world import Cluster, Pod, PodSpec
from tests.support.effort import examples

ROOT = Path(__file__).resolve().parents[3]
AT_EVERY_STEP = {Rule.AFFINITY, Rule.ANTI_AFFINITY, Rule.EXISTING_ANTI_AFFINITY, Rule.PORTS, Rule.RESOURCES}
"""Topology spread is not among them: what evens it out may come last."""


def deltas_of(seed: int, size: Size) -> tuple[Cluster, dict[str, PodSpec], Sequence[Delta]]:
    made = case(seed, size)
    return made.cluster, made.waiting, core(made, Classes()).run_round().deltas


@settings(max_examples=examples(60))
@given(
    st.integers(0, 100_000),
    st.sampled_from([SMALL, WIDE]),
    st.randoms(use_true_random=False),
    st.sampled_from([0.0, 0.1, 0.4]),
)
def test_any_order_that_respects_dependencies(seed: int, size: Size, draw: Random, failures: float):
    cluster, waiting, deltas = deltas_of(seed, size)
    bound: set[str] = set()
    left = list(deltas)
    while True:
        ready = [delta for delta in left if bound.issuperset(delta.depends_on)]
        if not ready:
            break
        delta = draw.choice(ready)
        left.remove(delta)
        if draw.random() < failures:
            continue  # refused: those that depend on it never become ready
        broken = AT_EVERY_STEP.intersection(broken_rules(cluster, waiting[delta.uid], delta.machine))
        assert not broken, f"{delta} after {sorted(bound)}"
        cluster.pods[delta.uid] = Pod(waiting[delta.uid], delta.machine)
        bound.add(delta.uid)
    assert failures or not left, "a dependency that nothing of the round fulfils"


def test_dependencies_name_earlier_deltas_and_only_where_needed():
    some = total = 0
    for seed in range(examples(25)):
        _, waiting, deltas = deltas_of(seed, WIDE)
        before: set[str] = set()
        for delta in deltas:
            assert before.issuperset(delta.depends_on), delta
            assert not delta.depends_on or waiting[delta.uid].affinity, f"{delta} leans on nothing"
            before.add(delta.uid)
            some += bool(delta.depends_on)
        total += len(deltas)
    assert 0 < some < total


# --- repeatability ---------------------------------------------------------------------------------------------------

PROGRAM = """
import json
from tests.programs.differential.drive import core
from tests.programs.differential.generate import SIZES, case
from tests.programs.differential.translation import Classes
answers = []
for size, seeds in (("small", 10), ("wide", 5), ("middle", 1)):
    for seed in range(seeds):
        result = core(case(seed, SIZES[size]), Classes()).run_round()
        answers.append([[[d.uid, d.machine, d.depends_on] for d in result.deltas],
                        [[group.uids, group.message] for group in result.unscheduled]])
print(json.dumps(answers))
"""


def test_rounds_with_rules_do_not_depend_on_the_hash_seed():
    answers = []
    for hash_seed in ("1", "4242"):
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        )
        answers.append(json.loads(run.stdout))
    assert answers[0] == answers[1]
    assert sum(len(deltas) for deltas, _ in answers[0]) > 100


def test_rounds_with_rules_repeat():
    for seed in range(examples(12, 4)):
        assert deltas_of(seed, WIDE)[2] == deltas_of(seed, WIDE)[2]
