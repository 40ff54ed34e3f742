"""Says how many tasks a domain may have under ``maxSkew`` and ``minDomains`` of a ``DoNotSchedule`` constraint."""

from __future__ import annotations

from cost_models.interface import Int64
from firmament.core.constraints.ruleset import RequiredSpread

NO_MINIMUM = 2**31
"""The minimum over domains if no domain counts: the rule then refuses no task, as in kube-scheduler."""


def find_highest_count(spreading: RequiredSpread, counts: Int64) -> int:
    """Return with how many tasks at most a domain may take one more task.

    ``counts``: int64[D], the tasks in each domain. With one more task, a domain may have at most ``maxSkew`` tasks more
    than the emptiest one; a task that its own constraint does not count adds none.
    """
    return spreading.max_skew - spreading.own + count_in_emptiest_domain(spreading, counts)


def count_in_emptiest_domain(spreading: RequiredSpread, counts: Int64) -> int:
    """Return the fewest tasks in any domain that the spread constraint considers.

    The result is 0 if there are fewer domains than ``minDomains``. ``counts``: int64[D], the tasks in each domain.
    """
    counted = counts[spreading.counted]
    if len(counted) < spreading.min_domains:
        return 0
    return int(counted.min()) if len(counted) else NO_MINIMUM
