"""What tests compare with: brute force and mathematics that nothing else needs."""
