"""Sources of the data: a running pair, manifests, saved rounds."""
