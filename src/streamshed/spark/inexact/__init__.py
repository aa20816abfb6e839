"""Event times of which rows are missing: shed, or deleted before they were read."""
