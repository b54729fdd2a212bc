"""Other libraries' names for what Lapwing solves: one line to change over (docs/howto/migrate.md).

Each module has the name of a library, and its functions have that library's names, arguments, order of results and
corner cases. Answers are optimal to the last digit; where several are, the pairs may be others. No library is needed
to use its module.
"""
