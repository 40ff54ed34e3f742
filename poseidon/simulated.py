"""Runs ``python -m poseidon.testbed`` under its other name ``python -m poseidon.simulated``."""

from poseidon.testbed.process import main

if __name__ == "__main__":
    main()
