"""How commands print lines and JSON, and end."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from poseidon.commands.shared.output_and_exit import (
    bad_input,
    fault,
    print_json,
    stop_event,
    warn,
    write_page,
)


def test_a_fault_is_a_line_without_credentials_and_a_status(capsys):
    assert fault("https://me:secret@host/x is down").code == 2
    assert fault("again", 1).code == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "secret" not in printed.err
    assert printed.err.endswith("again\n")


def test_bad_input_is_a_line_per_defect_and_status_2(capsys):
    assert bad_input(["one\nline", "two"]).code == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("one")
    assert first.endswith("line")
    assert second == "two"


@pytest.mark.parametrize(("length", "cut"), [(1000, False), (1001, True)])
def test_warnings_are_cut_at_a_readable_length(capsys, length, cut):
    warn(["x" * length, "y"])
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"warning: {'x' * 1000}" + ("…" if cut else "")
    assert second == "warning: y"


def test_json_is_indented_and_keeps_its_letters(capsys):
    print_json({"a": ["ä"]})
    assert capsys.readouterr().out == '{\n  "a": [\n    "ä"\n  ]\n}\n'


def test_pages_are_written_or_the_command_ends(tmp_path, capsys):
    write_page(tmp_path / "page.html", "<p>ä</p>")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == "<p>ä</p>"
    with pytest.raises(SystemExit) as ended:
        write_page(tmp_path / "none" / "page.html", "")
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"--html: {tmp_path}/none/page.html: No such file or directory\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_sets_the_event(number):
    async def run() -> None:
        stop = stop_event()
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stop.wait(), 5)

    asyncio.run(run())
