"""The rivals and the generator, before anything is concluded from them."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path

import pytest

from tests.programs.differential.board import Board, Layout
from tests.programs.differential.checker import Rule, accepting_nodes, broken_rules
from tests.programs.differential.exhaustive import most
from tests.programs.differential.generate import MIDDLE, SIZES, SMALL, WIDE, Size, case
from tests.programs.differential.pod_by_pod import one_order, orders
from tests.programs.differential.world import Case, Cluster, Pod, PodSpec

pytestmark = pytest.mark.full

ROOT = Path(__file__).resolve().parents[3]


def layout_of(made: Case) -> Layout:
    return Layout(made.cluster, list({spec.name: spec for spec in made.waiting.values()}.values()))


def accepted(cluster: Cluster, waiting: dict[str, PodSpec], order: list[tuple[str, str]]) -> Cluster:
    """The cluster after placements, each of which must keep every rule when it is made."""
    after = cluster.copy()
    for uid, node in order:
        assert broken_rules(after, waiting[uid], node) == [], f"{uid} on {node}"
        after.pods[uid] = Pod(waiting[uid], node)
    return after


@pytest.mark.parametrize("size", [SMALL, WIDE, replace(MIDDLE, nodes=(20, 20), waiting=(60, 60))])
@pytest.mark.parametrize("block", range(2))
def test_board_and_checker_agree_on_every_node_at_every_step(size: Size, block: int):
    for seed in range(block * 20, block * 20 + (20 if size.name != "middle" else 3)):
        made = case(seed, size)
        layout, draw = layout_of(made), random.Random(seed)
        board, cluster = Board(layout), made.cluster.copy()
        for uid, spec in draw.sample(sorted(made.waiting.items()), len(made.waiting)):
            index = layout.specs.index(spec)
            nodes = [name for at, name in enumerate(cluster.nodes) if board.accepting(index) >> at & 1]
            assert nodes == accepting_nodes(cluster, spec), f"{size.name} {seed} {uid}"
            if nodes:
                name = draw.choice(nodes)
                board.place(index, layout.bit[name])
                cluster.pods[uid] = Pod(spec, name)


def brute_force(cluster: Cluster, waiting: dict[str, PodSpec]) -> int:
    """The most pods by trying everything: any pod next, on any node."""
    best = 0
    for uid, spec in waiting.items():
        rest = {other: content for other, content in waiting.items() if other != uid}
        for name in accepting_nodes(cluster, spec):
            after = cluster.copy()
            after.pods[uid] = Pod(spec, name)
            best = max(best, 1 + brute_force(after, rest))
            if best == len(waiting):
                return best
    return best


def test_exhaustive_search_finds_what_brute_force_finds():
    tiny = Size("tiny", (2, 3), (2, 3), (0, 2), (1, 3), (0.3, 1.3))
    short = 0
    for seed in range(120):
        made = case(seed, tiny)
        best = most(made).placed
        assert best == brute_force(made.cluster, made.waiting), seed
        short += 0 < best < len(made.waiting)
    assert short > 20


def test_exhaustive_order_keeps_the_rules():
    for seed in range(60):
        made = case(seed, SMALL)
        best = most(made)
        assert len(dict(best.order)) == best.placed
        accepted(made.cluster, made.waiting, list(best.order))


@pytest.mark.parametrize("seed", range(3))
def test_pod_by_pod_keeps_the_rules_and_leaves_nothing_behind(seed: int):
    made = case(seed, MIDDLE)
    layout = layout_of(made)
    placed = one_order(made, layout, Board(layout), random.Random(seed))
    after = accepted(made.cluster, made.waiting, placed)
    pending = {spec.name: spec for uid, spec in made.waiting.items() if uid not in dict(placed)}
    assert [spec.name for spec in pending.values() if accepting_nodes(after, spec)] == []


def test_pod_by_pod_repeats_itself_and_orders_differ():
    made = case(1, MIDDLE)
    rivals = orders(made, 8)
    assert rivals == orders(made, 8)
    assert len(set(rivals.placed)) > 1
    assert min(rivals.placed) <= rivals.median <= rivals.best


def test_pod_by_pod_never_beats_the_optimum():
    for seed in range(60):
        made = case(seed, SMALL)
        assert orders(made, 5).best <= most(made).placed, seed


# --- the generator ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_cases_have_the_size_they_say(size: Size):
    for seed in range(20):
        made = case(seed, size)
        assert size.nodes[0] <= len(made.cluster.nodes) <= size.nodes[1]
        assert size.waiting[0] <= len(made.waiting) <= size.waiting[1]
        assert len(made.cluster.pods) <= size.running[1]


def test_every_rule_is_among_them_and_breaks_something():
    used: Counter[str] = Counter()
    broken: Counter[Rule] = Counter()
    for seed in range(300):
        made = case(seed, WIDE)
        for spec in {spec.name: spec for spec in made.waiting.values()}.values():
            used.update(field.name for field in fields(spec) if getattr(spec, field.name))
            for name in made.cluster.nodes:
                broken.update(set(broken_rules(made.cluster, spec, name)))
    assert set(used) == {field.name for field in fields(PodSpec)}
    assert set(broken) == set(Rule)
    assert min(broken.values()) >= 10, broken


def test_cases_are_the_same_in_every_process():
    program = (
        "from tests.programs.differential.generate import *; "
        "print([case(s, z) for z in SIZES.values() for s in (1, 2)])"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for hash_seed in ("1", "77")
    }
    assert len(texts) == 1
    assert len(texts.pop()) > 10_000
