"""What models are given and answer with: arrays, columns, assessments, quantities."""
