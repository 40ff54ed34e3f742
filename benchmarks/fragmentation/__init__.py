"""Measures how much of shared GPUs different schedulers allocate in the end, on the cluster openb."""
