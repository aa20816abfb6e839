"""What dropped windows would have been answered ([T06] §6)."""
