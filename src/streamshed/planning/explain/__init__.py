"""What a plan would shed, and what it would cost the answers."""
