"""How it would run: the control loop against modelled load, in virtual time."""
