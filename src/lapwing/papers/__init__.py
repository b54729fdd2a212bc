"""The tables and figures of the papers that Lapwing stands on, run again.

`tables` says what each of them holds, as data; `runner` measures one; `report` prints it and draws it; `images` is
Algorithm 1015's experiment with images. They are a tool of the project, and part of the package so that an installed
``lapwing papers``, their only user, runs them; nothing else imports them.
"""

from lapwing.papers.report import draw, show
from lapwing.papers.runner import Limits, run_table
from lapwing.papers.tables import TABLES, Column, Instance, Table

__all__ = ["TABLES", "Column", "Instance", "Limits", "Table", "draw", "run_table", "show"]
