"""Trees of groups whose members are divided over domains by rules, against a search through all placements."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import pytest

from cost_models.group_terms import LevelRule
from firmament.core.tree_solver.nested.divided.explanation import describe_rule
from firmament.core.tree_solver.nested.divided.profiles import DomainRoom, iterate_profiles
from firmament.core.tree_solver.nested.divided.search import DividedSearch
from firmament.core.tree_solver.nested.divided.solver import solve_tree
from firmament.core.tree_solver.nested.problem import NestedProblem
from firmament.core.tree_solver.nested.search import NestedPlaces, SearchSteps
from firmament.core.tree_solver.nested.trees import Division
from firmament.core.tree_solver.tree import Shortage, limits
from tests.firmament.core.tree_solver.test_nested_groups import Case, small_case, spread_out
from tests.support.effort import examples

Placed = tuple[tuple[int, int, int], ...]
"""Group, size and machine of each task."""


@dataclass(frozen=True)
class DividedCase(Case):
    """A tree with rules (labels and rules by group), and tasks that are on machines already.

    ``asked``: those of ``held`` that have been asked to leave: their groups need others instead of them.
    """

    divided: dict[int, list[tuple[int, LevelRule]]] = field(default_factory=dict)
    held: Placed = ()
    asked: Placed = ()

    def problem(self) -> NestedProblem:
        used = Counter[int]()
        for _, size, machine in self.held:
            used[machine] += size
        left = replace(self, room=[room - used[at] for at, room in enumerate(self.room)])
        posed = super(DividedCase, left).problem()
        group = replace(
            posed.group,
            divided=tuple(Division(at, *rule) for at, rules in self.divided.items() for rule in rules),
            held_group=np.array([group for group, _, _ in self.staying], dtype=np.int64),
            held_machine=np.array([machine for _, _, machine in self.staying], dtype=np.int64),
            asked_group=np.array([group for group, _, _ in self.asked], dtype=np.int64),
            asked_machine=np.array([machine for _, _, machine in self.asked], dtype=np.int64),
        )
        return replace(posed, group=group)

    @property
    def staying(self) -> Placed:
        """The tasks that are on machines already, and stay."""
        return tuple((Counter(self.held) - Counter(self.asked)).elements())

    @property
    def least(self) -> list[int]:
        """Tasks, or groups, that each group needs; tasks that stay on machines count."""
        there = Counter(group for group, _, _ in self.staying)
        spare = self.spare or [0] * len(self.parent)
        own = [
            there[each] + sum(count for group, _, count in self.tasks if group == each)
            for each in range(len(self.parent))
        ]
        return [
            (self.parent.count(each) or count) - less
            for each, (count, less) in enumerate(zip(own, spare, strict=True))
        ]

    def count_members(self, group: int, where: Placed) -> Counter[tuple[int, ...]] | None:
        """Count a divided group's members by domain; None if a group in it is in several, or a task in none."""
        keys = [key for key, _ in self.divided[group]]
        inside = [each for each, parent in enumerate(self.parent) if parent == group]
        found = Counter[tuple[int, ...]]()
        if not inside:
            found.update(self.name_domain(keys, machine) for at, _, machine in where if at == group)
        for child in inside:
            names = {self.name_domain(keys, machine) for at, _, machine in where if child in self.above(at)}
            if len(names) > 1:
                return None
            found.update(names)
        return None if any(-1 in name for name in found) else found

    def name_domain(self, keys: Sequence[int], machine: int) -> tuple[int, ...]:
        return tuple(self.code[key][machine] for key in keys)

    def keeps_rules(self, where: Placed) -> bool:
        """Whether the members of all divided groups are divided as their rules say, or are the same as before."""
        for group, rules in self.divided.items():
            counts = self.count_members(group, where)
            if counts is None:
                return False
            if counts == self.count_members(group, self.held):
                continue
            for level, (_, rule) in enumerate(rules):
                shares: dict[tuple[int, ...], Counter[int]] = {}
                for name, count in counts.items():
                    shares.setdefault(name[:level], Counter())[name[level]] += count
                if not all(self.keeps_rule(rule, share) for share in shares.values()):
                    return False
        return True

    def keeps_rule(self, rule: LevelRule, counts: Counter[int]) -> bool:
        """Whether counts of members by domain are as a rule says."""
        if rule.hard and any(count > 1 for count in counts.values()):
            return False
        if rule.partitions and len(counts) != rule.partitions:
            return False
        if any(count % rule.factor for count in counts.values()):
            return False
        return not rule.most or all(rule.least <= count <= rule.most for count in counts.values())

    def placements(self, tasks: Sequence[tuple[int, int]], placed: Placed = ()) -> Iterator[Placed]:
        """Yield all placements of some tasks (group, size) that break no rule, with those that are placed."""
        if not tasks:
            if self.keeps_rules(placed):
                yield placed
            return
        for machine in range(len(self.room)):
            now = (*placed, (*tasks[0], machine))
            if self.allows(now):
                yield from self.placements(tasks[1:], now)

    def fits_somehow(self) -> bool:
        """Whether there is a placement of what the groups need, or of more."""
        for counts in product(*(range(count + 1) for _, _, count in self.tasks)):
            tasks = [
                (group, size)
                for (group, size, _), count in zip(self.tasks, counts, strict=True)
                for _ in range(count)
            ]
            if tasks and self.is_sound(tasks) and next(self.placements(tasks, self.held), ()):
                return True
        return False

    def is_sound(self, tasks: Sequence[tuple[int, int]]) -> bool:
        """Whether groups get what they need if so many of their tasks (group, size) are placed, or nothing."""
        there = Counter(group for group, _ in tasks) + Counter(group for group, _, _ in self.staying)
        if not self.is_whole(0, there):
            return False
        return all(self.is_whole(each, there) for group, _ in tasks for each in self.above(group))


