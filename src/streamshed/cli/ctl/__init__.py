"""`streamshed ctl`: looks at the queries of a network that runs, and changes them."""
