"""A network under real overload that is killed at random moments, over and over: `scripts/kill_loop.py`.

A parent feeds three streams by the wall clock. A child runs the network over them from one checkpoint; it is killed
and started again. The last child drains. Then all that was answered is compared with DuckDB and NumPy.
"""
