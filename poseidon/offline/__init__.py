"""Plans and explanations of manifests, by a scheduler in this process."""
