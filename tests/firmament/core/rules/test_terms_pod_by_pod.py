"""Terms of pod affinity that are put together mean what they mean one by one, pod by pod and machine by machine."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.ruleset import RuleSet
from firmament.core.events import ClassDefined, TasksBound
from firmament.core.intake.events import apply_events
from firmament.core.model import Requirement, TaskClass, TaskSelector, TaskTerm
from firmament.core.rules.registry import compile_rules
from firmament.core.state.cluster import Cluster
from tests.support.core import machine, task_class
from tests.support.effort import examples

Labels = dict[str, str]

MACHINES: tuple[Labels, ...] = (
    {"zone": "a", "rack": "r"},
    {"zone": "a", "rack": "s"},
    {"zone": "b", "rack": "s"},
    {"zone": "b"},
    {"rack": "r"},
    {},
)

REQUIREMENTS = st.one_of(
    st.builds(
        Requirement,
        st.sampled_from(["app", "tier"]),
        st.sampled_from(["In", "NotIn"]),
        st.sampled_from([("x",), ("y",), ("x", "y")]),
    ),
    st.builds(Requirement, st.sampled_from(["app", "tier"]), st.sampled_from(["Exists", "DoesNotExist"])),
)
SELECTORS = st.builds(
    TaskSelector,
    labels=st.lists(REQUIREMENTS, max_size=2).map(tuple),
    namespaces=st.sampled_from([(), ("n",), ("o",), ("n", "o")]),
)


def terms(weights: st.SearchStrategy[int]) -> st.SearchStrategy[tuple[TaskTerm, ...]]:
    """Up to three terms, some of them equal."""
    key = st.sampled_from(["zone", "rack", "shelf"])
    one = st.builds(TaskTerm, key, SELECTORS, weight=weights)
    return st.lists(one, max_size=3).flatmap(lambda some: st.sampled_from([tuple(some), (*some, *some[:1])]))


REQUIRED, PREFERRED = terms(st.just(0)), terms(st.sampled_from([1, 7, 100]))
CLASSES = st.builds(
    task_class,
    namespace=st.sampled_from("no"),
    labels=st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from("xyz")).map(
        lambda labels: tuple(labels.items())
    ),
    affinity=REQUIRED,
    anti_affinity=REQUIRED,
    preferred_affinity=PREFERRED,
    preferred_anti_affinity=PREFERRED,
)
PLACED = st.lists(st.tuples(st.integers(0, 7), st.integers(0, len(MACHINES) - 1)), max_size=12)


def selects(term: TaskTerm, holder: TaskClass, other: TaskClass) -> bool:
    """Whether a term of one pod selects another pod."""
    if other.namespace not in (term.selector.namespaces or (holder.namespace,)):
        return False
    labels = dict(other.labels)
    for each in term.selector.labels:
        has, value = each.key in labels, labels.get(each.key)
        met = {
            "In": has and value in each.values,
            "NotIn": not has or value not in each.values,
            "Exists": has,
            "DoesNotExist": not has,
        }
        if not met[each.operator]:
            return False
    return True


def together(key: str, one: Labels, other: Labels) -> bool:
    """Whether two machines are in one domain."""
    return key in one and one[key] == other.get(key)


Pods = list[tuple[TaskClass, Labels]]


def allows(content: TaskClass, here: Labels, pods: Pods) -> bool:
    """Whether a pod may be on a machine, beside ``pods`` that are on theirs."""
    for other, there in pods:
        if any(
            selects(term, content, other) and together(term.topology_key, here, there)
            for term in content.anti_affinity
        ):
            return False
        if any(
            selects(term, other, content) and together(term.topology_key, here, there)
            for term in other.anti_affinity
        ):
            return False
    if not content.affinity:
        return True
    if any(term.topology_key not in here for term in content.affinity):
        return False
    liked = [
        (other, there)
        for other, there in pods
        if all(selects(term, content, other) for term in content.affinity)
    ]
    if all(any(together(term.topology_key, here, there) for _, there in liked) for term in content.affinity):
        return True
    lone = not any(
        term.topology_key in there for term in content.affinity for _, there in liked
    )  # nobody is in any domain
    return lone and all(selects(term, content, content) for term in content.affinity)


def rates(content: TaskClass, here: Labels, pods: Pods) -> int:
    """How much a pod would rather be on a machine, beside ``pods``."""
    found = 0
    for other, there in pods:
        for holder, whom, required in ((content, other, False), (other, content, True)):
            weighted = [(term, term.weight) for term in holder.preferred_affinity]
            weighted += [(term, -term.weight) for term in holder.preferred_anti_affinity]
            weighted += [(term, 1) for term in holder.affinity if required]
            found += sum(
                weight
                for term, weight in weighted
                if selects(term, holder, whom) and together(term.topology_key, here, there)
            )
    return found


def rated(rules: RuleSet, cls: int) -> list[int]:
    """What the compiled rules make of each machine for a waiting class."""
    found = np.zeros(len(MACHINES), dtype=np.int64)
    for each in rules.rules(cls).inclinations:
        counter = rules.counters[each.counter]
        found += np.where(counter.domain >= 0, np.append(counter.start, 0)[counter.domain] * each.weight, 0)
    return found.tolist()


@given(classes=st.lists(CLASSES, min_size=1, max_size=8), placed=PLACED, waiting=st.sets(st.integers(0, 7)))
@settings(max_examples=examples(400, slow=True))
def test_terms_put_together_mean_what_they_mean_one_by_one(
    classes: list[TaskClass], placed: list[tuple[int, int]], waiting: set[int]
):
    cluster = Cluster()
    apply_events(cluster, [machine(f"m{at}", labels=labels) for at, labels in enumerate(MACHINES)], 0.0)
    apply_events(cluster, [ClassDefined(at, content) for at, content in enumerate(classes, 1)], 0.0)
    pods: Pods = []
    for at, (number, where) in enumerate(placed):
        cls = number % len(classes)
        pods.append((classes[cls], MACHINES[where]))
        apply_events(cluster, [TasksBound(f"m{where}", cls + 1, (f"pod-{at}",))], 0.0)
    asked = sorted({number % len(classes) for number in waiting} | {0})
    rows = list(dict.fromkeys(cluster.classes.row(number + 1) for number in asked))
    rules = compile_rules(cluster, rows)
    for cls, row in enumerate(rows):
        content = cluster.classes.rows[row].content
        allowed = RuleState(rules).find_allowed(cls)
        expected = [allows(content, here, pods) for here in MACHINES]
        assert (allowed.tolist() if allowed is not None else [True] * len(MACHINES)) == expected
        assert rated(rules, cls) == [rates(content, here, pods) for here in MACHINES]
