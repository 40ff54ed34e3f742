"""Contains the solver's part of the configuration; `protos/configuration` has what both programs share."""
