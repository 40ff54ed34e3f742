"""Settings travel by few stations: sections are handed on whole, and soon come to who heeds them."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from types import FrameType

import yaml
from prometheus_client import CollectorRegistry

from poseidon.bridge.runner import Bridge, BridgeProcess
from poseidon.commands.run import _options
from poseidon.commands.shared.connection import Solvers
from poseidon.configuration.document import load
from protos.configuration.sections import Section
from tests.documentation.markdown import ROOT
from tests.poseidon.configuration.test_followed_settings import HEADER, NOWHERE, prometheus, server
from tests.support.needs import words_of

DOCUMENT = {
    **HEADER,
    "utilisation": {**prometheus()["utilisation"], **server()["utilisation"]},
    "moves": {"keepPlaces": True},
}
WHOLE = "the whole configuration"
MOST_OF_THE_WHOLE, MOST_OF_A_SECTION = 2, 2


def sections(section: Section, path: str = WHOLE) -> Iterator[tuple[str, Section]]:
    """A section and those within it, by their paths."""
    yield path, section
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, Section):
            yield from sections(value, name if path == WHOLE else f"{path}.{name}")


async def receivers(folder) -> dict[str, list[str]]:
    """By section: the functions and constructors that are given it while a bridge is put together, in order."""
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(DOCUMENT))
    options = _options(load(file), Solvers(("127.0.0.1:1",), "c"), dry_run=False)
    options = replace(options, fencing=1, needs=words_of("network_overhead", "topology"))
    paths = {id(section): path for path, section in sections(options.configuration)}
    given: defaultdict[str, dict[str, None]] = defaultdict(dict)

    def note(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith((str(ROOT / "poseidon"), "<string>")):
            return  # dataclasses have constructors out of strings
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            path = paths.get(id(frame.f_locals.get(name)))
            if path is not None and name != "self":
                given[path][code.co_qualname] = None

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        bridge = Bridge(BridgeProcess(NOWHERE), options, CollectorRegistry())
        async with AsyncExitStack() as stack:
            await bridge._watching._utilisation._pollers(stack)
    finally:
        sys.setprofile(before)
    return {path: list(names) for path, names in given.items()}


async def test_a_section_comes_to_who_heeds_it_by_at_most_three_others(tmp_path):
    """Two hand the whole configuration on, at most one a section of it: the last that is given it heeds it."""
    found = await receivers(tmp_path)
    assert {"volumes", "watch", "utilisation", "utilisation.prometheus", "network"} <= found.keys()
    assert len(found.pop(WHOLE)) <= MOST_OF_THE_WHOLE
    assert {path: names for path, names in found.items() if len(names) > MOST_OF_A_SECTION} == {}
