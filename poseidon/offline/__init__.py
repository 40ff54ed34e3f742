"""Plans, explains and audits clusters given as manifests, with a scheduler in this process."""
