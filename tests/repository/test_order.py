"""Workers begin with the tests that wait; none is lost, doubled, or torn from its file without need."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.order import MOST_WORKERS, WAITING, WHOLE, dealt, import_share, waiting_folder, workers

TESTS = Path(__file__).resolve().parents[1]


def made(**lengths: int) -> list[str]:
    """Tests of files, such as ``tests/poseidon/demo/test_a.py::3``."""
    places = {
        "core": "firmament/core",
        "demo": "poseidon/demo",
        "live": "poseidon/live",
        "page": "poseidon/ui/browser",
    }
    return [
        f"tests/{places[file.partition('__')[0]]}/test_{file.partition('__')[2]}.py::{n}"
        for file, count in lengths.items()
        for n in range(count)
    ]


def path(test: str) -> str:
    return test.partition("::")[0]


def test_each_part_begins_with_its_share():
    tests = made(core__a=60, demo__a=4, demo__b=3, live__a=3, core__b=40, page__a=2, page__b=2)
    order = dealt(tests, 3, path)
    assert sorted(order) == sorted(tests)
    core = "tests/firmament/core/test_a.py"
    first = [[path(test) for test in order[begin : begin + 5]] for begin in (0, 38, 76)]
    assert first == [
        [*4 * ["tests/poseidon/demo/test_a.py"], core],
        [*2 * ["tests/poseidon/ui/browser/test_a.py"], *2 * ["tests/poseidon/ui/browser/test_b.py"], core],
        [*3 * ["tests/poseidon/demo/test_b.py"], *2 * ["tests/poseidon/live/test_a.py"]],
    ]
    others = [test for test in tests if not waiting_folder(path(test))]
    assert [test for test in order if not waiting_folder(path(test))] == others


def test_few_tests_and_many_parts():
    for tests in ([], made(core__a=1), made(demo__a=5), made(demo__a=1, demo__b=1, core__a=1)):
        for parts in (1, 2, 9):
            assert sorted(dealt(tests, parts, path)) == sorted(tests)


def test_workers_share_what_is_to_be_imported(tmp_path, monkeypatch):
    folder = tmp_path / "shared_tests"
    folder.mkdir()
    (folder / "__init__.py").touch()
    for name, text in (
        ("a", ""),
        ("b", "import nowhere"),
        ("c", "import pytest\npytest.skip('', True)"),
    ):
        (folder / f"test_{name}.py").write_text(text)
    (folder / "test_d.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    imported = []
    for number in range(2):
        import_share(folder, number, 2)
        imported.append(sorted(name for name in sys.modules if name.startswith("shared_tests.")))
    assert imported == [["shared_tests.test_a"], ["shared_tests.test_a", "shared_tests.test_d"]]


def test_the_folders_exist():
    assert WHOLE <= WAITING
    assert {name for name in WAITING if not (TESTS / name).is_dir()} == set()


def test_there_are_not_more_workers_than_memory_for_them():
    assert [workers(cores) for cores in (1, 2, 4, 64)] == [2, 4, MOST_WORKERS, MOST_WORKERS]
