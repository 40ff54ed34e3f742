"""The bridge's part of the configuration: sections of the subjects that heed them, in one document."""
