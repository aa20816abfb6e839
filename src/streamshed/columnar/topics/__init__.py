"""Records of topics that tasks read: with which client, which offsets, as which rows."""
