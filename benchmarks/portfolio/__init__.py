"""A prototype of the next default: cross-fitted priors, then one matrix for every relation."""
