"""The sub-commands of ``firmament``, one module each."""
