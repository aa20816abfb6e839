"""The table of answers: columns, kinds, gaps, summaries."""
