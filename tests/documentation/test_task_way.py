"""One task's way through the modules: no longer than it was, and as ``docs/architecture.md`` tells it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest

from tests.documentation.markdown import ROOT, codes, rows, section, text
from tests.support.task_way import on_the_way

TOLD = section(text("docs/architecture.md"), "One task's way")
STAGES = [(stage, codes(folders), codes(modules)) for stage, folders, modules in rows(TOLD)]


@pytest.fixture(scope="module")
def way() -> list[str]:
    modules, answer = on_the_way()
    assert [(delta.task, delta.machine) for delta in answer.round.deltas] == [("a", "m1")]
    return modules


def test_it_has_not_become_longer(way: list[str]):
    """Lower the number there whenever you can: a way through 40 modules would be one to keep in mind."""
    most = re.search(r"in at most (\d+) modules", TOLD)
    assert most
    listed = "\n".join(f"{number:4} {module}" for number, module in enumerate(way, 1))
    assert len(way) <= int(most[1]), f"{len(way)} modules, {most[1]} are allowed:\n{listed}"


def told(folders: list[str], names: list[str]) -> list[str]:
    """The modules that a stage names, each in the first of its folders that has it."""
    found = [[f"{folder}/{name}" for folder in folders if (ROOT / folder / name).is_file()] for name in names]
    assert all(found), f"{names} in {folders}: {found}"
    return [first for first, *_ in found]


@pytest.mark.parametrize(
    ("folders", "names"), [stage[1:] for stage in STAGES], ids=[stage[0] for stage in STAGES]
)
def test_what_a_stage_names_runs(way: list[str], folders: list[str], names: list[str]):
    assert set(told(folders, names)) <= set(way)


def test_stages_begin_in_the_order_told(way: list[str]):
    begins = [way.index(told(folders, names)[0]) for _, folders, names in STAGES]
    assert begins == sorted(begins)


def test_what_runs_is_in_a_folder_that_a_stage_names(way: list[str]):
    folders = {folder for _, each, _ in STAGES for folder in each}
    assert [module for module in way if str(PurePosixPath(module).parent) not in folders] == []
