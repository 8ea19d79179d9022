"""Settings of all tests here."""

import os

from hypothesis import settings

# Small matrices on a loaded host: threads cost more than they bring.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Time limits would fail by chance on a loaded host; in CI the same examples each time, elsewhere new ones.
settings.register_profile("here", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("here")
