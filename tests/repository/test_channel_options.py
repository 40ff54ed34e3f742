"""gRPC ignores options that it does not know, so each one that is used is looked up in the library itself."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from grpc._cython import cygrpc  # type: ignore[attr-defined] # missing in grpc-stubs

ROOT = Path(__file__).parents[2]
_OPTION = re.compile(r"grpc\.[a-z0-9_.]+")


@cache
def library() -> bytes:
    return Path(cygrpc.__file__).read_bytes()


def known(option: str) -> bool:
    """Whether the library holds the text as the end of a constant, not as a part of another name."""
    ends = re.finditer(re.escape(option.encode()) + rb"\0", library())
    return any(library()[end.start() - 1] not in b"abcdefghijklmnopqrstuvwxyz_." for end in ends)


def used() -> dict[str, list[str]]:
    """Options by the files whose code names them: tuples that begin with a name as gRPC's options have it."""
    found: dict[str, list[str]] = {}
    for package in ("firmament", "poseidon", "benchmarks", "tests"):
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if '"grpc.' not in text:  # reading all of them takes seconds
                continue
            for node in ast.walk(ast.parse(text)):
                match node:
                    case ast.Tuple(elts=[ast.Constant(value=str(name)), _]) if _OPTION.fullmatch(name):
                        found.setdefault(name, []).append(str(path.relative_to(ROOT)))
    return found


USED = used()


def test_options_of_both_processes_are_found():
    files = {file for where in USED.values() for file in where}
    assert {"firmament/server/access/grpc_options.py", "poseidon/bridge/solver_stream/stream.py"} <= files


@pytest.mark.parametrize("option", sorted(USED))
def test_the_library_knows_the_option(option):
    assert known(option), f"{option} in {', '.join(USED[option])} has no effect: gRPC does not know it"


def test_an_option_that_does_not_exist_is_not_known():
    assert not known("grpc.http2.min_recv_ping_interval_without_data_ms")
