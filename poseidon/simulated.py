"""``python -m poseidon.simulated``: another name of ``python -m poseidon.testbed``."""

from poseidon.testbed.process import main

if __name__ == "__main__":
    main()
