"""Room, failing units, zones and bookings of many machines at once, against kubelets that take one pod at a time."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest

from cost_models.interface import ContainerRow, Int64, ShapeRow
from cost_models.numa.arguments import NumaOptions
from cost_models.numa.kubelet_simulation import SIMULATED, SINGLE, ZoneRoom
from cost_models.numa.records import POLICIES
from cost_models.numa.requests import HINT, Requests, compile_requests, pods_of
from cost_models.numa.single_zone_alignment import UNLIMITED, UNLISTED
from tests.cost_models.numa.builders import container, shape
from tests.cost_models.numa.kubelet import Amounts, Kubelet, added
from tests.support.effort import examples

RESOURCES = ("cpu", "example.com/gpu")
BEST_EFFORT, RESTRICTED = POLICIES.index("best-effort"), POLICIES.index("restricted")


@dataclass
class Pod:
    """A guaranteed pod: amounts of its containers and init containers, and the policy that it asks for."""

    apps: list[Amounts]
    init: list[Amounts]
    hint: int = 0


def asked(amounts: Amounts) -> tuple[tuple[str, int], ...]:
    """What a container requests: nothing of what it needs no part of."""
    return tuple((name, amount) for name, amount in amounts.items() if amount)


def compile_pods(pods: list[Pod]) -> Requests:
    """The pods' requests, with annotations read."""
    rows = [
        shape(
            *(ContainerRow(f"i{n}", "init", asked(each)) for n, each in enumerate(pod.init)),
            *(ContainerRow(f"c{n}", "app", asked(each)) for n, each in enumerate(pod.apps)),
            annotations={HINT: POLICIES[pod.hint]} if pod.hint else {},
        )
        for pod in pods
    ]
    options = NumaOptions(pod_hints=True)
    return compile_requests(
        pods_of(rows, np.zeros((len(rows), 1), np.int64), ("cpu",), options), RESOURCES, options
    )


def choose(kubelet: Kubelet, request: Amounts) -> frozenset[int] | None:
    """The zones for one unit. Best-effort takes preferred ones, else the fewest with room for all, else all zones."""
    if kubelet.policy != "best-effort":
        return kubelet.best(request)
    preferred = Kubelet("restricted", kubelet.scope, kubelet.total, kubelet.free).best(request)
    if preferred is not None:
        return preferred
    zones = sorted(kubelet.total)
    sets = [frozenset(each) for size in range(1, len(zones) + 1) for each in combinations(zones, size)]
    sets.sort(key=lambda each: (len(each), sum(2**zone for zone in each)))
    for each in sets:
        if all(sum(kubelet.free[zone][name] for zone in each) >= amount for name, amount in request.items()):
            return each
    return frozenset(zones)


class Machines:
    """The same machines twice: as columns, and as kubelets."""

    def __init__(
        self, policies: list[int], pod_scope: list[bool], total: np.ndarray, left: np.ndarray, pods: list[Pod]
    ) -> None:
        self.pods = pods
        self.room = ZoneRoom(
            compile_pods(pods),
            np.array(policies, dtype=np.int8),
            np.array(pod_scope, dtype=np.bool_),
            total.copy(),
            left.copy(),
        )
        self.policies, self.pod_scope, self.total, self.left = policies, pod_scope, total, left.copy()

    def kubelet(self, machine: int, pod: Pod) -> Kubelet | None:
        """The kubelet as it treats a pod; None if it aligns nothing."""
        policy = max(self.policies[machine], pod.hint)
        if policy == 0 or not self.is_checked(pod):
            return None
        total, free = (
            {
                zone: {name: int(amounts[row, machine, zone]) for row, name in enumerate(RESOURCES)}
                for zone in range(amounts.shape[2])
            }
            for amounts in (self.total, self.left)
        )
        return Kubelet(POLICIES[policy], "pod" if self.pod_scope[machine] else "container", total, free)

    @staticmethod
    def is_checked(pod: Pod) -> bool:
        """Whether anything is requested."""
        return any(amount for each in (*pod.apps, *pod.init) for amount in each.values())

    def take(self, machine: int, pod: Pod) -> tuple[int, set[int]]:
        """Admit a pod, or say which unit finds no zone; also the zones that it takes."""
        kubelet = self.kubelet(machine, pod)
        if kubelet is None:
            return -1, set()
        if kubelet.scope == "pod":
            units = [
                {
                    name: max([added(pod.apps).get(name, 0)] + [each[name] for each in pod.init])
                    for name in RESOURCES
                }
            ]
            init: list[Amounts] = []
        else:
            units, init = pod.apps, pod.init
        for number, each in enumerate(init):
            if choose(kubelet, each) is None:
                return self.room.requests.threshold.shape[1] + number, set()
        zones: set[int] = set()
        for number, each in enumerate(units):
            chosen = choose(kubelet, each)
            if chosen is None:
                return (0 if kubelet.scope == "pod" else number + 1), zones
            kubelet.give(each, chosen)
            zones |= chosen
        for zone, amounts in kubelet.free.items():
            for row, name in enumerate(RESOURCES):
                self.left[row, machine, zone] = amounts[name]
        return -1, zones

    def count(self, machine: int, pod: Pod, most: int) -> int:
        """How many of a pod are admitted one after another."""
        before = self.left.copy()
        taken = 0
        while taken < most and self.take(machine, pod)[0] < 0:
            taken += 1
        self.left = before
        return taken


