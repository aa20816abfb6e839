"""How many workers: utilization, thresholds, and controllers that add and release workers ([E])."""
