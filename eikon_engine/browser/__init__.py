"""The only package that imports Playwright: launch, session, actions, observation, network traffic."""
