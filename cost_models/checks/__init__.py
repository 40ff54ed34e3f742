"""Parts of ``cost_models.conformance``: sample inputs, and the checks of each kind of answer."""
