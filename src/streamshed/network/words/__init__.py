"""What a network is written with: names, durations, sizes, numbers, columns, files."""
