"""How events are cut into messages."""

from __future__ import annotations

import asyncio

from poseidon.bridge.solver_stream.batches import AnswerTimes, Window, split_events, split_items
from protos.firmament.v1 import scheduler_pb2 as pb


def test_batches_are_filled_to_the_limit_of_bytes():
    events = [pb.Event(machine_removed=f"n{index}") for index in range(7)]
    size = events[0].ByteSize()
    counts = [len(each.events.events) for each in split_events(events, 100, 3 * size)]
    assert counts == [3, 3, 1]
    counts = [len(each.events.events) for each in split_events(events, 100, 3 * size - 1)]
    assert counts == [2, 2, 2, 1]


def test_batches_are_filled_to_the_limit_of_events():
    events = [pb.Event(machine_removed=f"n{index}") for index in range(5)]
    batches = list(split_events(events, 2, 10_000))
    assert [len(each.events.events) for each in batches] == [2, 2, 1]
    assert [event for each in batches for event in each.events.events] == events
    assert list(split_events([], 2, 10_000)) == []
    assert [len(each.events.events) for each in split_events(events[:2], 9, 1)] == [1, 1], "one fits always"


def test_lists_are_cut_into_parts():
    assert list(split_items([1, 2, 3, 4, 5], 2)) == [[1, 2], [3, 4], [5]]
    assert list(split_items([1, 2], 2)) == [[1, 2]]
    assert list(split_items([], 2)) == []


async def test_batches_are_numbered_and_wait_for_room():
    window = Window(2)
    assert [window.oldest] == [None]
    batches = [pb.ClientMessage() for _ in range(3)]
    for each in batches:
        each.events.events.add(machine_removed="n")
    for each in batches[:2]:
        await window.assign_number(each)
    assert [each.events.sequence for each in batches] == [1, 2, 0]
    assert [window.oldest] == [1]
    waiting = asyncio.create_task(window.assign_number(batches[2]))
    await asyncio.sleep(0)
    assert not waiting.done()
    window.acknowledge(1)
    await waiting
    assert batches[2].events.sequence == 3
    assert [window.oldest] == [2]
    assert [window.event(number, 0) is not None for number in (1, 2, 3, 4)] == [False, True, True, False]
    assert window.event(2, 1) is None
    window.acknowledge(1)
    assert [window.oldest] == [2], "it says again that it is at work"
    window.acknowledge(9)
    assert [window.oldest] == [None]
    assert window.event(3, 0) is None


async def test_an_acknowledgement_that_comes_late_takes_nothing_back():
    window = Window(5)
    for _ in range(4):
        await window.assign_number(pb.ClientMessage())
    window.acknowledge(3)
    window.acknowledge(1)
    assert [window.oldest] == [4]


async def test_a_solver_that_repeats_its_acknowledgement_is_not_silent():
    window = Window(5)
    silent = asyncio.create_task(window.wait_for_silence(0.0))
    for _ in range(6):
        await asyncio.sleep(0)
    assert not silent.done(), "nothing is due"
    await window.assign_number(pb.ClientMessage())
    for _ in range(6):
        window.acknowledge(0)
        await asyncio.sleep(0)
    assert not silent.done()
    for _ in range(6):
        await asyncio.sleep(0)
    assert silent.done()
    assert await silent == 1


def make_tasks(*uids: str) -> pb.Event:
    return pb.Event(tasks=pb.TaskBatch(uids=uids))


def test_one_pod_of_each_message_is_timed():
    now, seen = [0.0], list[float]()
    times = AnswerTimes(lambda: now[0], seen.append)
    times.note_answers([pb.Delta(task="a")])
    times.note_sent([pb.Event(machine_removed="n"), make_tasks(), make_tasks("a", "b"), make_tasks("c")])
    now[0] = 2.0
    times.note_sent([make_tasks("a"), make_tasks("d")])
    times.note_sent([make_tasks("e")])
    now[0] = 5.0
    times.note_answers([pb.Delta(task=uid) for uid in "abcde"])
    times.note_answers([pb.Delta(task="a")])
    assert seen == [5.0, 3.0]


def test_of_very_many_pods_the_oldest_are_forgotten():
    seen = list[float]()
    times = AnswerTimes(lambda: 0.0, seen.append)
    for at in range(4097):
        times.note_sent([make_tasks(f"t{at}")])
    times.note_answers([pb.Delta(task="t0"), pb.Delta(task="t1")])
    assert len(seen) == 1
