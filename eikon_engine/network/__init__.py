"""The recorded network: its storage, and matching requests with recorded responses.

Pure: no browser and no sockets; only `store` reads and writes files.
"""
