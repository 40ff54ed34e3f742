"""Cost models: plug-ins that say on which machines a task may run, at what cost, and how many tasks fit."""
