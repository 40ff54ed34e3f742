"""Labels, taints, images and node selectors over all machines at once."""
