"""Rules between tasks, compiled to arrays: who may not, must or should rather be where whom else is."""