def draw_rule(draw: random.Random, *, of_groups: bool) -> LevelRule:
    kind = draw.choice(("pack", "spread"))
    if draw.random() < (0.05 if of_groups else 0.15):
        return LevelRule("spread", hard=True)
    least = draw.randint(1, 2)
    most = draw.choice((0, 0, least, least + 1))
    return LevelRule(
        "spread" if kind == "spread" else "pack",
        partitions=draw.choice((0, 0, 1, 2, 2, 3)),
        least=least if most else 0,
        most=most,
        factor=draw.choice((1, 1, 1, 2)),
    )


def divided_case(seed: int, *, spare: bool = False) -> DividedCase:
    """A small tree in which one or two groups are divided; with ``spare``, groups need fewer than all."""
    draw = random.Random(f"divided {seed}")
    small = small_case(seed)
    machines = draw.randint(3, 5)
    zone = sorted(draw.choice((0, 0, 1)) for _ in range(machines))
    most = max(1, 7 // len(small.tasks))  # the search through all placements takes no more than seven tasks
    case = DividedCase(
        parent=small.parent,
        within=[draw.choice((-1, -1, key)) for key in small.within],
        tasks=[(group, size, draw.randint(1, min(3, most))) for group, size, _ in small.tasks],
        room=[draw.randint(2, 6) for _ in range(machines)],
        code=[zone, [2 * at + draw.choice((0, 1)) for at in zone]],
    )
    for group in draw.sample(range(len(case.parent)), draw.choice((1, 1, 2)) if len(case.parent) > 1 else 1):
        of_groups = group in case.parent
        labels = draw.choice(([0], [1], [1], [0, 1]))
        case.divided[group] = [(label, draw_rule(draw, of_groups=of_groups)) for label in labels]
    if spare:
        case = replace(case, spare=[draw.randint(0, max(0, count - 1)) for count in case.least])
    return case


def solve(case: DividedCase) -> NestedPlaces | Shortage:
    return solve_tree(case.problem(), SearchSteps(20_000))


@pytest.mark.parametrize("seed", range(examples(400)))
def test_divided_groups_are_placed_by_their_rules_if_there_is_any_way(seed):
    case = divided_case(seed)
    found = solve(case)
    assert isinstance(found, Shortage) == (next(case.placements(case.single()), None) is None)
    if isinstance(found, Shortage):
        assert found.message
        return
    where = tuple(spread_out(case, found))
    assert sorted(each[:2] for each in where) == sorted(case.single())
    assert case.allows(where)
    assert case.keeps_rules(where)


@pytest.mark.parametrize("seed", range(examples(400)))
def test_what_divided_groups_need_is_placed_if_there_is_any_way_and_no_part_of_a_group(seed):
    case = divided_case(seed, spare=True)
    found = solve(case)
    assert isinstance(found, Shortage) == (not case.fits_somehow())
    if isinstance(found, Shortage):
        return
    where = tuple(spread_out(case, found))
    assert case.allows(where)
    assert case.keeps_rules(where)
    assert case.is_sound([each[:2] for each in where])


@pytest.mark.parametrize("seed", range(examples(400)))
def test_lost_tasks_of_divided_groups_come_back_where_the_rules_take_them(seed):
    draw = random.Random(f"lost {seed}")
    case = divided_case(seed, spare=draw.random() < 0.5)
    found = solve(case)
    if isinstance(found, Shortage):
        return
    where = tuple(each for each in spread_out(case, found) if draw.random() < 0.6)
    again = replace_tasks(case, where, ())
    if not again.tasks:
        return
    found = solve(again)
    assert isinstance(found, Shortage) == (not again.fits_somehow())
    check_replacements(again, found)


def replace_tasks(case: DividedCase, where: Placed, asked: Placed) -> DividedCase:
    """The case in which those in ``where`` are there, of which ``asked`` are to leave, and all others wait."""
    have = Counter(group for group, _, _ in where) - Counter(group for group, _, _ in asked)
    tasks = [(group, size, count - have[group]) for group, size, count in case.tasks if count > have[group]]
    again = replace(case, held=where, asked=asked, tasks=tasks, spare=())
    spare = [there - least for there, least in zip(again.least, case.least, strict=True)]
    return replace(again, spare=spare)


def check_replacements(case: DividedCase, found: NestedPlaces | Shortage) -> None:
    if not isinstance(found, Shortage):
        new = spread_out(case, found)
        assert case.allows((*case.held, *new))
        assert case.keeps_rules((*case.held, *new))
        assert case.is_sound([each[:2] for each in new])


def test_tasks_that_have_been_asked_to_leave_count_in_their_domains_until_they_are_gone():
    """Of groups of which all tasks are to leave, and whose other tasks have no room, siblings may wait in vain."""
    missed = []
    for seed in range(examples(1000)):
        draw = random.Random(f"asked {seed}")
        case = divided_case(seed, spare=draw.random() < 0.5)
        found = solve(case)
        if isinstance(found, Shortage):
            continue
        where = tuple(each for each in spread_out(case, found) if draw.random() < 0.8)
        again = replace_tasks(case, where, tuple(each for each in where if draw.random() < 0.4))
        if not again.tasks:
            continue
        found = solve(again)
        missed.append(isinstance(found, Shortage) and again.fits_somehow())
        check_replacements(again, found)
    assert sum(missed) <= 1 + 0.01 * len(missed)


def test_it_is_certain_of_nearly_all_small_trees_without_a_place_that_there_is_none():
    searches = [DividedSearch(divided_case(seed).problem()) for seed in range(examples(400))]
    found = [search.find_places(SearchSteps(20_000)) for search in searches]
    certain = [sure for places, sure in found if places is None]
    assert sum(certain) >= 0.9 * len(certain) > 0


@pytest.mark.parametrize("seed", range(examples(200)))
def test_one_group_of_equal_pods_is_divided_as_its_wish_says_as_well_as_can_be(seed):
    draw = random.Random(f"wish {seed}")
    machines = draw.randint(2, 5)
    rule = replace(draw_rule(draw, of_groups=False), hard=False)
    case = DividedCase(
        parent=[-1],
        within=[-1],
        tasks=[(0, 1, draw.randint(2, 5))],
        room=[draw.randint(0, 4) for _ in range(machines)],
        code=[sorted(draw.randint(0, 3) for _ in range(machines))],
        divided={0: [(0, rule)]},
    )
    found = solve(case)

    def weigh(where: Placed) -> tuple[int, ...]:
        counts = sorted((case.count_members(0, where) or Counter()).values(), reverse=True)
        return (len(counts), *(-count for count in counts)) if rule.kind == "pack" else tuple(counts)

    every = [weigh(where) for where in case.placements(case.single())]
    assert isinstance(found, Shortage) == (not every)
    if not isinstance(found, Shortage):
        assert weigh(tuple(spread_out(case, found))) == min(every)


@pytest.mark.parametrize("seed", range(examples(200)))
def test_profiles_are_all_there_are_and_the_best_come_first(seed):
    draw = random.Random(f"profiles {seed}")
    rule = draw_rule(draw, of_groups=True)
    held = tuple(draw.randint(1, 3) for _ in range(draw.choice((0, 0, 1, 2))))
    most = tuple(sorted((draw.randint(1, 5) for _ in range(draw.randint(0, 4))), reverse=True))
    room = DomainRoom(held, tuple(each + draw.randint(0, 3) for each in held), most)
    total = draw.randint(1, 9)
    found = list(iterate_profiles(limits(rule), rule.kind == "pack", total, [room]))

    def is_right(counts: Sequence[int]) -> bool:
        used = [count for count in counts if count]
        return (
            sum(counts) == total
            and all(count >= before for count, before in zip(counts, held, strict=False))
            and (not rule.partitions or len(used) == rule.partitions)
            and all(count % rule.factor == 0 and (count == 1 or not rule.hard) for count in used)
            and (not rule.most or all(rule.least <= count <= rule.most for count in used))
        )

    ranges = [range(limit + 1) for limit in (*room.held_most, *most)]
    every = {
        (*counts[: len(held)], *sorted((count for count in counts[len(held) :] if count), reverse=True))
        for counts in product(*ranges)
        if is_right(counts)
    }
    assert sorted(found) == sorted(every)
    assert [weigh_profile(rule, each) for each in found] == sorted(
        weigh_profile(rule, each) for each in found
    )
    smaller = replace(room, most=most[1:], held_most=tuple(each + 9 for each in held))
    of_both = list(iterate_profiles(limits(rule), rule.kind == "pack", total, [room, smaller]))
    alone = list(iterate_profiles(limits(rule), rule.kind == "pack", total, [smaller]))
    assert sorted(of_both) == sorted({*found, *alone})
    assert [weigh_profile(rule, each) for each in of_both] == sorted(
        weigh_profile(rule, each) for each in of_both
    )


def weigh_profile(rule: LevelRule, counts: Sequence[int]) -> tuple[int, ...]:
    """The less, the better: packed ones with few large counts, spread ones with small counts."""
    largest_first = sorted_down(counts)
    return (len(counts), *(-each for each in largest_first)) if rule.kind == "pack" else tuple(largest_first)


def sorted_down(counts: Sequence[int]) -> list[int]:
    return sorted(counts, reverse=True)


def pods_on(*rooms: int, pods: int, rule: LevelRule) -> DividedCase:
    return DividedCase(
        [-1, 0], [-1, -1], [(1, 1, pods)], rooms, [range(len(rooms))], divided={1: [(0, rule)]}
    )


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (
            pods_on(4, 4, 4, pods=6, rule=LevelRule(partitions=4)),
            "level 2 (label-0): group g1 must have its 6 pods in exactly 4 domains; there are 3 domains",
        ),
        (
            pods_on(4, 3, 1, pods=8, rule=LevelRule(factor=4)),
            "its 8 pods in domains with a multiple of 4 in each; the roomiest domains take 4, 3, 1",
        ),
        (
            pods_on(4, 4, pods=5, rule=LevelRule(factor=2)),
            "a multiple of 2 in each; no such numbers add up to 5",
        ),
        (
            pods_on(4, 4, pods=3, rule=LevelRule("spread", hard=True)),
            "its 3 pods in domains of their own; there are 2",
        ),
    ],
)
def test_the_message_says_what_the_rule_lacks(case, words):
    found = solve(case)
    assert isinstance(found, Shortage)
    assert words in found.message


