"""Record missions: of agents that drive Playwright, of people, and of scripts that call a recorder."""

from eikon_engine.record.agent_mission import AgentMission, record_mission
from eikon_engine.record.open_recorder import open_recorder
from eikon_engine.record.options import AttachOptions, RecordOptions
from eikon_engine.record.recorder import MissionRecorder

__all__ = ["AgentMission", "AttachOptions", "MissionRecorder", "RecordOptions", "open_recorder", "record_mission"]
