"""Where what is shown comes from: a running pair, manifests, saved rounds."""
