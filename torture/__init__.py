"""Tries to break classgrow: kills, mutated inputs, full disks and power cuts, counted and seeded (see `__main__`)."""
