"""Running something to measure it: contestants, feeds, calibration, and what was measured."""
