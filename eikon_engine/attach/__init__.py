"""Record agents that drive Playwright themselves."""

from eikon_engine.attach.mission import AgentMission
from eikon_engine.attach.options import AttachOptions
from eikon_engine.attach.record_mission import record_mission

__all__ = ["AgentMission", "AttachOptions", "record_mission"]
