"""Commands of the lab: ``inject``, ``dataset`` and ``calibrate``."""
