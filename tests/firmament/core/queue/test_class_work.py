"""Work of classes that state no rules is counted in one step, and comes to the same as class by class."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.configuration import CoreConfiguration
from firmament.core.events import ClassDefined, TasksSubmitted
from firmament.core.model import TaskClass, TaskSelector, TaskTerm, Toleration
from firmament.core.queue.class_work import TASKS_PER_CHECK, ClassWork, unit_of_gang, units_of_classes
from firmament.core.rules.registry import count_pairing
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.effort import examples

contents = st.builds(
    TaskClass,
    requests=st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), max_size=26, unique=True).map(
        lambda names: tuple((name, 1) for name in sorted(names))
    ),
    node_selector=st.sampled_from([(), (), (("zone", "a"),)]),
    tolerations=st.sampled_from([(), tuple(Toleration(f"key{number}") for number in range(40))]),
    ports=st.just(()),
    anti_affinity=st.sampled_from([(), (), (TaskTerm("zone", TaskSelector()),)]),
)


@settings(max_examples=examples(100))
@given(st.lists(contents, min_size=1, max_size=8), st.integers(0, 8))
def test_work_is_what_each_class_takes_by_itself(kinds, first):
    scheduler = Scheduler(configuration=CoreConfiguration(), solver=OrToolsSolver(), clock=lambda: 0.0)
    rules, cluster = scheduler.rules, scheduler._cluster
    work = ClassWork(cluster, rules, 10_000)
    for number, content in enumerate(kinds[:first], 1):
        scheduler.apply([ClassDefined(number, content)])
    work.estimate_new()
    for number, content in enumerate(kinds[first:], 1 + first):
        scheduler.apply([ClassDefined(number, content)])
    work.estimate_new()
    rows = [row.content for row in cluster.classes.rows]
    assert work.checks.tolist() == [rules.count_checks(each) for each in rows]
    assert work.terms.tolist() == [count_pairing(each) for each in rows]
    plain = [
        not (rules.is_choosy(each) or count_pairing(each)) and rules.count_checks(each) <= 1 for each in rows
    ]
    assert work.find_plain().tolist() == plain


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(-1, 1), st.integers(1, 3)), max_size=20
    )
)
def test_units_of_all_classes_at_once_are_those_of_each_by_itself(waiting):
    scheduler = Scheduler(configuration=CoreConfiguration(), solver=OrToolsSolver(), clock=lambda: 0.0)
    cluster = scheduler._cluster
    scheduler.apply([ClassDefined(number, TaskClass(requests=(("cpu", number),))) for number in range(1, 5)])
    for number, (cls, namespace, priority, _) in enumerate(waiting):
        name = f"n{namespace}/t{number}"
        scheduler.apply([TasksSubmitted(cls + 1, (f"t{number}",), names=(name,), priority=priority)])
    names = ["n0", "n1", "n2"]
    namespace = np.array([each[1] for each in waiting], dtype=np.int64)
    since = np.array([each[3] for each in waiting], dtype=np.int64)
    rows = np.array([cluster.tasks.uid.index(f"t{number}") for number in range(len(waiting))], dtype=np.int64)
    checks, expensive = np.array([5, 90, 7, 120]), np.array([False, True, False, True])
    units = units_of_classes(cluster, rows, (names, namespace), since, checks, expensive)
    found = {(each.namespace, int(cluster.tasks.cls[each.rows[0]])): each for each in units}
    kinds = sorted({(name, int(cluster.tasks.cls[row])) for name, row in zip(namespace, rows, strict=True)})
    assert len(found) == len(units) == len(kinds)
    for name, cls in kinds:
        own = (namespace == name) & (cluster.tasks.cls[rows] == cls)
        unit = found[names[name], cls]
        alone = unit_of_gang(cluster, names[name], rows[own], since[own], checks, expensive, 0)
        assert unit.rows.tolist() == alone.rows.tolist()
        assert unit.per_task == (checks[cls] / TASKS_PER_CHECK if expensive[cls] else 0)
        for field in ("namespace", "checks", "per_task", "put_off", "priority", "first"):
            assert getattr(unit, field) == getattr(alone, field)
