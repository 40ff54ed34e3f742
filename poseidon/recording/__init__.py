"""Records the messages between a bridge and a solver in files, which ``poseidon simulate`` reads."""
