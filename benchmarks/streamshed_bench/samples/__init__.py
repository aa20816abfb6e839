"""How near sampled answers come to the truth, and how often their bounds hold."""
