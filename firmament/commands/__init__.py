"""Subcommands of ``firmament``, one module each."""
