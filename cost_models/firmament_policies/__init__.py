"""Base policies: Firmament's, and those that stand beside them."""
