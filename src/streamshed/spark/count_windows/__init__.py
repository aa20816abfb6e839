"""Windows of so many rows: the stage that numbers rows of groups, and what becomes of them."""
