"""The nodes and pods that the dashboard knows, in a compact form; this package does no input or output."""
