"""Input for runs and benchmarks: generated packets, load profiles, and traces replayed into a folder."""
