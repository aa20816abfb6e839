"""Which windows are droppable, dropped, open, and which rows they still need."""
