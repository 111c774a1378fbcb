"""An actor of Ray on the same host gets a handle, and uses the memory of the caller."""

import numpy as np
import ray

import interchange as ix


@ray.remote
class Scaler:
    """Multiplies arrays in place."""

    def scale(self, handle, factor):
        """Open a handle, and write into the memory of the process that made it."""
        array = np.from_dlpack(ix.open_shared(handle))
        array *= factor


def main():
    """Let an actor change an array of this process."""
    quiet = {"include_dashboard": False, "log_to_driver": False, "configure_logging": False}
    ray.init(num_cpus=1, **quiet)
    try:
        shared = ix.share(np.arange(4.0), copy=True)
        array = ix.open_shared(shared)
        ray.get(Scaler.remote().scale.remote(shared, 10))
        print(array.tolist())
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
