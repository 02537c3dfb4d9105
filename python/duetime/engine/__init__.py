"""Many runs: each as a piece of work, kept by its hash, in threads or on the workers of a cluster."""

from collections.abc import Callable
from typing import TypeAlias

#: Called with simulated seconds, their end, and delivered packets; an exception in it ends the run.
Progress: TypeAlias = Callable[[float, float, int], object]
