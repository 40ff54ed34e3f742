"""Cost models for devices such as GPUs, and for the parts of devices that tasks share."""
