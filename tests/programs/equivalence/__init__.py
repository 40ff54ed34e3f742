"""The same clusters through ``poseidon plan`` and through what a bridge does with an API server's bytes."""