def test_the_message_names_the_second_rule_of_a_group_if_that_stands_in_the_way():
    rules = [(0, LevelRule(partitions=2)), (1, LevelRule("spread", hard=True))]
    case = DividedCase([-1, 0], [-1, -1], [(1, 1, 4)], [2, 2, 2], [[0, 0, 1], [0, 1, 2]], divided={1: rules})
    found = solve(case)
    assert isinstance(found, Shortage)
    assert found.message == (
        "level 2 (label-1): group g1 must have its 4 pods in domains of their own within each domain of label-0; "
        "there is no way to do so together with the other groups"
    )


def test_a_group_that_lacks_members_is_not_blamed():
    rule = [(0, LevelRule(factor=2))]
    case = DividedCase(
        [-1, 0, 0, 0],
        [-1, -1, -1, -1],
        [(1, 1, 3), (2, 1, 3), (3, 1, 1)],
        [4, 4, 4],
        [[0, 1, 2]],
        spare=[1, 0, 0, -1],
        divided={1: rule, 2: rule, 3: rule},
    )
    found = solve(case)
    assert isinstance(found, Shortage)
    assert "group g1 must have its 3 pods in domains with a multiple of 2 in each" in found.message


def test_rules_are_told_in_words():
    assert describe_rule(LevelRule(), of_groups=True) == "each in one domain"
    rule = LevelRule(partitions=2, least=2, most=4, factor=2)
    assert (
        describe_rule(rule, of_groups=False)
        == "in exactly 2 domains, 2 to 4 in each, a multiple of 2 in each"
    )


