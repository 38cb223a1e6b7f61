"""What a sweep says to a code generator: cost model, rule for accumulators, and its regret."""
