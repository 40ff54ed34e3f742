"""Work of classes that state no rules is counted in one step, and comes to the same as class by class."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.configuration import CoreConfiguration
from firmament.core.events import ClassDefined
from firmament.core.model import TaskClass, TaskSelector, TaskTerm, Toleration
from firmament.core.queue.class_work import ClassWork
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
    work.bring_up()
    for number, content in enumerate(kinds[first:], 1 + first):
        scheduler.apply([ClassDefined(number, content)])
    work.bring_up()
    rows = [row.content for row in cluster.classes.rows]
    assert work.looks.tolist() == [rules.count_looks(each) for each in rows]
    assert work.terms.tolist() == [count_pairing(each) for each in rows]
    plain = [
        not (rules.is_choosy(each) or count_pairing(each)) and rules.count_looks(each) <= 1 for each in rows
    ]
    assert work.find_plain().tolist() == plain
