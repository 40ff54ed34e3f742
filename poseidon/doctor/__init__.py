"""Whether everything is in place for a bridge: what `poseidon doctor` looks at."""
