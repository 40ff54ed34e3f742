"""InterPodAffinity: tasks that must, should, must not or should rather not be where certain other tasks are.

Terms of pod affinity work in both directions. A waiting class obeys its own terms, and the terms of every other class
that select it. The class that states a term may wait or have tasks on machines, and any scheduler may have placed
them. Terms with equal content share counters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from firmament.core.changes import ChangedMachine, CureChange, CureKind, CureProposal, TrialChange
from firmament.core.constraints.ruleset import Attraction
from firmament.core.model import TaskClass, TaskSelector, TaskTerm
from firmament.core.reasons import Reason
from firmament.core.rules.framework.compilation import Compilation
from firmament.core.rules.framework.pod_rule import PodRule
from firmament.core.rules.framework.standing_terms import StandingTerms
from firmament.core.rules.framework.work import count_checks_of_selectors
from firmament.core.state.class_selectors import HeldTerm, own_selector

_CHECKS_PER_TERM = 8
"""How many checks of each machine one term takes in a round: two compilations, planning, admission and reasons, some
more than once.
"""

_MOST_LEVELS = 2
"""How many other labels cures propose instead of a term's own: the next finer, or coarser, ones."""

_ANTI, _NEAR = "required podAntiAffinity", "required podAffinity"
_CALLED_NEAR = "pod affinity rules"


class PodAffinity(PodRule):
    """Applies required and preferred affinity and anti-affinity between tasks, by the value of a machine label."""

    name = "InterPodAffinity"
    called = MappingProxyType(
        {
            Reason.NOT_NEAR: _CALLED_NEAR,
            Reason.TOO_NEAR: "pod anti-affinity rules",
            Reason.KEPT_OFF: "pod anti-affinity rules",
        }
    )
    stated_in = ("affinity", "anti_affinity", "preferred_affinity", "preferred_anti_affinity")

    def compile(self, compilation: Compilation) -> None:
        """Add each class's own terms, and the terms of other classes that select it."""
        for row, content in compilation.stating():
            for term in content.anti_affinity:
                selector = own_selector(term.selector, content)
                number = compilation.counters.get_counter([selector], term.topology_key)
                compilation.exclude(row, number, Reason.TOO_NEAR)
        standing = StandingTerms()
        for held, holders in _collect_terms(compilation).items():
            _add_term(compilation, standing, held, holders)
        _add_standing_terms(compilation, standing)
        for row, content in compilation.stating():
            for terms, sign in ((content.preferred_affinity, 1), (content.preferred_anti_affinity, -1)):
                for term in terms:
                    selector = own_selector(term.selector, content)
                    number = compilation.counters.get_counter([selector], term.topology_key)
                    compilation.incline(row, number, sign * term.weight)
            if content.affinity:
                compilation.attract(row, _build_attraction(compilation, row, content))

    def select_awaited_tasks(self, content: TaskClass) -> list[TaskSelector]:
        """Return the selectors of the required terms."""
        return [term.selector for term in (*content.affinity, *content.anti_affinity)]

    def select_excluded_tasks(self, content: TaskClass) -> list[TaskSelector]:
        """Return the selectors of the required anti-affinity."""
        return [term.selector for term in content.anti_affinity]

    def count_checks(self, content: TaskClass) -> int:
        """Return eight checks for each term, and the checks of its selector."""
        selectors = [each.selector for each in _list_terms(content)]
        return len(selectors) * _CHECKS_PER_TERM + count_checks_of_selectors(selectors)

    def count_pairing(self, content: TaskClass) -> int:
        """Return the number of terms, required and preferred."""
        return len(_list_terms(content))

    def states_preference(self, content: TaskClass) -> bool:
        """Return whether a class has a preferred term."""
        return bool(content.preferred_affinity or content.preferred_anti_affinity)

    def cures(self, standing: ChangedMachine) -> Iterator[CureProposal]:
        """Yield cures: drop one of the task's required terms, or state it over another label.

        A cure of an affinity term proposes a label with larger domains; a cure of an anti-affinity term, one with
        smaller domains.
        """
        content, levels = standing.content, standing.levels
        for index, term in enumerate(content.anti_affinity):
            for change in _ask_less(_ANTI, index, term, levels.find_finer(term.topology_key)):
                terms = _replace_term(content.anti_affinity, index, change.term)
                changed = replace(content, anti_affinity=terms)
                yield CureProposal((change.step,), TrialChange(changed, standing.machine))
        for index, term in enumerate(content.affinity):
            for change in _ask_less(_NEAR, index, term, levels.find_coarser(term.topology_key)):
                changed = replace(content, affinity=_replace_term(content.affinity, index, change.term))
                yield CureProposal((change.step,), TrialChange(changed, standing.machine))


