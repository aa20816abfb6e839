"""From the partial aggregates of windows to answers: values, bounds, and whether an answer is exact."""
