"""The ways in, a file for each group: each route parses, calls and answers."""
