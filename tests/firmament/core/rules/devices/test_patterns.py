"""Patterns of ``matches`` mean what RE2's do."""

from __future__ import annotations

import re
from itertools import product

import pytest

from firmament.core.rules.devices.cel.patterns import Pattern, PatternError

TEXTS = ["", *("".join(each) for length in (1, 2, 3) for each in product("abcdB-", repeat=length))]
PATTERNS = [
    "[b-c]",
    "^[a-c]$",
    "^[^b-c]+$",
    "^[a-bd]*$",
    "^[a-]$",
    "a{2}",
    "^a{1,2}b?$",
    "^(a|bc)+$",
    "^a.?c$",
    "(?i)^b$",
    "(?i)^[a-b]+$",
    "a$",
    "^$",
    "b*?c",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_finds_what_it_finds_for_python_where_both_have_one_meaning(pattern):
    ours, theirs = Pattern(pattern), re.compile(pattern)
    for text in TEXTS:
        assert ours.searches(text) == bool(theirs.search(text)), text


@pytest.mark.parametrize("most", ["{1000}", "{1,1000}", "{1000,}"])
def test_a_thousand_repetitions_are_the_most(most):
    assert Pattern(f"a{most}").searches("a" * 1000)
    with pytest.raises(PatternError, match="so many repetitions are not supported"):
        Pattern(f"a{most.replace('1000', '1001')}")
