"""The changes that are made to modules, who judges them, and that a change which a test notices counts as noticed."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from tests.mutants.changes import list_changes
from tests.mutants.drawing import FOLDERS, draw_changes
from tests.mutants.judging import BrokenTestsError, Judge, TestsOfModules, Verdict

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
    assert drawn == draw_changes(ROOT, 60, seed=7) != draw_changes(ROOT, 60, seed=8)
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
    "shop/stock/shelf.py": """
        def room(a):
            return a + 1

        def full(a):
            return a > 3

        def idle():
            return 5
        """,
    "tests/shop/stock/test_shelf.py": """
        from shop.stock.shelf import room

        def test_room():
            assert room(1) == 2
        """,
    "tests/shop/stock/test_other.py": "def test_other():\n    pass\n",
    "tests/shop/test_shop.py": """
        from shop.stock import shelf

        def test_full():
            assert not shelf.full(3)
        """,
    "tests/shop/test_far.py": "def test_far():\n    pass\n",
}


@pytest.fixture
def project(tmp_path):
    """A project of one module, with a test beside it and one elsewhere."""
    write(tmp_path, PROJECT)
    return tmp_path


def test_a_module_is_judged_by_the_folder_that_mirrors_it_then_by_whoever_imports_it(project):
    tests = TestsOfModules(project)
    assert tests.mirror("shop/stock/shelf.py") == [
        "tests/shop/stock/test_shelf.py",
        "tests/shop/stock/test_other.py",
    ]
    assert tests.elsewhere("shop/stock/shelf.py") == ["tests/shop/test_shop.py"]
    assert tests.mirror("shop/cellar/deep/box.py") == ["tests/shop/test_far.py", "tests/shop/test_shop.py"]


def test_changes_are_noticed_there_elsewhere_or_by_nobody(project):
    module = "shop/stock/shelf.py"
    source = (project / module).read_bytes()
    verdicts = {}
    judge = Judge(project)
    for change in list_changes(module, source):
        verdicts[source[change.start : change.end].decode()] = judge.judge(change).verdict
    assert verdicts == {
        "+": Verdict.KILLED,
        "1": Verdict.KILLED,
        ">": Verdict.KILLED_ELSEWHERE,
        "3": Verdict.SURVIVED,  # neither 3 nor 4 is below it
        "5": Verdict.SURVIVED,
    }
    assert (project / module).read_bytes() == source


def test_tests_that_fail_anyway_judge_nobody(project):
    write(project, {"tests/shop/stock/test_other.py": "def test_other():\n    assert False\n"})
    change = list_changes("shop/stock/shelf.py", (project / "shop/stock/shelf.py").read_bytes())[0]
    with pytest.raises(BrokenTestsError, match="test_other"):
        Judge(project).judge(change)
