"""What users write a network with, its nodes, and the network: streams, relations, operators, joins, queries."""
