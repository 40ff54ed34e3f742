"""An API server that has gone back is noticed by its versions, and whoever waits for that is woken."""

from __future__ import annotations

import asyncio

import pytest

from poseidon.kube.rewinds import Rewinds, is_before


@pytest.mark.parametrize(
    ("version", "known", "before"),
    [
        ("9", "10", True),
        ("10", "10", False),
        ("11", "10", False),
        ("100", "99", False),
        ("099", "100", True),
        ("1", "2", True),
        ("", "1", False),
        ("1", "", False),
        ("a1", "a2", False),
        ("-1", "1", False),
        ("1" * 38, "2" * 39, True),
        ("1" * 39, "2" * 40, False),
    ],
)
def test_versions_are_compared_as_numbers(version, known, before):
    assert is_before(version, known) is before


def test_whoever_waits_is_woken_by_each_rewind_beyond_those_it_knows():
    async def run() -> list[int]:
        rewinds = Rewinds()
        rewinds.note()
        found = [await asyncio.wait_for(rewinds.wait_beyond(0), 5)]
        waiting = [asyncio.ensure_future(rewinds.wait_beyond(each)) for each in (1, 2)]
        await asyncio.sleep(0)
        rewinds.note()
        found.append(await asyncio.wait_for(waiting[0], 5))
        assert not waiting[1].done()
        rewinds.note()
        return [*found, await asyncio.wait_for(waiting[1], 5), rewinds.count]

    assert asyncio.run(run()) == [1, 2, 3, 3]
