"""The recorded network: how it is stored, and which recorded answer belongs to a request.

Pure: no browser, no socket; only `store` reads and writes files.
"""
