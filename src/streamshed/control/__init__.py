"""When to shed: observe, estimate, plan, guard, apply, and keep a journal of it."""
