"""Missions with tools, models and skills: recorded once, replayed without executing anything."""
