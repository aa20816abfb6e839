"""Where a run's work is done: the session, executors and workers that come and go, and what is known of them."""
