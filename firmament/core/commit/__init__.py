"""Makes a round's decisions take effect, after it has checked them against what happened meanwhile."""
