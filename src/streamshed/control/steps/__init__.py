"""The steps of the control loop, each a pure function of what was known before it."""
