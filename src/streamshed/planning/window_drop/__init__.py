"""Dropping whole windows ([T06]): each answer that is delivered is exact, and gaps are no longer than allowed."""
