"""``python -m firmament``: the same as the ``firmament`` command."""

from firmament.cli import main

if __name__ == "__main__":
    main()
