"""Runs the ``poseidon`` command for ``python -m poseidon``."""

from poseidon.cli import main

if __name__ == "__main__":
    main()
