"""The only package that drives a browser: launch, session, worker, observation, traffic."""
