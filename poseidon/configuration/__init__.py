"""Contains the bridge's part of the configuration; `protos/configuration` has what both programs share."""
