"""What benchmarks read and ask: packets, recordings, networks of queries."""