def name_topology_constraint(contents: Iterable[TaskClass], job: str) -> dict[str, str]:
    """Return the name of the topology constraint behind a gang's required affinity; {} if there is none.

    The result's key is `_CALLED_NEAR`, the name that messages otherwise give this affinity.

    ``contents``: the classes of the gang's tasks. A term whose selector names nothing but the gang (``job``) stands
    for the gang's topology constraint.
    """
    terms = [term for content in contents for term in content.affinity]
    own = [term for term in terms if [each.values for each in term.selector.labels] == [(job,)]]
    if not own:
        return {}
    keys = ", ".join(dict.fromkeys(term.topology_key for term in own))
    called = f"the topology constraint by {keys}"
    return {_CALLED_NEAR: called if len(own) == len(terms) else f"{_CALLED_NEAR} and {called}"}


class _LessAsked(NamedTuple):
    """A change that makes one term less strict; ``term`` replaces the former term, None drops it."""

    step: CureChange
    term: TaskTerm | None


def _ask_less(rule: str, index: int, term: TaskTerm, keys: Sequence[str]) -> Iterator[_LessAsked]:
    """Yield the change that drops a term, then changes that state the term over other labels.

    The labels tried are the first few in ``keys``.
    """
    subject = f"{rule} by {term.topology_key}"
    yield _LessAsked(CureChange(CureKind.DROP, subject, before=index), None)
    for key in keys[:_MOST_LEVELS]:
        step = CureChange(CureKind.WIDEN, subject, before=index, after=key)
        yield _LessAsked(step, replace(term, topology_key=key))


def _list_terms(content: TaskClass) -> tuple[TaskTerm, ...]:
    return (
        *content.affinity,
        *content.anti_affinity,
        *content.preferred_affinity,
        *content.preferred_anti_affinity,
    )


def _replace_term(terms: tuple[TaskTerm, ...], index: int, term: TaskTerm | None) -> tuple[TaskTerm, ...]:
    """Return terms with the one at ``index`` replaced by ``term``; None removes it."""
    return (*terms[:index], *(() if term is None else (term,)), *terms[index + 1 :])


def _collect_terms(compilation: Compilation) -> dict[HeldTerm, list[int]]:
    """Return every distinct term of the round, with the classes (rows) that state the term."""
    found: dict[HeldTerm, list[int]] = {}
    for row in compilation.ruled:
        for term in compilation.selector.list_terms(row):
            found.setdefault(term, []).append(row)
    return found


def _add_term(compilation: Compilation, standing: StandingTerms, term: HeldTerm, holders: list[int]) -> None:
    """Add the conditions and preferences that a term implies for the waiting classes that it selects.

    ``holders``: the classes (rows) that state the term. Those of ``holders`` that do not wait are added to
    ``standing``.
    """
    matching = compilation.selector.find_selected(term)
    selected = matching[compilation.waits[matching]]
    if not len(selected):
        return
    staying = [row for row in holders if row not in compilation.waiting]
    if staying:
        standing.add(term.topology_key, term.weight, staying, selected)
        if len(staying) == len(holders):
            return
        holders = [row for row in holders if row in compilation.waiting]
    if not holders:
        return
    number = compilation.counters.of_classes(holders, term.topology_key)
    for row in selected.tolist():
        if term.weight:
            compilation.incline(row, number, term.weight)
        else:
            compilation.exclude(row, number, Reason.KEPT_OFF, by_others=True)


def _add_standing_terms(compilation: Compilation, standing: StandingTerms) -> None:
    """Add what the terms in ``standing`` imply for the waiting classes.

    No class that states a term in ``standing`` waits itself.
    """
    for row, number in standing.exclusions(compilation.counters):
        compilation.exclude(row, number, Reason.KEPT_OFF, by_others=True)
    for row, number, sign in standing.inclinations(compilation.counters):
        compilation.incline(row, number, sign)


def _build_attraction(compilation: Compilation, row: int, content: TaskClass) -> Attraction:
    counters = compilation.counters
    selectors = tuple(dict.fromkeys(own_selector(term.selector, content) for term in content.affinity))
    matching = counters.matching_all(selectors).tolist()  # A task must match all terms.
    keys = dict.fromkeys(term.topology_key for term in content.affinity)
    numbers = tuple(counters.of_classes(matching, key) for key in keys)
    for number in numbers:
        _note_unsettled(compilation, number, matching)
    return Attraction(counters=numbers, own=row in matching, reason=Reason.NOT_NEAR)


def _note_unsettled(compilation: Compilation, number: int, matching: Sequence[int]) -> None:
    """Record one task in each domain in which no task that attracts others is bound yet.

    ``matching``: rows of the classes that the counter counts.
    """
    tasks, counter = compilation.cluster.tasks, compilation.counters.counters[number]
    lone = (counter.start > 0) & (counter.settled == 0)
    if not lone.any():
        return
    for task in compilation.residents.tasks(matching).tolist():
        domain = int(counter.domain[tasks.machine[task]])
        if domain >= 0 and lone[domain]:
            compilation.note_unsettled(number, domain, tasks.uid[task])
