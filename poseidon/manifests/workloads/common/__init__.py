"""Values that the readers of all projects share: fields, pod sets, existing pods."""
