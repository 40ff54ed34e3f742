"""Budgets of work per namespace and round: tasks beyond it wait for rounds of their own.

The time of a round grows with what pods ask for, and nothing but the bytes of an object bounds that. So the work of a
round is estimated beforehand, by class, from what its tasks say, and so much is done of it at a time:

- Tasks of namespaces whose work is within the budget are *light*. So are the ordinary classes of the others, if these
  are within the budget by themselves. While some of them wait, a round is about them alone.
- All else is *heavy*, and waits for a round of its own: one follows each round of light tasks, or comes at once where
  no light task waits. It takes all ordinary classes, and of the expensive ones (``ORDINARY``) as much as the budget
  allows, at least one class or gang. So a namespace that is alone in the cluster meets the budget only with expensive
  classes.

So light tasks wait for one such round at most, whose work is bounded. Nothing starves: heavy namespaces take turns, and
of what a namespace asks for, the most important goes first in one round and what has been put off longest in the next.
Gangs are not split.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.queue.turns import Turns
from firmament.core.rules.registry import NodeRules, count_pairing
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase
from firmament.core.state.waiting import note_put_off, tell

PUT_OFF = "put off to a round of its own: its namespace asks for so much that others would have to wait"
"""What a task is told that has been put off and not been tried before."""

ORDINARY = 64
"""Looks at each machine up to which a class is an ordinary one. Ten rules of any kind are fewer."""

PAIR = 1_000
"""Looks at a machine for each class that waits beside one which has a term that selects it."""

_SAMPLE = 4
"""Terms of a class that are held against the others to see how many it selects; all are taken to be like these."""

MOST_TERMS_OF_A_GANG = 2_000
"""Terms of pod affinity and anti-affinity that the kinds of a gang's members may have together: it is not split, so the
round that places it takes as long as all of them do."""

TASKS_PER_LOOK = 8
"""So many more tasks of an expensive class are as much work as the class by itself: they are placed one by one."""


class _ClassWork:
    """What the classes of a cluster are expected to take, in looks at all machines.

    ``looks``: int64[C] by class row, each class by itself; ``terms``: int64[C], its terms about other tasks.
    """

    def __init__(self, cluster: Cluster, rules: NodeRules) -> None:
        self._cluster, self._rules = cluster, rules
        self.looks = self.terms = np.empty(0, dtype=np.int64)

    def bring_up(self) -> None:
        """Look at the classes that have been defined since."""
        rows, known = self._cluster.classes.rows, len(self.looks)
        if known < len(rows):
            new = [row.content for row in rows[known:]]
            self.looks = np.append(
                self.looks, np.array(list(map(self._rules.count_looks, new)), dtype=np.int64)
            )
            terms = np.array(list(map(count_pairing, new)), dtype=np.int64)
            self.terms = np.append(self.terms, terms)

    def forget(self) -> None:
        """Forget everything, as rows stand for other classes now."""
        self.looks = self.terms = self.looks[:0]

    def count_among(self, row: int, present: Bool) -> int:
        """Return the looks at all machines that a class takes as it selects some of ``present`` (bool[C])."""
        if not self.terms[row]:
            return 0
        selector = self._cluster.selector()
        held = selector.list_terms(row)
        some = held[:_SAMPLE]
        found = sum(int(np.count_nonzero(present[selector.find_selected(term)])) for term in some)
        return found * len(held) * PAIR // (len(some) * max(1, len(self._cluster.machines)))


@dataclass(frozen=True, slots=True)
class _Unit:
    """What is tried at once: tasks of one class, or of a gang."""

    namespace: str
    """Namespace of the tasks."""
    rows: Int64
    """Rows of the tasks."""
    looks: int
    """Looks at all machines for the class or gang itself."""
    per_task: float
    """Looks at all machines for each task."""
    since: int
    """Number of the round that first put off one of them."""
    priority: int
    """Priority of the tasks."""
    first: int
    """The first row."""
    whole: bool
    """Whether all must be tried together."""

    def work(self, count: int) -> int:
        """Return the looks for so many of the tasks, at least one."""
        return self.looks + int((count - 1) * self.per_task)

    def affordable(self, most: int) -> int:
        """Return how many of the tasks may be tried with so many looks; of a gang all or none."""
        count = len(self.rows)
        if self.work(count) <= most:
            return count
        if self.whole or self.looks > most:
            return 0
        return 1 + int((most - self.looks) / self.per_task)


class Budgets:
    """Chooses the tasks of a round that would otherwise be too much work.

    ``put_off``: how many tasks the last round left out; they wait for a round of their own.
    """

    def __init__(self, cluster: Cluster, rules: NodeRules, budget: int) -> None:
        """``rules``: those about machines; ``budget``: ``RoundOptions.namespace_looks``."""
        self._cluster = cluster
        self._budget = budget
        self._work = _ClassWork(cluster, rules)
        self._turns = Turns()
        self._looks = np.empty(0, dtype=np.int64)
        self._expensive = np.empty(0, dtype=np.bool_)
        self._rounds = self._own_rounds = 0
        self._own_round_is_due = self._waited = False
        self.put_off = 0
        self.too_large: dict[str, int] = {}
        """Gangs that no round can take, with the number of their terms; whoever holds them back clears it."""

    def forget_classes(self) -> None:
        """Forget everything, as classes have other rows now."""
        self._work.forget()

    def choose(self, waiting: Int64) -> Int64:
        """Return those of ``waiting`` (task rows) that take part in the round that begins; at least one, if any."""
        self.put_off = 0
        tasks, work = self._cluster.tasks, self._work
        work.bring_up()
        counts = np.bincount(tasks.cls[waiting], minlength=len(work.looks))
        if self._at_most(counts) <= self._most:
            self._own_round_is_due = False
            if self._waited:
                note_put_off(self._cluster, waiting, 0)
                self._waited = False
            return waiting
        self._rounds += 1
        self._looks = self._together(counts > 0)
        self._expensive = self._looks > ORDINARY
        heavy = self._heavy(waiting)
        chosen = self._choose(waiting, heavy)
        self.put_off = int(np.count_nonzero(heavy & ~chosen))
        new = tasks.put_off[waiting] == 0
        untold = (row for row in waiting[new & heavy & ~chosen].tolist() if not tasks.message[row])
        tell(self._cluster, untold, PUT_OFF)
        note_put_off(self._cluster, waiting[new], self._rounds)
        note_put_off(self._cluster, waiting[chosen], 0)
        self._waited = not chosen.all()
        return waiting[chosen] if self._waited else waiting

    def _choose(self, waiting: Int64, heavy: Bool) -> Bool:
        """Return bool[N]: who takes part in a round of which all together would be too much."""
        light = not heavy.all()
        if not heavy.any() or (light and not self._own_round_is_due):
            self._own_round_is_due = bool(heavy.any())
            return ~heavy
        self._own_round_is_due = False
        self._own_rounds += 1
        return heavy & self._affordable(waiting, heavy)

    def _at_most(self, counts: Int64) -> int:
        """Return a bound on the looks for so many tasks of each class, if every term selects every class."""
        work, present = self._work, counts > 0
        pairs = int(work.terms[present].sum()) * int(np.count_nonzero(present)) * PAIR
        return int(_work(work.looks, counts).sum()) + pairs // max(1, len(self._cluster.machines))

    def _together(self, present: Bool) -> Int64:
        """Return int64[C]: the looks for each of the classes that are present (bool[C]), beside the others."""
        work = self._work
        found = work.looks.copy()
        for row in np.flatnonzero(present & (work.terms > 0) & (work.looks <= ORDINARY)).tolist():
            found[row] += work.count_among(row, present)
        return found

    def too_many(self, classes: Int64) -> Int64:
        """Return the expensive ones of ``classes`` (rows) if they are too many to be looked at together; else none."""
        self._work.bring_up()
        present = np.zeros(len(self._work.looks), dtype=np.bool_)
        present[classes] = True
        looks = self._together(present)[classes]
        expensive = looks > ORDINARY
        return classes[expensive] if int(looks[expensive].sum()) > self._most else classes[:0]

    @property
    def _most(self) -> int:
        """The budget in looks at all machines."""
        return max(1, self._budget // max(1, len(self._cluster.machines)))

    # --- who is heavy ---------------------------------------------------------------------------------------------

    def _heavy(self, waiting: Int64) -> Bool:
        """Return bool[N]: who waits for a round of its own, as its namespace asks for too much."""
        tasks, jobs = self._cluster.tasks, self._cluster.jobs
        names, namespace = self._namespaces(waiting)
        pairs, of_pair, counts = np.unique(
            np.stack([namespace, tasks.cls[waiting]]), axis=1, return_inverse=True, return_counts=True
        )
        of, expensive = pairs[0], self._expensive[pairs[1]]
        work = _work(self._looks[pairs[1]], counts)
        ordinary = np.bincount(of, weights=work * ~expensive, minlength=len(names))[of]
        total = np.bincount(of, weights=work, minlength=len(names))[of]
        heavy: Bool = np.where(expensive, total, ordinary)[of_pair] > self._most
        heavy &= tasks.state[waiting] == TaskPhase.PENDING
        if jobs.gangs and heavy.any():
            self._keep_gangs_whole(waiting, heavy)
        return heavy

    def _keep_gangs_whole(self, waiting: Int64, heavy: Bool) -> None:
        """Treat a gang as heavy if one of its tasks is, unless some of its tasks cannot be put off."""
        tasks, gangs = self._cluster.tasks, self._cluster.jobs.gangs
        jobs = [tasks.job[row] for row in waiting.tolist()]
        held = {job for job, each in zip(jobs, heavy.tolist(), strict=True) if each} & gangs
        placed = tasks.state[waiting] != TaskPhase.PENDING
        held -= {job for job, each in zip(jobs, placed.tolist(), strict=True) if each}
        for index, job in enumerate(jobs):
            if job in gangs:
                heavy[index] = job in held

    def _namespaces(self, waiting: Int64) -> tuple[list[str], Int64]:
        """Return names of the namespaces of tasks, and int64[N]: the index of each one's."""
        tasks, rows = self._cluster.tasks, self._cluster.classes.rows
        index: dict[str, int] = {}
        found = [
            index.setdefault(
                tasks.name[row].partition("/")[0] if "/" in tasks.name[row] else rows[cls].content.namespace,
                len(index),
            )
            for row, cls in zip(waiting.tolist(), tasks.cls[waiting].tolist(), strict=True)
        ]
        return list(index), np.array(found, dtype=np.int64)

    # --- a round of its own ---------------------------------------------------------------------------------------

    def _affordable(self, waiting: Int64, heavy: Bool) -> Bool:
        """Return bool[N]: of the heavy those who take part in a round of their own; others may be among them."""
        tasks, gangs = self._cluster.tasks, self._cluster.jobs.gangs
        chosen: Bool = ~self._expensive[tasks.cls[waiting]]
        if gangs:  # as a whole
            dear = {tasks.job[row] for row in waiting[heavy & ~chosen].tolist()} & gangs
            chosen &= np.array([tasks.job[row] not in dear for row in waiting.tolist()], dtype=np.bool_)
        present = np.zeros(len(self._looks), dtype=np.bool_)
        present[tasks.cls[waiting[heavy & chosen]]] = True
        taken: list[Int64] = []
        left = self._most
        for unit in self._in_turn(self._units(waiting[heavy & ~chosen])):
            classes = np.unique(tasks.cls[unit.rows])
            if unit.whole and (terms := int(self._work.terms[classes].sum())) > MOST_TERMS_OF_A_GANG:
                self.too_large[tasks.job[int(unit.rows[0])]] = terms
                continue
            present[classes] = True
            left -= 2 * sum(self._work.count_among(row, present) for row in classes.tolist())
            count = unit.affordable(left)
            if not count and not taken:
                count = len(unit.rows) if unit.whole else 1
            if not count:
                break
            taken.append(unit.rows[:count])
            left -= unit.work(count)
            self._turns.serve(unit.namespace)
        return chosen | np.isin(waiting, np.concatenate(taken)) if taken else chosen

    def _units(self, rows: Int64) -> list[_Unit]:
        """Put tasks (rows) together to what is tried at once."""
        tasks, gangs = self._cluster.tasks, self._cluster.jobs.gangs
        names, namespace = self._namespaces(rows)
        found: dict[tuple[int, str, int], list[int]] = {}
        for row, name, cls in zip(rows.tolist(), namespace.tolist(), tasks.cls[rows].tolist(), strict=True):
            job = tasks.job[row] if tasks.job[row] in gangs else ""
            found.setdefault((name, job, -1 if job else cls), []).append(row)
        return [
            self._unit(names[name], np.array(members), whole=bool(job))
            for (name, job, _), members in found.items()
        ]

    def _unit(self, namespace: str, rows: Int64, *, whole: bool) -> _Unit:
        tasks = self._cluster.tasks
        since = np.where(tasks.put_off[rows], tasks.put_off[rows], self._rounds)
        order = np.lexsort((tasks.sequence[rows], since))
        looks = self._work.looks[np.unique(tasks.cls[rows])]
        return _Unit(
            namespace=namespace,
            rows=rows[order],
            looks=int(looks.sum()),
            per_task=float(looks.mean()) / TASKS_PER_LOOK,
            since=int(since.min()),
            priority=int(tasks.priority[rows].max()),
            first=int(tasks.sequence[rows].min()),
            whole=whole,
        )

    def _in_turn(self, units: Sequence[_Unit]) -> Iterator[_Unit]:
        """Yield units, those of each namespace in order, and one namespace after the other."""
        by_namespace: dict[str, list[_Unit]] = {}
        for unit in units:
            by_namespace.setdefault(unit.namespace, []).append(unit)
        important_first = self._own_rounds % 2 == 1

        def place(unit: _Unit) -> tuple[int, int, int]:
            by = (-unit.priority, unit.since) if important_first else (unit.since, -unit.priority)
            return (*by, unit.first)

        queues = [
            sorted(by_namespace[name], key=place)
            for name in sorted(by_namespace, key=lambda name: (self._turns.get_last_turn(name), name))
        ]
        for number in range(max(map(len, queues), default=0)):
            for queue in queues:
                if number < len(queue):
                    yield queue[number]


def _work(looks: Int64, counts: Int64) -> Int64:
    """Return int64[C]: looks for so many tasks of each class."""
    again = np.where(looks > ORDINARY, counts // TASKS_PER_LOOK, 0)
    work: Int64 = np.where(counts > 0, looks * (1 + again), 0)
    return work
