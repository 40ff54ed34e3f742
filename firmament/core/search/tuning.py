"""The tuning of the searches: one field of each bounds its work, and so its time.

Where values are not said to be measured they are round numbers at which the search takes no longer than the rest of the
round.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RelocationTuning:
    """Placing tasks of small rounds elsewhere for those left over, see ``relocation.py``."""

    moves: int = 8_000
    """Tasks that both searches put down at most, on a small cluster. In rounds with 8 tasks per machine, many of which
    find no room, half as many place 0 to 1.7 % of the tasks less, a quarter 0.4 to 2.2 %."""
    moves_per_task: int = 40
    """The same for each task of the round."""
    most_tasks: int = 2_000
    """Most tasks of a round that is searched. With so many tasks the search finds places for 2 % more, and takes ten
    times as long as the rest of the round; with more tasks it would find ever less."""
    small: int = 500
    """Machines of a small cluster; on larger ones fewer moves are made, as each takes longer."""
    most_in_the_way: int = 6
    """A machine is not tried for a task if more tasks than this would have to go for it."""
    cheapest: float = 0.5
    """Share of the tasks that are put where they cost least, instead of anywhere."""


@dataclass(frozen=True, slots=True)
class ExchangeTuning:
    """Exchanging tasks of different sizes, see ``moves/exchange.py``."""

    turns: int = 12
    """Most turns; in each, every machine takes part in at most one exchange, with one of its tasks after the other."""
    enough: float = 0.03
    """No further turn is worth it once two in a row have saved less than this part of what all have ..."""
    rest: float = 0.05
    """... and less than this part of what perfectly level heights would save beyond."""
    worth: float = 1e-6
    """An exchange has to save this part of what a task of mean size adds: more than rounding does."""


@dataclass(frozen=True, slots=True)
class SpreadTuning:
    """Default spread, see ``moves/spread.py`` and ``moves/spread_classes.py``."""

    most_places: int = 160_000
    """Pairs of a class and a machine for which room is looked at, to place every class anew as a whole. 10,000 take a
    millisecond, so these take half as long as the flow; it saves the 0.4 to 7 % of what spread can save that moves of
    single tasks leave. Each class is placed anew once, or ..."""
    sweeps: int = 2
    """... so often, if the pairs do for that ..."""
    most_classes: int = 48
    """... and there are no more classes than these."""
    turns: int = 6
    """Turns of moves of single tasks at most."""
    many: int = 2_000
    """With more tasks than this a turn takes a millisecond ..."""
    few: int = 50
    """... and ends the search if all but one in so many are where they want to be."""
    choices: tuple[int, int] = (2, 4)
    """Places that a task looks at in a turn: first if there are more places than tasks that come to a domain, then
    otherwise."""
    most_cells: int = 8_000_000
    """Groups times machines up to which the tasks of each group are counted in a table, with the quickest look-up."""
    places_per_task: float = 0.7
    """Where there are more places than tasks that come, these choose among so many: the flow fills machines, too."""
    least_places: int = 64
    """Places of a domain that tasks choose among at least, if there are so many."""
    sampled_shapes: int = 16
    """Shapes whose mean cost says which places cost little."""


@dataclass(frozen=True, slots=True)
class ApplicationTuning:
    """Pairs of tasks: planning by domain (``placement/pairs/``), then whole applications (``moves/application.py``)."""

    chunks: int = 16
    """Into so many parts the applications of a round are divided; each sees what those before it plan."""
    moves: int = 30_000
    """Tasks that are put down at most in a small round."""
    small: int = 1_000
    """Tasks of a small round; the more there are, the fewer moves are made, since the round itself takes longer."""
    moves_per_task: int = 150
    """Moves at most for each task of an application that is searched at all ..."""
    least_per_task: int = 8
    """... and at least."""
    to_begin: int = 40
    """What it takes to begin with an application, in moves."""
    all_machines: int = 256
    """Up to so many machines all of them are tried; on larger clusters those that hold parts of the application ..."""
    per_domain: int = 6
    """... and so many of the cheapest of each domain."""


@dataclass(frozen=True, slots=True)
class GroupTuning:
    """Groups over a tree of machines, see ``placement/tree_groups/reorder_groups.py``."""

    tries: int = 24
    """Ways to share a group out that are tried at most where tasks turn out to be in each other's way."""
    respected: int = 4
    """Groups whose places a newcomer has to respect at most, before they are asked to choose first."""
    urgent: int = 5
    """Groups that choose first at most."""
    placements: int = 24
    """Groups that are placed once more at most in a round, beside ..."""
    share: int = 8
    """... one in so many of its groups."""