def draw_machines(seed: int, width: int = 3) -> Machines:
    """Eight machines of all policies and scopes, and five pods."""
    draw = random.Random(seed)
    count = 8
    total = np.array(
        [[[draw.randint(0, most) for _ in range(width)] for _ in range(count)] for most in (8, 3)],
        dtype=np.int64,
    )
    left = np.array([[[draw.randint(0, each) for each in row] for row in part] for part in total.tolist()])
    total[0], left[0] = total[0] * 1000, left[0] * 1000

    def amounts() -> Amounts:
        return {"cpu": draw.randint(0, 5) * 1000, "example.com/gpu": draw.choice((0, 0, 1, 2))}

    pods = [
        Pod(
            [amounts() for _ in range(draw.choice((1, 1, 2, 3)))],
            [amounts() for _ in range(draw.choice((0, 0, 0, 1, 2)))],
            draw.choice((0, 0, 0, 1, 2, 3)),
        )
        for _ in range(5)
    ]
    policies = [draw.choice((0, 1, 2, 3, 3, 3)) for _ in range(count)]
    return Machines(policies, [draw.random() < 0.4 for _ in range(count)], total, left, pods)


def ints(*numbers: int) -> Int64:
    return np.array(numbers, dtype=np.int64)


SEEDS = range(examples(12, least=8))


def test_room_is_what_kubelets_admit_one_after_another():
    for seed in SEEDS:
        made = draw_machines(seed)
        for number, pod in enumerate(made.pods):
            machines = np.arange(8)
            exact = made.room.count_room(np.full(8, number), machines)
            rough = made.room.room_of(number)
            for machine in range(8):
                kubelet = made.kubelet(machine, pod)
                if kubelet is None or kubelet.policy == "best-effort":
                    assert (exact[machine], rough[machine]) == (UNLIMITED, UNLIMITED)
                    continue
                admitted = made.count(machine, pod, SIMULATED)
                assert min(exact[machine], SIMULATED) == admitted, (seed, number, machine)
                assert min(rough[machine], 1) == min(admitted, 1)
        assert made.room.left.tolist() == made.left.tolist(), "asking changes nothing"


def test_one_task_takes_the_zones_that_its_kubelet_gives_or_fails_at_the_same_unit():
    for seed in SEEDS:
        made = draw_machines(seed)
        before = made.left.copy()
        for number, pod in enumerate(made.pods):
            failed, used = made.room.try_one_task(number)
            units, implied = len(made.room.requests.threshold[0]), made.room.requests.init_implied[number]
            quick = np.where((failed >= units) & implied, 1, failed)
            assert made.room.find_failing_unit(number).tolist() == quick.tolist(), (
                "an init container that needs no more than the only container is not named",
                seed,
                number,
            )
            for machine in range(8):
                unit, zones = made.take(machine, pod)
                made.left = before.copy()
                assert failed[machine] == unit, (seed, number, machine)
                if unit < 0:
                    assert set(np.flatnonzero(used[machine]).tolist()) == zones, (seed, number, machine)
        assert made.room.left.tolist() == before.tolist()


def test_bookings_take_from_zones_what_kubelets_give_entry_by_entry():
    for seed in SEEDS:
        made = draw_machines(seed)
        draw = random.Random(seed + 1000)
        for _ in range(2):
            entries = [(draw.randrange(5), draw.randrange(8), draw.randint(0, 3)) for _ in range(9)]
            copied = made.room.copy()
            taken = made.room.book(*(ints(*column) for column in zip(*entries, strict=True)))
            assert copied.left.tolist() == made.left.tolist(), "a copy stays as it was"
            for (number, machine, wanted), got in zip(entries, taken.tolist(), strict=True):
                pod, admitted = made.pods[number], 0
                while admitted < wanted and made.take(machine, pod)[0] < 0:
                    admitted += 1
                assert got == admitted, (seed, number, machine)
            assert made.room.left.tolist() == made.left.tolist(), seed


def test_nobody_is_booked_for_no_entries():
    made = draw_machines(0)
    assert made.room.book(ints(), ints(), ints()).tolist() == []
    assert made.room.count_room(ints(), ints()).tolist() == []


