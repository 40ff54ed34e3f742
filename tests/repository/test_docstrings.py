"""Docstrings say what callers get: functions begin with a verb, and large records document each field."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import Final

import pytest

from tests.repository.definitions import ROOT, iter_definitions

PACKAGES: Final = (
    "benchmarks",
    "cost_models",
    "firmament",
    "poseidon",
    "protos/configuration",
    "protos/conventions",
)

MOST_UNDOCUMENTED: Final = 6
"""Fields of a record that one paragraph may describe; in a larger one, each field has a docstring of its own."""

VERBS: Final = """
    Accept Add Admit Adopt Advance Advertise Allow Annotate Announce Answer Append Apply Ask Assess Assign Attach
    Audit Await Be Begin Bind Book Bridge Bring Build Call Cancel Carry Change Charge Check Choose Classify Clear
    Close Collect Combine Come Commit Compare Compile Compute Confirm Connect Consider Construct Consume Continue
    Convert Copy Cordon Correct Count Create Cut Decide Decode Delete Derive Describe Determine Discard Distribute
    Divide Do Double Draw Drive Drop Empty Encode End Enlarge Ensure Enter Estimate Evict Examine Exchange Exclude
    Expand Explain Extend Fail Fetch Fill Find Fix Follow Forget Format Free Freeze Gather Generate Give Go Group Grow
    Hand Handle Have Hold Ignore Import Improve Include Initialize Insert Install Intern Invalidate Invert Join Judge
    Keep Kill Launch Lay Lead Learn Leave Let Level Lift Limit List Listen Load Locate Lock Log Look Lower Make Map
    Mark Match Measure Merge Move Multiply Name Narrow Note Number Offer Open Order Pack Pair Parse Pass Pay Perform
    Permit Persist Pick Place Plan Poll Post Postpone Prefer Prepare Prevent Price Print Probe Process Project Propose
    Prove Provide Prune Publish Pull Push Put Queue Raise Rank Reach Read Rebuild Recall Receive Recheck Reconcile
    Record Recover Redo Reduce Refresh Refuse Register Reject Relax Release Relieve Relocate Remember Remove Render
    Renew Renumber Reopen Repair Repeat Replace Replay Report Reprieve Request Requeue Require Rescale Reserve Reset
    Resolve Restore Restrict Retain Retry Return Reuse Revert Round Run Sample Save Say Scale Scan Schedule Score
    Scrape Search See Select Send Serve Set Settle Shift Show Shrink Shut Simulate Skip Sleep Solve Sort Split Spread
    Stand Start State Step Stop Store Stream Strip Submit Subtract Sum Summarize Supply Support Suspend Swap Sweep
    Switch Sync Take Tally Tell Terminate Test Tie Trace Translate Treat Trim Try Turn Unbind Uncordon Undo Unite
    Unlock Unpack Update Use Validate Verify Visit Wait Walk Warn Watch Weigh Withdraw Work Wrap Write Yield
    """
"""Verbs that first lines of docstrings begin with. Add one that is missing."""


def decorators(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> set[str]:
    """Return the last parts of the names of a node's decorators."""
    called = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    return {ast.unparse(each).rpartition(".")[2] for each in called}


@cache
def _list_verbs() -> frozenset[str]:
    return frozenset(VERBS.split())


def begins_with_a_verb(docstring: str) -> bool:
    """Return whether a docstring's first word is an imperative."""
    first = re.match(r"[A-Za-z]+", docstring)
    return first is not None and first[0] in _list_verbs()


def functions_without_a_verb() -> Iterator[str]:
    """Yield public functions whose docstring begins with something else; properties are values, with nouns."""
    for path, node in iter_definitions(PACKAGES):
        if isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        docstring = ast.get_docstring(node)
        if not docstring or begins_with_a_verb(docstring):
            continue
        if not decorators(node) & {"property", "cached_property", "setter"}:
            yield f"{path}:{node.lineno} {node.name}: {docstring.splitlines()[0]}"


def is_record(node: ast.ClassDef) -> bool:
    """Return whether a class consists of fields. Structs of the API's objects do not count: Kubernetes has them."""
    bases = {ast.unparse(base).rpartition(".")[2].partition("[")[0] for base in node.bases}
    renamed = any(each.arg == "rename" for each in node.keywords)
    return not renamed and bool(
        decorators(node) & {"dataclass", "define", "frozen"}
        or bases & {"NamedTuple", "Struct", "BaseModel", "TypedDict", "Section"}
    )


def is_text(node: ast.stmt) -> bool:
    """Return whether a statement is a docstring."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def fields(node: ast.ClassDef, lines: list[str]) -> dict[str, bool]:
    """Return the fields of a record, and whether each has a docstring beneath it or a ``#:`` above."""
    found = {}
    for each, after in zip(node.body, [*node.body[1:], ast.Pass()], strict=True):
        if not isinstance(each, ast.AnnAssign) or not isinstance(each.target, ast.Name):
            continue
        if each.target.id != "_" and "ClassVar" not in ast.unparse(each.annotation):
            above = lines[each.lineno - 2].strip()
            found[each.target.id] = is_text(after) or above.startswith("#:")
    return found


def records_without_documented_fields() -> dict[str, list[str]]:
    """Return large records by place and name, with the fields that lack a docstring."""
    found = {}
    for path, node in iter_definitions(PACKAGES):
        if isinstance(node, ast.ClassDef) and len(node.body) > MOST_UNDOCUMENTED and is_record(node):
            of_record = fields(node, (ROOT / path).read_text().splitlines())
            missing = [name for name, documented in of_record.items() if not documented]
            if len(of_record) > MOST_UNDOCUMENTED and missing:
                found[f"{path}: {node.name}"] = missing
    return found


def test_docstrings_of_public_functions_begin_with_a_verb():
    assert not list(functions_without_a_verb()), "say what the caller gets, with a verb first"


def test_large_records_document_each_field():
    assert not records_without_documented_fields(), (
        "say of each field what it is and in which unit, beneath it"
    )


@pytest.mark.parametrize(
    ("docstring", "good"),
    [
        ("Return the pods that wait.", True),
        ("Return, once, what has changed.", True),
        ("The pods that wait.", False),
        ("int64[M]: tasks per machine.", False),
    ],
)
def test_a_noun_is_no_verb(docstring, good):
    assert begins_with_a_verb(docstring) is good


def test_a_field_without_a_docstring_is_found():
    text = 'class A:\n    a: int\n    """The first."""\n    #: The second.\n    b: int\n    c: int\n'
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.ClassDef)
    assert fields(node, text.splitlines()) == {"a": True, "b": True, "c": False}
