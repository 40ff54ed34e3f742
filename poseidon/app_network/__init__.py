"""Reads AppGroups and NetworkTopologies of diktyo-io, gives them to solvers as records, and writes their statuses."""
