"""From a budget to a plan: policies, shares of work, sampling rates, dropped windows."""
