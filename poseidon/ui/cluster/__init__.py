"""The nodes and pods that the dashboard knows, in compact form; sans-I/O."""
