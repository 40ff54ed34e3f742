"""Limits the work that one namespace may cause in a round; tasks beyond the limit wait for rounds of their own.

The time that a round takes grows with what pods ask for, which only the size of an object limits. The work of a round
is therefore estimated beforehand, by class (see ``class_work``), and limited:

- If the work of a namespace is within the budget, its tasks are *light*. If the work of a namespace exceeds the
  budget, but the work of its ordinary classes does not, the tasks of the ordinary classes are light. As long as light
  tasks wait, a round has only light tasks.
- All other tasks are *heavy*, and wait for a round of their own. A round of heavy tasks follows each round of light
  tasks, or comes at once if no light task waits. A round of heavy tasks does as much work as two budgets allow, but
  at least one class or gang; half of the work is for expensive classes (those above ``ORDINARY``), if some wait. A
  namespace that is alone in the cluster thus has rounds with two budgets of work.

Light tasks therefore wait for at most one round of heavy tasks, whose work is limited, even if they arrive while it
runs. Nothing starves: namespaces with heavy tasks take turns. Within a namespace, one round of heavy tasks begins
with the most important tasks, the next with the tasks put off longest. Gangs are not split; too large ones are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.queue.class_work import (
    ORDINARY,
    PAIR,
    PLAIN_CHECKS,
    ClassWork,
    Unit,
    count_group_checks,
    estimate_work,
    unit_of_gang,
    units_of_classes,
)
from firmament.core.queue.gang_size_limits import explain_too_large
from firmament.core.queue.namespace_turns import Turns, is_one_namespace, number_namespaces
from firmament.core.rules.registry import NodeRules
from firmament.core.rules.tree_groups.compilation import list_groups
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase
from firmament.core.state.waiting import note_put_off, set_message

PUT_OFF = "put off to a round of its own: its namespace asks for so much that others would have to wait"
"""Message for a task that a round left out because of the budget, and that no round has tried before."""

ALONE = 2
"""How many budgets a round may use if it has only heavy tasks, or if only one namespace has waiting tasks."""


class Budgets:
    """Chooses the tasks of a round if all of them together would be too much work.

    ``put_off``: how many tasks the last round left out because of the budget; they wait for a round of their own.
    """

    def __init__(self, cluster: Cluster, rules: NodeRules, budget: int, class_checks: int) -> None:
        """``rules``: the rules about machines. ``budget``, ``class_checks``: as in ``RoundOptions``."""
        self._cluster = cluster
        self._budget = budget
        self._work = ClassWork(cluster, rules, class_checks)
        self._turns, self._ordinary_turns = Turns(), Turns()
        self._checks = np.empty(0, dtype=np.int64)
        """By class row: how many checks of all machines the class takes, given the other waiting classes."""
        self._expensive = np.empty(0, dtype=np.bool_)
        self._names: list[str] = []
        self._namespace = np.empty(0, dtype=np.int64)
        """By task row: the namespace of each task that waits in this round, as an index of ``_names``."""
        self._ruled: frozenset[str] = frozenset()
        """Gangs that are distributed over a tree of machines."""
        self._rounds = self._own_rounds = 0
        self._own_round_is_due = self._waited = False
        self.put_off = 0
        self.limited = False
        """Whether the last round left out tasks, or owes heavy tasks a round; if not, a task that waits alone takes
        part in the next round, without a call of ``choose``."""
        self.too_large: dict[str, str] = {}
        """Gangs that are too large for any round, and why; the code that holds such gangs back empties the mapping."""

    def forget_classes(self) -> None:
        """Forget all estimates, because classes have other rows now."""
        self._work.forget()

    def choose(self, waiting: Int64) -> Int64:
        """Return those of the tasks ``waiting`` (rows) that take part in the round; at least one if any waits."""
        self.put_off = 0
        if len(waiting) == 1 and not self._waited and not self._cluster.jobs.gangs:
            self._own_round_is_due = self.limited = False
            return waiting
        tasks, work = self._cluster.tasks, self._work
        work.estimate_new()
        counts = np.bincount(tasks.cls[waiting], minlength=len(work.checks))
        ordinary, expensive = self._at_most(counts)
        ruled = self._find_ruled(waiting)
        expensive += len({tasks.job[row] for row in waiting[ruled].tolist()}) * self._of_a_group
        least = max(expensive, -(-(ordinary + expensive) // ALONE))
        if ordinary + expensive <= self._most or (
            least <= self._most and is_one_namespace(self._cluster, waiting)
        ):
            self._own_round_is_due = self.limited = False
            if self._waited:
                note_put_off(self._cluster, waiting, 0)
                self._waited = False
            return self._refuse_gangs(waiting, counts)
        self._rounds += 1
        self._estimate(counts)
        heavy = self._heavy(waiting, ruled)
        chosen = self._choose(waiting, heavy, ruled)
        self.put_off = int(np.count_nonzero(heavy & ~chosen))
        new = tasks.put_off[waiting] == 0
        unreported = (row for row in waiting[new & heavy & ~chosen].tolist() if not tasks.message[row])
        set_message(self._cluster, unreported, PUT_OFF)
        note_put_off(self._cluster, waiting[new], self._rounds)
        note_put_off(self._cluster, waiting[chosen], 0)
        self._waited = not chosen.all()
        self.limited = self._waited or self._own_round_is_due
        return waiting[chosen] if self._waited else waiting

    def _estimate(self, counts: Int64) -> None:
        """Estimate the work of all classes for a round with ``counts`` tasks of each (int64[C])."""
        rules = self._together(counts > 0)
        self._expensive = rules > ORDINARY
        self._checks = rules + self._list_extra()

    def _refuse_gangs(self, waiting: Int64, counts: Int64) -> Int64:
        """Return the tasks of a round in which all take part, without gangs that are too large for any round.

        A gang that is too large is refused even if it waits alone: other tasks may come later. ``counts``: int64[C],
        tasks by class.
        """
        gangs, tasks = self._cluster.jobs.gangs, self._cluster.tasks
        if not gangs or int((self._work.checks + self._list_extra())[counts > 0].sum()) <= self._most:
            return waiting
        self._estimate(counts)
        self._note_namespaces(waiting)
        members = np.array([tasks.job[row] in gangs for row in waiting.tolist()], dtype=np.bool_)
        refused = [unit.rows for unit in self._group_into_units(waiting[members]) if self._refuse(unit)]
        return waiting[~np.isin(waiting, np.concatenate(refused))] if refused else waiting

    def _choose(self, waiting: Int64, heavy: Bool, ruled: Bool) -> Bool:
        """Return which tasks take part in a round if all together would be too much work: bool[N]."""
        light = not heavy.all()
        if not heavy.any() or (light and not self._own_round_is_due):
            self._own_round_is_due = bool(heavy.any())
            return ~heavy
        self._own_round_is_due = False
        self._own_rounds += 1
        return heavy & self._affordable(waiting, heavy, ruled)

    def _at_most(self, counts: Int64) -> tuple[int, int]:
        """Return upper bounds on the checks that ``counts`` tasks of each class take if all terms select all classes.

        The first bound is for ordinary classes; the second, for classes that are or may become expensive.
        """
        work, present = self._work, counts > 0
        machines = max(1, len(self._cluster.machines))
        pairs = int(work.terms[present].sum()) * int(np.count_nonzero(present)) * PAIR
        dear, plain = work.checks > ORDINARY, work.find_plain()
        found = estimate_work(work.checks + self._list_extra(), counts, dear)
        ordinary = int(found[~dear & ~plain].sum())
        alike = int(found[plain].sum())
        if not self._waited:
            # Many plain classes take less than one check of each machine per class, so they are counted together.
            alike = min(alike, int(np.count_nonzero(plain & present)) * PLAIN_CHECKS // machines)
        return ordinary + alike, int(found[dear].sum()) + pairs // machines

    def _list_extra(self) -> Int64:
        return self._work.list_extra(len(self._cluster.machines))

    def _together(self, present: Bool) -> Int64:
        """Return the checks for each of the ``present`` classes (bool[C]) if all of them are in the round: int64[C]."""
        work = self._work
        found = work.checks.copy()
        for row in np.flatnonzero(present & (work.terms > 0) & (work.checks <= ORDINARY)).tolist():
            found[row] += work.count_among(row, present)
        return found

    def find_costly(self, rows: Int64) -> Bool:
        """Return which tasks (rows) are too expensive to check whenever something changes: bool[N].

        Two kinds of tasks are too expensive: all tasks of expensive classes, if these classes are too many together;
        and tasks of ordinary classes, if their namespace has too many of these classes.
        """
        cls = self._cluster.tasks.cls[rows]
        self._work.estimate_new()
        present = np.zeros(len(self._work.checks), dtype=np.bool_)
        present[cls] = True
        checks = self._together(present)
        dear, cost = checks > ORDINARY, checks + self._list_extra()
        found = np.zeros(len(rows), dtype=np.bool_)
        if int(checks[present & dear].sum()) > self._most:
            found |= dear[cls]
        if int(cost[present & ~dear].sum()) > self._most:
            names, namespace = number_namespaces(self._cluster, rows)
            of, kinds = np.divmod(np.unique(self._pair(namespace, rows)), len(checks))
            sums = np.bincount(of, weights=cost[kinds] * ~dear[kinds], minlength=len(names))
            found |= ~dear[cls] & (sums > self._most)[namespace]
        return found

    @property
    def _most(self) -> int:
        """The budget, expressed as a number of checks of all machines."""
        return max(1, self._budget // max(1, len(self._cluster.machines)))

    # --- namespaces with too much work ----------------------------------------------------------------------------

    def _find_ruled(self, waiting: Int64) -> Bool:
        """Return which tasks are of groups distributed over a tree of machines, bool[N], and remember these groups."""
        self._ruled = list_groups(self._cluster) if self._cluster.jobs.gangs else frozenset()
        if not self._ruled:
            return np.zeros(len(waiting), dtype=np.bool_)
        jobs = self._cluster.tasks.job
        return np.array([jobs[row] in self._ruled for row in waiting.tolist()], dtype=np.bool_)

    @property
    def _of_a_group(self) -> int:
        """How many checks of each machine a group over a tree takes, whatever its tasks request."""
        return count_group_checks(len(self._cluster.machines))

    def _heavy(self, waiting: Int64, ruled: Bool) -> Bool:
        """Return which tasks wait for a round of their own because their namespace causes too much work: bool[N].

        ``ruled``: bool[N], the tasks of groups over a tree. Each group over a tree counts as one expensive unit.
        """
        tasks, jobs = self._cluster.tasks, self._cluster.jobs
        names, namespace = self._note_namespaces(waiting)
        pairs, of_pair, counts = np.unique(
            self._pair(namespace, waiting), return_inverse=True, return_counts=True
        )
        of, cls = np.divmod(pairs, len(self._checks))
        expensive = self._expensive[cls]
        work = estimate_work(self._checks[cls], counts, expensive)
        ordinary = np.bincount(of, weights=work * ~expensive, minlength=len(names))[of]
        total = np.bincount(of, weights=work, minlength=len(names))
        if ruled.any():
            groups = {
                (tasks.job[row], name)
                for row, name in zip(waiting[ruled].tolist(), namespace[ruled].tolist(), strict=True)
            }
            total += np.bincount([name for _, name in groups], minlength=len(names)) * self._of_a_group
        is_dear = expensive[of_pair] | ruled
        heavy: Bool = np.where(is_dear, total[namespace], ordinary[of_pair]) > self._most
        heavy &= tasks.state[waiting] == TaskPhase.PENDING
        if jobs.gangs and heavy.any():
            self._keep_gangs_whole(waiting, heavy)
        return heavy

    def _keep_gangs_whole(self, waiting: Int64, heavy: Bool) -> None:
        """Treat a gang as heavy if one of its tasks is heavy, unless some of its tasks cannot be put off."""
        tasks, gangs = self._cluster.tasks, self._cluster.jobs.gangs
        jobs = [tasks.job[row] for row in waiting.tolist()]
        held = {job for job, each in zip(jobs, heavy.tolist(), strict=True) if each} & gangs
        placed = tasks.state[waiting] != TaskPhase.PENDING
        held -= {job for job, each in zip(jobs, placed.tolist(), strict=True) if each}
        for index, job in enumerate(jobs):
            if job in gangs:
                heavy[index] = job in held

    def _pair(self, namespace: Int64, rows: Int64) -> Int64:
        """Return one number for the namespace and class of each task (rows); this is several times as fast as pairs."""
        return namespace * len(self._work.checks) + self._cluster.tasks.cls[rows]

    def _note_namespaces(self, waiting: Int64) -> tuple[list[str], Int64]:
        """Return the result of ``number_namespaces``; later calls in the same round get the stored result."""
        self._names, namespace = number_namespaces(self._cluster, waiting)
        least = int(waiting.max(initial=0)) + 1
        if len(self._namespace) < least:
            self._namespace = np.zeros(2 * least, dtype=np.int64)
        self._namespace[waiting] = namespace
        return self._names, namespace

    # --- a round of heavy tasks -----------------------------------------------------------------------------------

    def _affordable(self, waiting: Int64, heavy: Bool, ruled: Bool) -> Bool:
        """Return the heavy tasks that take part in a round of heavy tasks: bool[N]."""
        tasks, gangs = self._cluster.tasks, self._cluster.jobs.gangs
        ordinary: Bool = heavy & ~self._expensive[tasks.cls[waiting]] & ~ruled
        if gangs:  # A gang is not split: if some member is expensive, all members count as expensive.
            dear = {tasks.job[row] for row in waiting[heavy & ~ordinary].tolist()} & gangs
            ordinary &= np.array([tasks.job[row] not in dear for row in waiting.tolist()], dtype=np.bool_)
        expensive = heavy & ~ordinary
        most = ALONE * self._most
        rows, left = self._take_ordinary(waiting[ordinary], self._most if expensive.any() else most)
        taken = [rows, *self._take_expensive(waiting[expensive], rows, min(self._most, left))]
        return np.isin(waiting, np.concatenate(taken))

    def _take_ordinary(self, rows: Int64, most: int) -> tuple[Int64, int]:
        """Return the ordinary tasks (rows) for which ``most`` checks suffice, and the checks that two budgets leave.

        The second of the returned numbers does not depend on ``most``.
        """
        tasks = self._cluster.tasks
        in_all = ALONE * self._most
        work = int(self._checks[np.unique(tasks.cls[rows])].sum())
        if work <= most:
            return rows, in_all - work
        taken, used = [rows[:0]], 0
        for unit in self._in_turn(self._group_into_units(rows), self._ordinary_turns):
            if self._refuse(unit):
                continue
            if used and used + unit.checks > most:
                break
            taken.append(unit.rows)
            used += unit.checks
            self._ordinary_turns.serve(unit.namespace)
        return np.concatenate(taken), in_all - used

    def _take_expensive(self, rows: Int64, ordinary: Int64, most: int) -> list[Int64]:
        """Return tasks (rows), at least one, for which ``most`` checks suffice if the ``ordinary`` tasks take part."""
        tasks = self._cluster.tasks
        present = np.zeros(len(self._checks), dtype=np.bool_)
        present[tasks.cls[ordinary]] = True
        taken: list[Int64] = []
        left = most
        for unit in self._in_turn(self._group_into_units(rows), self._turns):
            if self._refuse(unit):
                continue
            classes = np.unique(tasks.cls[unit.rows])
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
        return taken

    def _refuse(self, unit: Unit) -> bool:
        """Return whether a unit is a gang that is too large for any round; if so, remember why."""
        if not unit.whole or unit.checks <= self._most:
            return False
        why = explain_too_large(self._work, np.unique(self._cluster.tasks.cls[unit.rows]))
        if not why:
            return False
        self.too_large[self._cluster.tasks.job[int(unit.rows[0])]] = why
        return True

    def _group_into_units(self, rows: Int64) -> list[Unit]:
        """Group tasks (rows) into units that are tried together."""
        tasks, gangs = self._cluster.tasks, self._cluster.jobs.gangs
        namespace = self._namespace[rows]
        since = np.where(tasks.put_off[rows], tasks.put_off[rows], self._rounds)
        checks = self._checks, self._expensive
        units: list[Unit] = []
        if gangs:
            alone = np.array([tasks.job[row] not in gangs for row in rows.tolist()], dtype=np.bool_)
            members: dict[tuple[int, str], list[int]] = {}
            for place in np.flatnonzero(~alone).tolist():
                members.setdefault((int(namespace[place]), tasks.job[int(rows[place])]), []).append(place)
            for (name, job), places in members.items():
                ruled = self._of_a_group if job in self._ruled else 0
                gang = self._cluster, self._names[name], rows[places], since[places]
                units.append(unit_of_gang(*gang, *checks, ruled))
            rows, namespace, since = rows[alone], namespace[alone], since[alone]
        return units + units_of_classes(self._cluster, rows, (self._names, namespace), since, *checks)

    def _in_turn(self, units: Sequence[Unit], turns: Turns) -> Iterator[Unit]:
        """Yield the units of each namespace in order, so that namespaces take turns."""
        by_namespace: dict[str, list[Unit]] = {}
        for unit in units:
            by_namespace.setdefault(unit.namespace, []).append(unit)
        important_first = self._own_rounds % 2 == 1

        def place(unit: Unit) -> tuple[int, int, int]:
            by = (-unit.priority, unit.put_off) if important_first else (unit.put_off, -unit.priority)
            return (*by, unit.first)

        queues = [
            sorted(by_namespace[name], key=place)
            for name in sorted(by_namespace, key=lambda name: (turns.get_last_turn(name), name))
        ]
        for number in range(max(map(len, queues), default=0)):
            for queue in queues:
                if number < len(queue):
                    yield queue[number]
