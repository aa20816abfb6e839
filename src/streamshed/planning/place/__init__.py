"""Where samplers go ([B04] §4)."""
