"""A running network as a person sees it: a live view in the terminal, lines of a log, a picture."""
