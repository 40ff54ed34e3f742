"""Numbers that are handed out once each."""

import pickle
from concurrent.futures import ThreadPoolExecutor

from firmament.core.rules.devices.running_number import RunningNumber


def test_numbers_begin_at_zero_or_where_they_are_told_to():
    first, tenth = RunningNumber(), RunningNumber(10)
    assert [next(first), next(first), next(first)] == [0, 1, 2]
    assert [next(tenth), next(tenth)] == [10, 11]


def test_a_pickled_copy_goes_on_by_itself():
    numbers = RunningNumber()
    before = [next(numbers), next(numbers)]
    copy = pickle.loads(pickle.dumps(numbers))
    assert before == [0, 1]
    assert [next(copy), next(copy)] == [2, 3]
    assert next(numbers) == 2


def test_pickling_changes_nothing():
    numbers = RunningNumber(3)
    assert pickle.dumps(numbers) == pickle.dumps(numbers)
    assert next(numbers) == 3


def test_several_threads_never_get_the_same_number():
    numbers = RunningNumber()
    with ThreadPoolExecutor(4) as threads:
        drawn = list(threads.map(lambda _: next(numbers), range(4000)))
    assert sorted(drawn) == list(range(4000))
