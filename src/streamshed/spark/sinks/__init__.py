"""Where answers go, and predictions of those that were dropped."""