@pytest.mark.parametrize(
    ("machine", "hint", "expected"),
    [
        (0, 0, 0),
        (0, 2, 2),
        (BEST_EFFORT, SINGLE, SINGLE),
        (RESTRICTED, BEST_EFFORT, RESTRICTED),
        (SINGLE, 2, SINGLE),
    ],
)
def test_the_stricter_policy_of_machine_and_pod_holds(machine: int, hint: int, expected: int):
    one = np.ones((2, 1, 1), dtype=np.int64)
    asks = {"cpu": 1000, "example.com/gpu": 0}
    nothing = {"cpu": 0, "example.com/gpu": 0}
    made = Machines([machine], [False], one, one, [Pod([asks], [], hint), Pod([nothing], [], hint)])
    assert made.room.policies(ints(0, 1), ints(0, 0)).tolist() == [expected, 0]


def test_more_than_the_simulated_tasks_fit_where_division_tells():
    room = np.full((2, 2, 2), 100_000, dtype=np.int64)
    asks = {"cpu": 1000, "example.com/gpu": 0}
    made = Machines(
        [SINGLE, RESTRICTED], [False, False], room, room, [Pod([asks], []), Pod([asks, asks], [])]
    )
    assert made.room.count_room(ints(0, 0, 1), ints(0, 1, 0)).tolist() == [200, SIMULATED, SIMULATED]
    assert made.room.room_of(0).tolist() == [200, 1]
    assert made.room.room_of(1).tolist() == [1, 1]


class TestZonesThatListNothing:
    """A burstable pod takes no cpu of a zone, but a zone must list it."""

    @pytest.mark.parametrize(
        ("policy", "left", "room", "zones"),
        [
            (SINGLE, (UNLISTED, 0), True, [1]),
            (SINGLE, (0, UNLISTED), True, [0]),
            (SINGLE, (UNLISTED, UNLISTED), False, []),
            (RESTRICTED, (UNLISTED, 0), True, []),
            (RESTRICTED, (UNLISTED, UNLISTED), False, []),
            (BEST_EFFORT, (UNLISTED, UNLISTED), True, []),
        ],
    )
    @pytest.mark.parametrize("containers", [1, 2])
    def test_what_needs_a_zone_that_lists_it(
        self, policy: int, left: tuple[int, int], room: bool, zones: list[int], containers: int
    ):
        row = shape(*(container(f"c{n}", cpu=1000) for n in range(containers)), qos="Burstable")
        made = zone_room([row], policy, {"cpu": left, "example.com/gpu": (0, 0)})
        assert made.policies(ints(0), ints(0)).tolist() == [policy]
        assert (made.count_room(ints(0), ints(0))[0] > 0) == room
        assert (made.room_of(0)[0] > 0) == room
        failed, used = made.try_one_task(0)
        assert failed.tolist() == made.find_failing_unit(0).tolist() == [-1 if room else 1]
        assert np.flatnonzero(used[0]).tolist() == zones
        before = made.left.tolist()
        made.book(ints(0), ints(0), ints(1))
        assert made.left.tolist() == before

    @pytest.mark.parametrize("policy", [SINGLE, RESTRICTED, BEST_EFFORT])
    def test_devices_without_zones_do_not_choose_the_zone(self, policy: int):
        row = shape(container("c", cpu=2000, gpu=3), container("d", cpu=1000, gpu=3))
        unlimited = int(UNLIMITED)
        made = zone_room([row], policy, {"cpu": (1000, 3000), "example.com/gpu": (unlimited, unlimited)})
        assert made.room_of(0).tolist() == [UNLIMITED if policy == BEST_EFFORT else 1]
        failed, used = made.try_one_task(0)
        assert (failed.tolist(), used.tolist()) == ([-1], [[True, True]])
        made.book(ints(0), ints(0), ints(1))
        assert made.left[0].tolist() == [[0, 1000]]
        assert (made.left[1] > unlimited // 2).all()

    @pytest.mark.parametrize("amount", [1, 2, 3])
    def test_a_device_must_fit_whatever_the_zone_takes_of_cpu(self, amount: int):
        row = shape(container("c", cpu=1000, gpu=amount), qos="Burstable")
        made = zone_room([row], SINGLE, {"cpu": (0, 0, UNLISTED), "example.com/gpu": (1, 2, 9)})
        assert made.count_room(ints(0), ints(0)).tolist() == [3 // amount if amount < 3 else 0]
        assert made.room_of(0).tolist() == [{1: 3, 2: 1, 3: 0}[amount]]


def zone_room(rows: list[ShapeRow], policy: int, left: dict[str, tuple[int, ...]]) -> ZoneRoom:
    """One machine in container scope with these amounts in its zones; zones had 10,000 of everything."""
    options = NumaOptions()
    requests = compile_requests(
        pods_of(rows, np.zeros((len(rows), 1), np.int64), ("cpu",), options), RESOURCES, options
    )
    amounts = np.array([[left[name]] for name in RESOURCES], dtype=np.int64)
    return ZoneRoom(
        requests, np.array([policy], np.int8), np.zeros(1, np.bool_), np.full_like(amounts, 10_000), amounts
    )
