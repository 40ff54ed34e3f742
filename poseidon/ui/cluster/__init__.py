"""The nodes and pods that the dashboard knows, in few bytes each; sans-I/O."""
