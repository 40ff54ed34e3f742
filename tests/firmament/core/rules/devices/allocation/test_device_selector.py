"""How much work expressions may take: each of them, and all costly ones together."""

from __future__ import annotations

from firmament.core.rules.devices.allocation.device_selector import DeviceSelector, SharedWork
from firmament.core.rules.devices.allocation.matching import DeviceSelectors
from firmament.core.rules.devices.cel.limits import (
    SHARED_LENGTH,
    SHARED_WORK,
    SHARED_WORK_PER_ROUND,
    WORK_IN_ALL,
    WORK_PER_DEVICE,
)
from firmament.core.rules.devices.objects.inventory import read_slice
from firmament.core.rules.devices.objects.requests import DeviceTerms, Option
from firmament.core.rules.devices.visible_devices import SeenDevice, ViewKind
from tests.support.devices import DRIVER, device, slice_record

NUMBERS = "[" + ",".join(map(str, range(60))) + "]"
SERIAL = f'device.attributes["{DRIVER}"].serial'
CHEAP = f"{SERIAL} >= 0"
TOO_MUCH = "CEL runtime error: it takes too much work"


def costly(number: int = 0) -> str:
    """An expression that takes some 25,000 steps for a device and holds for all; ``number`` makes texts differ."""
    return f"{NUMBERS}.all(a, {NUMBERS}.all(b, a + b + {SERIAL} > -1 - {number}))"


def seen(count: int) -> tuple[SeenDevice, ...]:
    """Devices that differ in their serial number."""
    stated = [device(f"d{number}", attributes={"serial": number}) for number in range(count)]
    found = read_slice("s", slice_record("m", stated).payload)
    return tuple(
        SeenDevice(each, DRIVER, 0, number, number) for number, (each, _, _) in enumerate(found.devices)
    )


def asks(*expressions: str) -> Option:
    return Option("r", DeviceTerms("gpu", ()), expressions, 1)


def test_what_people_write_draws_on_nothing():
    shared = SharedWork()
    selector = DeviceSelector(CHEAP, shared)
    answers = [selector.matches(each, WORK_PER_DEVICE) for each in seen(50)]
    assert {answer for answer, _ in answers} == {True}
    assert all(0 < work < 20 for _, work in answers)
    assert shared.left == SHARED_WORK
    assert selector.matches(seen(1)[0], WORK_PER_DEVICE) == (True, 0), "an answer is kept"


def test_an_expression_without_an_answer_takes_only_the_work_it_took():
    shared = SharedWork()
    selector = DeviceSelector(f'device.attributes["{DRIVER}"].no_such == 1', shared)
    for each in seen(300):
        answer, work = selector.matches(each, WORK_PER_DEVICE)
        assert answer == "CEL runtime error: no such key: no_such"
        assert 0 < work < 20
    assert shared.left == SHARED_WORK


def test_steps_beyond_the_free_ones_are_counted():
    shared = SharedWork()
    answer, work = DeviceSelector(costly(), shared).ask(seen(1)[0], WORK_PER_DEVICE)
    assert answer is True
    assert work > 10_000
    assert shared.left == SHARED_WORK - (work - WORK_PER_DEVICE)


def test_an_expression_that_takes_too_much_in_all_gets_a_fault():
    shared = SharedWork()
    selector = DeviceSelector(costly(), shared)
    answers = [selector.matches(each, 0)[0] for each in seen(100)]
    taken = answers.index("CEL runtime error: the expression takes too much work")
    assert set(answers[:taken]) == {True}
    assert set(answers[taken:]) == {"CEL runtime error: the expression takes too much work"}
    assert SHARED_WORK - shared.left < WORK_IN_ALL + 100_000


def test_many_costly_expressions_together_take_no_more_than_they_share():
    kind, selectors = ViewKind(seen(9), (0,)), DeviceSelectors()
    shared = selectors._shared
    found = [selectors.find_candidates(kind, asks(costly(number))) for number in range(12)]
    assert shared.left == 0
    assert found[0].mask == (1 << 9) - 1
    assert found[0].faults == {}
    assert found[-1].mask == 0
    assert set(found[-1].faults.values()) == {TOO_MUCH}
    plain = selectors.find_candidates(kind, asks(CHEAP, "true"))
    assert plain.mask == (1 << 9) - 1, "the others go on as before"
    assert not plain.faults


def test_the_expressions_of_a_request_share_what_is_free():
    """Many that are cheap each are costly together."""
    kind, selectors = ViewKind(seen(1), (0,)), DeviceSelectors()
    texts = [f"{SERIAL} > -{number} && [1,2,3,4,5,6].all(a, a > 0)" for number in range(1, 33)]
    assert selectors.find_candidates(kind, asks(*texts)).mask == 1
    assert 0 < SHARED_WORK - selectors._shared.left < 32 * WORK_PER_DEVICE


def test_a_round_allows_some_more():
    selectors = DeviceSelectors()
    selectors._shared.spend(2 * SHARED_WORK)
    selectors.keep(frozenset(), frozenset())
    assert selectors._shared.left == SHARED_WORK_PER_ROUND
    selectors._shared.left = SHARED_WORK - 1
    selectors.keep(frozenset(), frozenset())
    assert selectors._shared.left == SHARED_WORK


def test_long_expressions_are_costly_to_read():
    shared = SharedWork()
    short, long = "true || " * 100 + "true", "true || " * 1_000 + "true"
    assert len(short) < SHARED_LENGTH < len(long)
    DeviceSelector(short, shared)
    assert shared.left == SHARED_WORK
    assert not DeviceSelector(long, shared).fault
    assert shared.left < SHARED_WORK - 30_000
    shared.spend(SHARED_WORK)
    refused = DeviceSelector(long, shared)
    assert refused.fault == "CEL compile error: it is long, and there are too many costly expressions"
    assert refused.ask(seen(1)[0], WORK_PER_DEVICE) == (refused.fault, 0)
    assert not DeviceSelector(short, shared).fault
