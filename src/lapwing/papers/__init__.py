"""The tables and figures of the papers that Lapwing stands on, run again.

`published` has what the papers print, `catalogue` every table with the counterpart of each column, `tables` what they
are made of; `measure` solves, `runner` fills one table, `report` prints and draws it; `curves`, `images` and `pairs`
are experiments of Algorithm 1015 that are no tables. They are a tool of the project, and part of the package so that an
installed ``lapwing papers``, their only user, runs them; nothing else imports them.
"""

from lapwing.papers.catalogue import TABLES
from lapwing.papers.measure import Limits, Measurements
from lapwing.papers.report import draw, show
from lapwing.papers.runner import run_table
from lapwing.papers.tables import Column, Instance, Table

__all__ = ["TABLES", "Column", "Instance", "Limits", "Measurements", "Table", "draw", "run_table", "show"]
