"""Defines the constants of the searches; in each dataclass, one field limits the work, and thereby the time.

Unless a value is said to be measured, it is a round number with which the search takes no longer than the rest of the
round.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RelocationTuning:
    """Constants for moving tasks in small rounds so that tasks left over find places, see ``relocation.py``."""

    moves: int = 8_000
    """Most tasks that both searches together place, on a small cluster.

    Measured in rounds with 8 tasks per machine, many of which find no place: with half as many, 0 to 1.7 % fewer
    tasks are placed, with a quarter 0.4 to 2.2 % fewer.
    """
    moves_per_task: int = 40
    """Most tasks that both searches together place, per task of the round."""
    most_tasks: int = 2_000
    """Most tasks of a round that is searched.
    With this number, the search places 2 % more tasks, and takes ten times as long as the rest of the round; with more
    tasks, it would place ever fewer.
    """
    small: int = 500
    """Number of machines of a small cluster; on larger clusters fewer moves are made, as each takes longer."""
    most_in_the_way: int = 6
    """A machine is not tried for a task if more tasks than this number would have to leave it."""
    cheapest: float = 0.5
    """Share of the tasks that are placed where they cost least, instead of on a random machine."""


@dataclass(frozen=True, slots=True)
class ExchangeTuning:
    """Constants for exchanging tasks of different sizes, see ``moves/exchange.py``."""

    turns: int = 12
    """Most turns; in each turn, every machine takes part in at most one exchange, and its tasks in turn."""
    enough: float = 0.03
    """The search ends once two turns in a row save less than this part of what all turns have saved, see ``rest``."""
    rest: float = 0.05
    """The search ends only if these turns also save less than this part of what perfectly level heights save."""
    worth: float = 1e-6
    """An exchange must save at least this part of what a task of mean size adds; rounding errors then do not count."""


@dataclass(frozen=True, slots=True)
class SpreadTuning:
    """Constants of moves for default spread, see ``moves/spread.py`` and ``moves/spread_classes.py``."""

    most_places: int = 160_000
    """Most (class, machine) pairs that are computed to place every class anew as a whole, once or several times.
    10,000 pairs take a millisecond, so this many take half as long as the flow. Of what spread can save, moves of
    single tasks alone miss 0.4 to 7 %.
    """
    sweeps: int = 2
    """Most times that each class is placed anew as a whole."""
    most_classes: int = 48
    """Most classes that are placed anew as a whole; if there are more, single tasks move."""
    turns: int = 6
    """Most turns in which single tasks move."""
    many: int = 2_000
    """With more tasks than this number, a turn takes a millisecond, and the search may end early, see ``few``."""
    few: int = 50
    """With ``many`` tasks, the search ends if at most one in this many tasks is not where it should be."""
    choices: tuple[int, int] = (2, 4)
    """How many places a task considers in a turn: the first number if its domain has more places than arriving tasks.

    In other domains, a task considers the second number of places.
    """
    most_cells: int = 8_000_000
    """Limit on groups times machines for counting each group's tasks in a table, which is fastest to read."""
    places_per_task: float = 0.7
    """Places to choose from per arriving task, in domains with more places: the flow fills machines, too."""
    least_places: int = 64
    """Fewest places of a domain to choose from, if the domain has that many."""
    sampled_shapes: int = 16
    """Number of shapes whose mean cost decides which places are cheap."""


@dataclass(frozen=True, slots=True)
class ApplicationTuning:
    """Constants for pairs of tasks: planning by domain (``placement/pairs/``), then ``moves/application.py``."""

    chunks: int = 16
    """Number of parts into which a round's applications are divided; each part sees the plans of earlier parts."""
    moves: int = 30_000
    """Most tasks that the search places in a small round."""
    small: int = 1_000
    """Number of tasks of a small round; with more tasks, fewer moves are made, as the round itself takes longer."""
    moves_per_task: int = 150
    """Most moves per task of an application that is searched."""
    least_per_task: int = 8
    """Fewest moves per task of an application that is searched."""
    to_begin: int = 40
    """Work of starting with an application, as a number of moves."""
    all_machines: int = 256
    """On clusters of at most this many machines, the search tries all machines.

    On larger clusters, the search tries some machines of each domain, see ``per_domain``.
    """
    per_domain: int = 6
    """On larger clusters, this many of a domain's cheapest machines are tried, and those that the application uses."""


@dataclass(frozen=True, slots=True)
class GroupTuning:
    """Constants for groups over a tree of machines, see ``placement/tree_groups/reorder_groups.py``."""

    tries: int = 24
    """Most distributions of a group that are tried if its tasks turn out to conflict with each other."""
    respected: int = 4
    """Most groups that keep their places when a new group is placed; with more, groups choose in another order."""
    urgent: int = 5
    """Most groups that choose places first."""
    placements: int = 24
    """Most groups that are placed once more in a round, besides those that ``share`` allows."""
    share: int = 8
    """One more group is placed once more for each this many groups of the round."""
