"""Runs the ``firmament`` command for ``python -m firmament``."""

from firmament.cli import main

if __name__ == "__main__":
    main()
