"""``python -m poseidon``: the same as the ``poseidon`` command."""

from poseidon.cli import main

if __name__ == "__main__":
    main()
