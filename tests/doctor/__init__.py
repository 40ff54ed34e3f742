"""`poseidon doctor`."""
