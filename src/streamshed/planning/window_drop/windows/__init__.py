"""Windows by number: runs of them, where they come from, which are kept ([T06] §3)."""
