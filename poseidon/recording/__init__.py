"""What a bridge told a solver and heard from it, as files: written while it runs, read by ``poseidon simulate``."""
