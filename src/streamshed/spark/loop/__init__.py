"""The control loop on Spark: every micro-batch planned before it runs and recorded after it."""
