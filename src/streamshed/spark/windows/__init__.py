"""From admitted rows to partial aggregates of slices, of windows, and to finished answers."""
