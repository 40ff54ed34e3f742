"""Constants of the searches; in each dataclass a field limits the work, and so the time.

Unless a value is said to be measured, it is a round number with which the search takes no longer than the rest of the
round.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RelocationTuning:
    """Moving tasks in small rounds to make room for tasks left over, see ``relocation.py``."""

    moves: int = 8_000
    """Limit on the tasks placed by both searches, on a small cluster.
    In rounds with 8 tasks per machine, many of which find no room, half as many place 0 to 1.7 % fewer tasks, a quarter
    0.4 to 2.2 % fewer.
    """
    moves_per_task: int = 40
    """The same limit per task of the round."""
    most_tasks: int = 2_000
    """Most tasks of a round that is searched.
    With this number, the search places 2 % more tasks, and takes ten times as long as the rest of the round; with more
    tasks, it would place ever fewer.
    """
    small: int = 500
    """Machines of a small cluster; on larger clusters fewer moves are made, as each takes longer."""
    most_in_the_way: int = 6
    """A machine is not tried for a task if more tasks than this would have to leave it."""
    cheapest: float = 0.5
    """Share of the tasks that are placed where they cost least, instead of anywhere."""


@dataclass(frozen=True, slots=True)
class ExchangeTuning:
    """Exchanging tasks of different sizes, see ``moves/exchange.py``."""

    turns: int = 12
    """Most turns; in each, every machine takes part in at most one exchange, with its tasks in turn."""
    enough: float = 0.03
    """The search ends once two turns in a row have saved less than this part of what all turns have saved ..."""
    rest: float = 0.05
    """... and less than this part of what perfectly level heights would save in addition."""
    worth: float = 1e-6
    """An exchange must save at least this part of what a task of mean size adds, so that rounding errors do not count.
    """


@dataclass(frozen=True, slots=True)
class SpreadTuning:
    """Default spread, see ``moves/spread.py`` and ``moves/spread_classes.py``."""

    most_places: int = 160_000
    """Most (class, machine) pairs of which room is computed to place every class anew as a whole. 10,000 take a
    millisecond, so these take half as long as the flow. It saves the 0.4 to 7 % of what spread can save that moves of
    single tasks leave. Each class is placed anew once, or ..."""
    sweeps: int = 2
    """... this often, if ``most_places`` allows, ..."""
    most_classes: int = 48
    """... and if there are no more classes than this."""
    turns: int = 6
    """Most turns of moves of single tasks."""
    many: int = 2_000
    """With more tasks than this, a turn takes a millisecond ..."""
    few: int = 50
    """... and the search ends if at most one in this many tasks is not where it should be."""
    choices: tuple[int, int] = (2, 4)
    """How many places a task considers in a turn: the first figure if its domain has more places than arriving tasks,
    else the second.
    """
    most_cells: int = 8_000_000
    """Groups times machines up to which the tasks of each group are counted in a table, which is fastest to read."""
    places_per_task: float = 0.7
    """Places per arriving task to choose from, in domains with more places than that: the flow fills machines, too."""
    least_places: int = 64
    """Fewest places of a domain to choose from, if it has that many."""
    sampled_shapes: int = 16
    """Shapes whose mean cost decides which places are cheap."""


@dataclass(frozen=True, slots=True)
class ApplicationTuning:
    """Pairs of tasks: planning by domain (``placement/pairs/``), then whole applications (``moves/application.py``)."""

    chunks: int = 16
    """Number of parts into which a round's applications are divided; each part sees the plans of earlier ones."""
    moves: int = 30_000
    """Most tasks that are placed by the search in a small round."""
    small: int = 1_000
    """Tasks of a small round; with more tasks, fewer moves are made, as the round itself takes longer."""
    moves_per_task: int = 150
    """Most moves per task of a searched application ..."""
    least_per_task: int = 8
    """... and fewest."""
    to_begin: int = 40
    """Work, in moves, of starting with an application."""
    all_machines: int = 256
    """On at most this many machines all are tried; on larger clusters, machines with parts of the application ..."""
    per_domain: int = 6
    """... and this many of the cheapest of each domain."""


@dataclass(frozen=True, slots=True)
class GroupTuning:
    """Groups over a tree of machines, see ``placement/tree_groups/reorder_groups.py``."""

    tries: int = 24
    """How often a group is distributed differently if its tasks turn out to be in each other's way."""
    respected: int = 4
    """Most groups whose places a newcomer has to respect, before they may choose first."""
    urgent: int = 5
    """Most groups that choose first."""
    placements: int = 24
    """Groups that may be placed once more in a round, plus ..."""
    share: int = 8
    """... one in this many of its groups."""
