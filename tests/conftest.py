"""Settings that all tests share."""

import hypothesis

# The same examples in every run; no deadline, since machines differ.
hypothesis.settings.register_profile("lapwing", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("lapwing")
