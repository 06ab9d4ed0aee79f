"""The default model: several priors and one matrix for every relation, summed in log-odds."""
