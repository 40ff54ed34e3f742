"""Events, conditions and HTTP paths: each that a program has stands in the documents, and no others do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from poseidon.kube.api.event_reasons import ConditionType, EventReason
from poseidon.ui.audience import Audience
from poseidon.ui.server.access import Access
from poseidon.ui.server.application import Server
from tests.documentation.markdown import ROOT, codes, documents, rows, section, text
from tests.poseidon.ui.served import FakeSource

OPERATIONS = text("docs/operations.md")
DASHBOARD = text("docs/dashboard.md")
PROGRAMS = (ROOT / "poseidon/commands/run.py", ROOT / "firmament/server/solver_server.py")


def listed(table: str) -> list[str]:
    """What the first column of a table has, by the sentence that introduces it."""
    part = (
        section(OPERATIONS, "Events and conditions")
        .partition(table)[2]
        .partition("\n\n")[2]
        .partition("\n\n")[0]
    )
    return [name for row in rows(part) for name in codes(row[0])]


def test_the_list_of_events_is_complete():
    assert sorted(listed("The programs write the events in the table below")) == sorted(EventReason)


def test_the_list_of_conditions_is_complete():
    assert sorted(set(listed("The programs write the following conditions"))) == sorted(ConditionType)


def called(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    """Calls of functions or methods of some names."""
    for each in ast.walk(tree):
        if isinstance(each, ast.Call):
            what = each.func
            if (what.attr if isinstance(what, ast.Attribute) else getattr(what, "id", "")) in names:
                yield each


def written_outright(source: str) -> list[str]:
    """Reasons of events and types of conditions that are written as texts, where the lists have names for them."""
    found = [
        argument.value
        for each in called(ast.parse(source), "say", "warn", "AnnounceGroup", "Condition")
        for argument in each.args[:2]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]
    typed = re.findall(r'"type": "(\w+)",\s*"status"', source)
    return [each for each in (*found, *typed) if re.fullmatch(r"([A-Z][a-z]+)+", each)]


SHOWN_AS_WRITTEN = {ROOT / "poseidon/ui/sources/files.py"}
"""Conditions as another program would have written them."""


def test_what_is_written_has_its_name_from_the_lists():
    for folder in ("poseidon", "firmament"):
        for file in (ROOT / folder).rglob("*.py"):
            if "testbed" not in file.parts and file not in SHOWN_AS_WRITTEN:
                assert written_outright(file.read_text()) == [], file


@pytest.mark.parametrize(
    "source",
    [
        'events.say(pod, "Dropped", text)',
        'AnnounceGroup(about, "Dropped", text)',
        'Condition("Ready", "True")',
        '{"type": "Ready", "status": "True"}',
    ],
)
def test_what_is_written_outright_is_found(source: str):
    assert written_outright(source)


def paths_of(program: Path) -> set[str]:
    """Paths that a program answers beside its metrics."""
    [call] = called(ast.parse(program.read_text()), "application")
    given = [each for each in call.args if isinstance(each, ast.Dict)]
    return {str(key.value) for each in given for key in each.keys if isinstance(key, ast.Constant)}


def without_names(path: str) -> str:
    """A path as far as it is the same for all objects."""
    return re.sub(r"(?<=/)([A-Z]+|\{\w+\})$", "", path)


def test_the_list_of_paths_is_complete():
    bridge, solver = (paths_of(program) for program in PROGRAMS)
    listed = {without_names(codes(row[0])[0]): row[1] for row in rows(section(OPERATIONS, "Health"))}
    assert listed.keys() == bridge | solver
    assert {path for path, of in listed.items() if of == "both"} == bridge & solver


def test_paths_in_prose_exist():
    known = {without_names(codes(row[0])[0]) for row in rows(section(OPERATIONS, "Health"))} | {"/healthz"}
    for document in documents():
        if document.name == "CHANGELOG.md":
            continue  # tells what was
        for span in re.findall(r"`([^`\n]+)`", document.read_text(encoding="utf-8")):
            found = re.fullmatch(r"(?:https?://[\w.:]+)?(/[a-z]+z|/debug/[a-z]+/[A-Z]*)", span)
            assert found is None or without_names(found[1]) in known, f"{document}: {span}"


def test_the_paths_of_the_page_are_all_there():
    server = Server(FakeSource(), Access(), Audience(lambda: 0.0), wall=lambda: 0.0)
    served = {
        (route.method, re.sub(r"\{\w+\}", "NAME", resource.canonical))
        for resource in server.application().router.resources()
        for route in resource
        if route.method != "HEAD" and "(?!" not in str(resource.get_info())
    }
    api = {(method, path.removeprefix("/api/v1")) for method, path in served if path.startswith("/api/v1")}
    listed = set()
    for row in rows(section(DASHBOARD, "API")):
        method, _, path = codes(row[0])[0].rpartition(" ")
        listed.add((method or "GET", re.sub(r"[A-Z]{2,}", "NAME", path.partition("?")[0])))
    assert listed == api
    for _, path in served - {(method, f"/api/v1{path}") for method, path in api}:
        assert f"`{path}`" in DASHBOARD, path
