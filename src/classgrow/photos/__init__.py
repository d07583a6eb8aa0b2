"""Photos of your own: folders in, a model that learns, answers, says "unknown" and forgets."""
