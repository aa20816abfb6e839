"""Workers that come and go: on a standalone cluster, and in virtual time."""
