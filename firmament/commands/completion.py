"""``firmament completion``: prints a script that lets a shell complete the program's commands and options."""

from __future__ import annotations

from protos.conventions.command_line import completion_command

completion = completion_command("firmament")
