"""Records are parsed when they change, and one that cannot be read keeps no other from being read."""

from __future__ import annotations

from cost_models.api.parsed_records import RecordParser, check_number, parse_object


def parser(seen: list[bytes]) -> RecordParser[float]:
    def parse(payload: bytes) -> float:
        seen.append(payload)
        return check_number("x", parse_object(payload)["x"], 0, 9)

    return RecordParser(parse)


def test_only_what_has_changed_is_parsed():
    seen: list[bytes] = []
    records = parser(seen)
    first = records.read({"a": b'{"x": 1}', "b": b'{"x": 2}', "c": b"{"})
    assert first.good == {"a": 1.0, "b": 2.0}
    assert first.faults == {"c": "the payload is not valid JSON"}
    assert records.read({"a": b'{"x": 1}', "b": b'{"x": 2}', "c": b"{"}) is first
    again = records.read({"b": b'{"x": 3}', "c": b"{"})
    assert (again.good, again.faults) == ({"b": 3.0}, first.faults)
    assert seen == [b'{"x": 1}', b'{"x": 2}', b"{", b'{"x": 3}']


def test_what_was_read_before_stays_as_it_was():
    records = parser([])
    first = records.read({"a": b'{"x": 1}'})
    records.read({})
    assert first.good == {"a": 1.0}


def test_whatever_is_raised_is_a_fault_of_that_record_alone():
    found = parser([]).read({"a": b"{}", "b": b'{"x": true}', "c": b'{"x": 10}', "d": b'{"x": 9}'})
    assert found.good == {"d": 9.0}
    assert found.faults == {
        "a": "KeyError: 'x'",
        "b": "x is not a number from 0 to 9",
        "c": "x is not a number from 0 to 9",
    }
