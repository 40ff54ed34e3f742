"""A server that has gone back to an older state, by each sign of it: all is listed anew."""

from __future__ import annotations

import pytest

from tests.poseidon.kube.scripted_api import listing, node, scripted, status, watch
from tests.poseidon.kube.watch.test_reflector import Watching, hang, is_watch
from tests.support.waiting import until


def bookmark(version):
    return "BOOKMARK", {"kind": "Node", "metadata": {"resourceVersion": str(version)}}


class Script:
    """What a server says: lists (version and objects) in turn, the last for ever; then watches, and at last silence."""

    def __init__(self, lists, *watches):
        self.lists, self.watches = [*lists], [*watches]
        self.asked = []

    async def answer(self, request):
        if not is_watch(request):
            return listing(*(self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]))
        self.asked.append(request.query["resourceVersion"])
        if not self.watches:
            return await hang(request)
        said = self.watches.pop(0)
        return await watch(request, *said, then="break") if isinstance(said, list) else status(*said)


OLD, NEW = (10, node("a", 9)), (5, node("b", 4))
EXPIRED = 410, "Expired", "too old"


@pytest.mark.parametrize(
    ("lists", "first", "asked"),
    [
        ([OLD, NEW], [bookmark(3)], ["10", "5"]),
        ([OLD, (4,), NEW], [], ["10", "5"]),
        ([OLD, NEW], (504, "Timeout", "Too large resource version: 10, current: 5"), ["10", "5"]),
    ],
    ids=["an older bookmark", "an older version before a watch resumes", "a version from the future"],
)
async def test_all_is_listed_anew(lists, first, asked, caplog):
    script = Script(lists, first)
    async with scripted(script.answer) as (_, url), Watching(url) as watching:
        await until(lambda: script.asked == asked)
        assert watching.store.names == ["b"]
        assert watching.store.gone == ["a"]
        assert watching.relists("rewound") == 1
    assert len([each for each in caplog.records if "gone back" in each.message]) == 1


async def test_an_object_that_is_older_than_it_was_shows_it_although_the_version_has_caught_up(caplog):
    script = Script([(10,), (20, node("a", 3)), (21, node("c", 4))], [("ADDED", node("a", 12))])
    async with scripted(script.answer) as (_, url), Watching(url) as watching:
        await until(lambda: script.asked == ["10", "21"])
        assert watching.store.names == ["c"]
    assert "version=3 known=12" in caplog.text


async def test_the_versions_of_now_are_no_sign_of_it(caplog):
    script = Script([(10, node("a", 10))], [bookmark(10), ("MODIFIED", node("a", 10))])
    async with scripted(script.answer) as (_, url), Watching(url) as watching:
        await until(lambda: len(script.asked) == 2)
        assert watching.relists("rewound") == 0
    assert "gone back" not in caplog.text


async def test_what_one_reflector_finds_the_others_hear_of():
    script = Script([OLD, NEW])
    async with scripted(script.answer) as (_, url), Watching(url) as watching:
        await until(lambda: script.asked == ["10"])
        watching.reflector._environment.rewinds.note()
        await until(lambda: script.asked == ["10", "5"])
        assert watching.store.names == ["b"]
        assert watching.relists("rewound") == 1


async def test_a_version_that_expires_again_is_listed_anew_again():
    script = Script([OLD], EXPIRED, EXPIRED)
    async with scripted(script.answer) as (_, url), Watching(url) as watching:
        await until(lambda: len(script.asked) == 3)
        assert watching.relists("expired") == 2
        assert watching.count("poseidon_watch_errors_total", kind="expired") == 2
        assert watching.store.names == ["a"]
