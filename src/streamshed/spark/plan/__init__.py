"""The plan's way to the tasks: its one row, its columns, the server that answers, the files that it is written to."""
