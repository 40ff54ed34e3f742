"""The checked-in generated code is what the locked generator makes of the checked-in sources."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest

from protos.generate import ROOT, SOURCES, generate, protoc

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi")


@pytest.fixture(scope="module")
def regenerated(tmp_path_factory) -> Path:
    output: Path = tmp_path_factory.mktemp("generated")
    generate(output)
    return output


def test_every_source_is_generated_from():
    found = {path.relative_to(ROOT).as_posix() for path in (ROOT / "protos").rglob("*.proto")}
    assert found == set(SOURCES)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_checked_in_code_has_not_drifted(regenerated, source, suffix):
    name = source.removesuffix(".proto") + suffix
    assert (ROOT / name).read_bytes() == (regenerated / name).read_bytes(), f"{name} is stale: run make proto"


def test_nothing_else_is_generated(regenerated):
    made = {path.relative_to(regenerated).as_posix() for path in regenerated.rglob("*") if path.is_file()}
    assert made == {source.removesuffix(".proto") + suffix for source in SOURCES for suffix in SUFFIXES}


def test_plugins_are_found_without_an_activated_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    generate(tmp_path)
    assert list(tmp_path.rglob("*_pb2.pyi"))


def test_generates_beside_the_solver_library(tmp_path):
    importlib.import_module("ortools.graph.python.min_cost_flow")
    generate(tmp_path)
    assert list(tmp_path.rglob("*_pb2.py"))


def test_a_bad_option_fails_clearly(tmp_path, capfd):
    with pytest.raises(SystemExit, match="protoc failed with status"):
        protoc(f"--python_out={tmp_path / 'absent'}")
    assert "absent" in capfd.readouterr().err
