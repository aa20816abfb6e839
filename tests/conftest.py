import os

from hypothesis import HealthCheck, settings

# On busy cores the slowness of generation says nothing about the code.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("ci", _UNTIMED, derandomize=True, database=None, print_blob=True)
settings.register_profile("explore", _UNTIMED, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
