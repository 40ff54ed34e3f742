"""The example of the pictures, under every policy, and the pictures that are checked in."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from cost_models.registry import list_available
from firmament.cli import main
from firmament.commands.draw import pictures
from firmament.configuration.document import BASE_POLICIES
from firmament.pictures.drawing import lines
from firmament.pictures.example import JOBS, MACHINES, make_scheduler, solve_example
from firmament.pictures.svg import CHARACTER
from firmament.solvers.ortools_solver import OrToolsSolver

CHECKED_IN = Path(__file__).resolve().parents[3] / "docs" / "pictures"
POLICIES = sorted(set(BASE_POLICIES) & set(list_available()))
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    return pictures()


def test_the_pictures_that_are_checked_in_are_up_to_date(drawn):
    found = {path.name: path.read_text(encoding="utf-8") for path in CHECKED_IN.glob("*.svg")}
    for other in (
        "growth.svg",
        "head-to-head.svg",
        "shards.svg",
        "explain.svg",
        "fragmentation.svg",
    ):  # measured, and of a terminal
        del found[other]
    assert found.keys() == drawn.keys()
    stale = sorted(name for name, content in found.items() if content != drawn[name])
    assert not stale, "run: make pictures"


def test_the_page_of_pictures_shows_every_one():
    page = (CHECKED_IN / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\]\((\w+\.svg)\)", page)) == [f"{policy}.svg" for policy in POLICIES]


@pytest.mark.parametrize("policy", POLICIES)
def test_all_tasks_but_one_are_placed(policy):
    result = make_scheduler(policy, OrToolsSolver()).run_round()
    assert sorted(delta.machine for delta in result.deltas) == sorted(MACHINES)
    assert len({delta.uid for delta in result.deltas}) == 4
    left = [uid for group in result.unscheduled for uid in group.uids]
    assert len(left) == sum(JOBS.values()) - 4 == 1


@pytest.mark.parametrize("policy", POLICIES)
def test_the_network_shows_every_arc_and_its_flow(policy):
    outcome, jobs, machines = solve_example(policy, OrToolsSolver())
    assert machines == MACHINES
    assert jobs == tuple(JOBS)
    assert outcome.certified
    shown = {(line.tail, line.head): line.flow for line in lines(outcome)}
    classes, first, sink = range(2), 4, 8
    for cls in classes:
        flows = [shown[cls, first + machine] for machine in range(4)]
        assert sum(flows) + shown[cls, 2 + cls] == (3, 2)[cls]
        assert shown[2 + cls, sink] == shown[cls, 2 + cls]
    assert [shown[first + machine, sink] for machine in range(4)] == [1, 1, 1, 1]
    assert sum(shown[2 + cls, sink] for cls in classes) == 1


def test_policies_tell_machines_or_jobs_apart():
    """Inputs of the example reach the policies: only those that are meant to cost all pairs the same."""
    indifferent = set()
    for policy in POLICIES:
        outcome, _, _ = solve_example(policy, OrToolsSolver())
        columns = outcome.network.blocks[0]
        if len(set(outcome.network.problem.costs[columns].tolist())) == 1:
            indifferent.add(policy)
    assert indifferent == {"trivial", "void"}


def boxes(content: str) -> list[tuple[float, float, float, float]]:
    """Rectangles of nodes and of labels' plates; the first rectangle is the ground."""
    root = ET.fromstring(content)
    found = [
        tuple(float(each.attrib[name]) for name in ("x", "y", "width", "height"))
        for each in root.iter(f"{SVG}rect")
        if "x" in each.attrib
    ]
    return [(x, y, x + width, y + height) for x, y, width, height in found]


def test_nothing_is_drawn_over_anything_else(drawn):
    for name, content in drawn.items():
        root = ET.fromstring(content)
        width, height = float(root.attrib["width"]), float(root.attrib["height"])
        for box in boxes(content):
            assert 0 <= box[0] < box[2] <= width, name
            assert 0 <= box[1] < box[3] <= height, name
        for one, other in combinations(boxes(content), 2):
            apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            assert apart, (name, one, other)


def test_texts_fit_their_nodes(drawn):
    for content in drawn.values():
        for label in re.findall(r'rx="4"[^\n]*\n<text[^>]*>([^<]*)<', content):
            assert len(label) * CHARACTER <= 120


def test_the_command_writes_every_picture(tmp_path, drawn):
    done = CliRunner().invoke(main, ["draw", str(tmp_path / "new")])
    assert done.exit_code == 0
    assert {path.name: path.read_text() for path in (tmp_path / "new").iterdir()} == drawn
    (tmp_path / "file").touch()
    done = CliRunner().invoke(main, ["draw", str(tmp_path / "file" / "x")])
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
