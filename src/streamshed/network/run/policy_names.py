"""Names of the policies that spread over the queries what load can be worked off, simplest first.

A policy further down needs more statistics than those above it. What they do: `streamshed.planning.plan.policies`.
"""

POLICY_NAMES = ("uniform", "hoeffding", "least_error", "equal_error")

DEFAULT_POLICY = "least_error"
