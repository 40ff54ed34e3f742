"""Whatever is in a configuration file: both programs use it, or refuse it with a line per fault."""

from __future__ import annotations

from random import Random

import yaml

from tests.programs.hostile import runs
from tests.programs.hostile.documents import Forger
from tests.programs.hostile.timing import Timing
from tests.support.effort import examples


def test_a_file_is_used_or_refused_with_lines(tmp_path):
    runs.configurations(tmp_path, 1, examples(400, slow=True), Timing())


def test_manifests_are_used_or_refused_with_lines(tmp_path):
    runs.manifests(tmp_path, 1, examples(600, slow=True), Timing())


def test_sound_files_are_drawn_too():
    forger, sound = Forger(Random(2)), 0
    for _ in range(100):
        try:
            sound += isinstance(yaml.safe_load(forger.document()), dict)
        except (yaml.YAMLError, ValueError, RecursionError):
            continue
    assert sound > 30
