"""GPUs that are shared: how much of them is given away in the end, by different schedulers, on the cluster openb."""
