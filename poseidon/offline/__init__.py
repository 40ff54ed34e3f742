"""Plans, explains and audits clusters that are given as manifests, with a solver in this process."""
