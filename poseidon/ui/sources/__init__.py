"""Sources of the dashboard's data: a running pair, manifests, saved rounds."""