def test_what_is_left_of_a_group_in_a_domain_is_filled_up_before_others_get_any():
    """By the second rule a used rack has at least 2 pods; one has lost all but one of them."""
    rules = [(0, LevelRule("spread")), (1, LevelRule("spread", least=2, most=3))]
    case = DividedCase(
        [-1, 0], [-1, -1], [(1, 1, 2)], [5, 5], [[0, 1], [0, 1]], divided={1: rules}, held=((1, 1, 1),)
    )
    found = solve(case)
    assert not isinstance(found, Shortage)
    assert spread_out(case, found) == [(1, 1, 1), (1, 1, 1)]


def test_a_group_whose_rest_in_a_domain_cannot_be_filled_up_gets_no_others():
    rules = [(0, LevelRule("spread")), (1, LevelRule("spread", least=2, most=3))]
    case = DividedCase(
        [-1, 0], [-1, -1], [(1, 1, 2)], [5, 1], [[0, 1], [0, 1]], divided={1: rules}, held=((1, 1, 1),)
    )
    assert isinstance(solve(case), Shortage)


def test_a_large_group_is_divided_at_once():
    rooms = [8] * 100
    case = pods_on(*rooms, pods=600, rule=LevelRule("spread", factor=2))
    found = solve(case)
    assert not isinstance(found, Shortage)
    assert found.tasks == 600
    assert {*np.bincount(found.machine, found.count).tolist()} == {6.0}
