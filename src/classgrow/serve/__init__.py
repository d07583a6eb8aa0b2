"""A model of photos as a service: it answers, is taught, and says how it is. It never trains in its own process."""
