"""The inputs and answers of cost models: arrays, columns, assessments, quantities."""
