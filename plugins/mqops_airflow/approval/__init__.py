"""Whether a plan may be carried out: the policy, the question and its answer, four eyes, which run waits for which."""
