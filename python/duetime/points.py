"""Many runs, each made once: the documented functions of `duetime.engine.points`."""

from duetime.engine.points import Kept, Point, finished, key, run_points

__all__ = ["Kept", "Point", "finished", "key", "run_points"]
