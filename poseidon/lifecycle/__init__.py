"""The life of a pod in the bridge, from the first event about it until it is bound and gone; no input or output."""
