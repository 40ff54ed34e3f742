"""Runs the simulated cluster by ``python -m poseidon.testbed``; see ``process``."""

from __future__ import annotations

from poseidon.testbed.process import main

if __name__ == "__main__":
    main()
