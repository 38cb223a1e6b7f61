"""Station *build*: from a variant to its cubin and resource use."""
