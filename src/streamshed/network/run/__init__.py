"""How a network is to be run, as its user says it."""
