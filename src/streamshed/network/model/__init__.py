"""The nodes of a network, and the network: streams, relations, operators, joins, groupings, queries."""
