"""The rules about volumes: where they can be reached, how many may be attached, what storage is left, who shares."""
