"""``python -m poseidon.simulated``: see ``process``."""

from __future__ import annotations

from poseidon.simulated.process import main

if __name__ == "__main__":
    main()
