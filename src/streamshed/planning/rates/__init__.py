"""At which sampling rate each query is served: errors, rates, who is served first ([B04] §3)."""
