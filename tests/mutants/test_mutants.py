"""The changes that are made to modules, who judges them, and that a change which a test notices counts as noticed."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import textwrap
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.mutants.changes import list_changes
from tests.mutants.drawing import FOLDERS, draw_changes
from tests.mutants.following import find_renames, follow_changes
from tests.mutants.judging import Judge, Judgement, Verdict
from tests.mutants.places import find_place
from tests.mutants.report import print_table, read_known
from tests.mutants.sharing import copy_project, judge_all
from tests.mutants.traces import Traces, mirror
from tests.mutants.unreached import list_unreached

ROOT = Path(__file__).resolve().parents[2]

SOURCE = '''
    """Ones: 1."""
    LIMIT: Final[int | None] = 3


    @dataclass(slots=True)
    class Room:
        def take(self, amount: int = 1) -> bool:
            """Takes 1."""
            if amount > self.free and not self.closed:
                logger.info("no %d", 1)
                raise ValueError(f"{amount - 1}")
            self.free -= min(amount, 2)
            self.books.note(amount)
            self.all = zip(amount, amount, strict=True)
            return amount + len("a" + "b") <= (LIMIT)
'''


def changed(source: str) -> set[tuple[str, str, str]]:
    text = textwrap.dedent(source).encode()
    return {
        (change.kind, text[change.start : change.end].decode(), change.replacement)
        for change in list_changes("a.py", text)
    }


def test_operators_conditions_constants_and_calls_are_changed_and_nothing_else():
    assert changed(SOURCE) == {
        ("constant", "3", "4"),
        ("constant", "1", "2"),
        ("constant", "2", "3"),
        ("comparison", ">", ">="),
        ("comparison", "<=", "<"),
        ("operator", "and", "or"),
        ("operator", "min", "max"),
        ("operator", "+", "-"),
        ("condition", "not self.closed", "(self.closed)"),
        (
            "condition",
            "amount > self.free and not self.closed",
            "(not (amount > self.free and not self.closed))",
        ),
        ("dropped call", "self.books.note(amount)", "pass"),
    }


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("a = b is  not c", "a = b is c"),
        ("a = (b) not in (c)", "a = (b) in (c)"),
        ("a = b if ü else c", "a = b if (not (ü)) else c"),
        ("async def f():\n    await g(h)", "async def f():\n    pass"),
        ("a = [b for b in c if b]", "a = [b for b in c if (not (b))]"),
        ("a = b // c", "a = b * c"),
        ("a = x.minimum(b, c)", "a = x.maximum(b, c)"),
        ("a = b == c  # is it", "a = b != c  # is it"),
        ("a = True", "a = False"),
    ],
)
def test_text_is_replaced_in_place(source, result):
    text = source.encode()
    assert result in {change.apply(text).decode() for change in list_changes("a.py", text)}


def test_what_is_drawn_depends_on_the_seed_alone_and_can_be_read():
    drawn = draw_changes(ROOT, 60, seed=7)
    assert len({(change.path, change.line) for change in drawn}) == len(drawn) == 60
    assert {change.path.rpartition("/")[0] for change in drawn} <= {
        path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in [ROOT / folder, *(ROOT / folder).rglob("*")]
    }
    for change in drawn:
        source = (ROOT / change.path).read_bytes()
        assert change.apply(source) != source
        ast.parse(change.apply(source))


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(textwrap.dedent(text))


PROJECT = {
    "pytest.ini": "[pytest]",
    "shop/stock/shelf.py": """
        from functools import cache

        BOARDS = 7

        @cache
        def room(a):
            b = a + 1
            if b > 5:
                b = 2 * b
            return b

        def full(a):
            return a > 3

        def count():
            return BOARDS

        def rise(a):
            while a < 3:
                a += 1
            return a

        class Door:
            def open(self):
                return self.turn(
                    True,
                    30,
                )

            def turn(self, key, angle):
                def lock():
                    return key

                return lock() and angle

        WIDTH = room(3)
        """,
    "shop/stock/clerk.py": """
        from shop.stock import shelf

        if __name__ == "__main__":
            print(shelf.full(3))
        """,
    "tests/shop/stock/test_shelf.py": """
        from shop.stock.shelf import WIDTH, BOARDS, Door, rise, room

        def test_room():
            assert room(1) == 2

        def test_width():
            assert WIDTH == 4

        def test_boards():
            assert BOARDS == 7

        def test_rise():
            assert rise(0) == 3

        def test_door():
            assert Door().open() == 30
        """,
    "tests/shop/stock/test_clerk.py": """
        import subprocess
        import sys

        def test_it_says_whether_shelves_are_full():
            told = subprocess.run([sys.executable, "-m", "shop.stock.clerk"], capture_output=True, text=True)
            assert told.stdout == "False\\n"
        """,
    "tests/shop/test_far.py": "def test_far():\n    pass\n",
}
MODULE = "shop/stock/shelf.py"


@pytest.fixture
def project(tmp_path):
    """A project of two modules, with tests beside them."""
    write(tmp_path / "shop", PROJECT)
    return tmp_path / "shop"


def judge_everything(project: Path, kept: Path) -> dict[str, Verdict]:
    """Judge all changes to the module, by line and what is changed to what."""
    source = (project / MODULE).read_bytes()
    lines = source.decode().splitlines()
    judge = Judge(project, kept)
    try:
        return {
            f"{lines[change.line - 1].strip()}: {change.replacement}": judge.judge(change).verdict
            for change in list_changes(MODULE, source)
        }
    finally:
        judge.close()


def test_a_module_is_judged_by_the_folder_that_mirrors_it(project):
    assert mirror(project, MODULE) == "tests/shop/stock"
    assert mirror(project, "shop/cellar/deep/box.py") == "tests/shop"
    assert mirror(project, "till/box.py") == ""


@pytest.mark.full
def test_changes_are_noticed_by_whoever_runs_them_in_whatever_process(project, tmp_path):
    source = (project / MODULE).read_bytes()
    verdicts = judge_everything(project, tmp_path)
    survived = {change for change, verdict in verdicts.items() if verdict is Verdict.SURVIVED}
    assert survived == {
        "if b > 5:: >=",  # no test is near enough
        "if b > 5:: 6",
        "b = 2 * b: 3",  # no test gets there
        "b = 2 * b: //",
        "return a > 3: 4",  # 3 is not above it either
    }
    noticed = set(verdicts) - survived
    assert noticed >= {
        "b = a + 1: -",  # in a function that importing runs
        "BOARDS = 7: 8",  # importing takes effect
        "return a > 3: >=",  # by a process that a test starts
        "while a < 3:: <=",
        "a += 1: 2",
        "30,: 31",  # on its own line of a statement
        "return lock() and angle: or",
    }
    assert (project / MODULE).read_bytes() == source


def test_what_never_ends_is_noticed(project, tmp_path):
    source = (project / MODULE).read_bytes()
    judge = Judge(project, tmp_path)
    [change] = [each for each in list_changes(MODULE, source) if each.replacement == "(not (a < 3))"]
    endless = replace(change, replacement="True")
    try:
        judgement = judge.judge(endless)
    finally:
        judge.close()
    assert judgement.verdict is Verdict.KILLED
    assert judgement.test == "tests/shop/stock/test_shelf.py::test_rise"


def test_only_tests_that_changed_run_again_before_changes(project, tmp_path):
    Traces(project, "tests/shop/stock", tmp_path)
    shutil.rmtree(project / "tests/shop/stock/__pycache__", ignore_errors=True)
    write(project, {"tests/shop/stock/test_clerk.py": "def test_nothing():\n    open('here', 'w').close()\n"})
    traces = Traces(project, "tests/shop/stock", tmp_path)
    assert {test.name for test in traces.tests} >= {
        "tests/shop/stock/test_clerk.py::test_nothing",
        "tests/shop/stock/test_shelf.py::test_rise",
    }
    (project / "here").unlink()
    Traces(project, "tests/shop/stock", tmp_path)
    assert not (project / "here").exists()


def test_a_place_is_the_statement_and_the_outermost_function():
    source = (Path("a.py"), textwrap.dedent(PROJECT[MODULE]).encode())[1]
    places = {
        source.splitlines()[change.line - 1].strip().decode(): find_place(source, change)
        for change in list_changes(MODULE, source)
    }
    assert places["BOARDS = 7"].function is None
    assert places["b = a + 1"].function == ("room", 6)
    assert places["30,"].function == ("Door.open", 25)
    assert places["30,"].lines == range(26, 30)
    assert places["if b > 5:"].lines == range(9, 10)
    assert places["return lock() and angle"].function == ("Door.turn", 31)


SHELF = "tests/shop/stock/test_shelf.py"
CLERK = "tests/shop/stock/test_clerk.py"


@pytest.mark.parametrize(
    ("broken", "failing"),
    [
        ("import nothing_of_that_name\n", [CLERK]),
        ("import os\ndef test_end():\n    os._exit(3)\n", [CLERK, SHELF]),
    ],
)
def test_files_that_cannot_be_collected_or_end_the_process_are_left_out(project, tmp_path, broken, failing):
    write(project, {CLERK: broken})
    assert Traces(project, "tests/shop/stock", tmp_path).failing == failing


def test_what_only_a_test_that_fails_anyway_could_notice_is_not_judged(project, tmp_path):
    as_it_was = (project / CLERK).read_text()
    write(project, {CLERK: "def test_other():\n    assert False\n"})
    source = (project / MODULE).read_bytes()
    lines = source.decode().splitlines()
    by_line = {
        (lines[each.line - 1].strip(), each.replacement): each for each in list_changes(MODULE, source)
    }
    noticed, unnoticed = by_line["while a < 3:", "<="], by_line["b = 2 * b", "3"]
    judge = Judge(project, tmp_path)
    try:
        assert judge.judge(noticed).verdict is Verdict.KILLED
        left_open = judge.judge(unnoticed)
    finally:
        judge.close()
    assert (left_open.verdict, left_open.test) == (Verdict.OPEN, f"{CLERK}::test_other")
    write(project, {CLERK: as_it_was})
    judge = Judge(project, tmp_path)
    try:
        assert judge.judge(unnoticed).verdict is Verdict.SURVIVED  # now all tests have been asked
    finally:
        judge.close()


def test_what_is_not_judged_is_shown_counts_in_no_score_and_is_judged_again(project, tmp_path, capsys):
    write(project, {"tests/mutants/equivalent.json": "[]"})
    first, second = list_changes(MODULE, (project / MODULE).read_bytes())[:2]
    judgements = {
        first: Judgement(Verdict.OPEN, 1.0, "test_a.py::test_b", 3),
        second: Judgement(Verdict.KILLED, 1.0, "test_a.py::test_c", 3),
    }
    assert print_table(project, judgements) == [first]
    shown = capsys.readouterr().out
    assert f"not judged, as test_a.py::test_b fails anyway: {MODULE}:4" in shown
    assert "| all | 1 | 1 | 0 | 100 % |" in shown
    results = tmp_path / "results.jsonl"
    results.write_text(
        "".join(
            json.dumps({**asdict(change), **asdict(judgement), "verdict": judgement.verdict.value}) + "\n"
            for change, judgement in judgements.items()
        )
    )
    assert read_known(results, judgements) == {second: judgements[second]}


@pytest.mark.full
def test_workers_share_changes_in_copies_and_leave_the_project_alone(project):
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    write(project, {".gitignore": "build/\n"})
    changes = [
        change
        for change in list_changes(MODULE, (project / MODULE).read_bytes())
        if change.replacement in ("-", "6")
    ]
    judged = dict(judge_all(project, changes, 2))
    assert sorted(judgement.verdict.value for judgement in judged.values()) == ["killed", "survived"]
    write(project, {"shop/stock/stairs.py": "STEPS = 3\n"})
    (project / "shop/stock/clerk.py").unlink()
    copy = copy_project(project, project / "build/mutants/copy-0")
    assert (copy / "shop/stock/stairs.py").exists()
    assert not (copy / "shop/stock/clerk.py").exists()


def test_changes_to_which_no_test_comes_are_known_without_judging_any(project):
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    write(project, {".gitignore": "build/\n"})
    source = (project / MODULE).read_bytes()
    lines = source.decode().splitlines()
    unreached = list_unreached(project, list_changes(MODULE, source))
    assert {lines[change.line - 1].strip() for change in unreached} == {"b = 2 * b", "return a > 3"}


def test_a_change_is_followed_to_where_its_lines_are_now(tmp_path):
    module = textwrap.dedent(SOURCE)
    for name, text in (
        ("before/a.py", module),
        ("before/gone.py", module),
        ("now/folder/b.py", "HERE = 7\n\n" + module.replace("amount, 2)", "amount, 5)")),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    drawn = [change for name in ("a.py", "gone.py") for change in list_changes(name, module.encode())]
    found = follow_changes(tmp_path / "before", tmp_path / "now", drawn, {"a.py": "folder/b.py"})
    now = (tmp_path / "now/folder/b.py").read_bytes()
    for change, moved in found.items():
        assert (moved.path, moved.line, moved.kind) == ("folder/b.py", change.line + 2, change.kind)
        assert now[moved.start : moved.end] == module.encode()[change.start : change.end]
        assert moved in list_changes("folder/b.py", now)
    left = [change for change in drawn if change.path == "a.py" and change not in found]
    assert {module.encode()[each.start : each.end] for each in left} == {
        b"min",
        b"2",
    }  # their line is another one


def test_moved_modules_are_found_by_what_is_in_them(tmp_path):
    def git(*words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    module = tmp_path / "firmament/a.py"
    module.parent.mkdir()
    (tmp_path / "poseidon").mkdir()
    module.write_text(textwrap.dedent(SOURCE))
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "a")
    git("mv", "firmament/a.py", "poseidon/b.py")
    assert find_renames(tmp_path, "HEAD") == {"firmament/a.py": "poseidon/b.py"}
