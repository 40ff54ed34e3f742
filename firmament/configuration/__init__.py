"""The scheduler's configuration: one YAML document, a section per subject."""
