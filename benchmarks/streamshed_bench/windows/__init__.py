"""Windows that are dropped: what is delivered, and what predictions are worth."""
