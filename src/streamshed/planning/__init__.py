"""What to shed: plans, the planners that make them, and what no plan may touch."""
