"""How long the course of the trunk is, and where it is interrupted."""

STEPS, STEP_SECONDS, ROWS_PER_SECOND = 8, 10, 20
KILLED_IN, HANDED_OVER_AFTER = 2, 4
SECONDS = STEPS * STEP_SECONDS
