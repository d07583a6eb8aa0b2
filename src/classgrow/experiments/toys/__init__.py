"""Small experiments of the paper that need no grid."""
