"""A sample that proves hard on the GPU, solved by a CPU.

A step of a search takes a GPU two to five microseconds, whether it relaxes one row or a thousand. Of some costs, such
as x^y, each search matches a few rows alone, and a sample of 1000 rows takes a GPU a second, a CPU 30 to 70
milliseconds.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from lapwing.cpu.solve import Control, run
from lapwing.errors import InfeasibleError, RangeError
from lapwing.gpu.core.monitor import Monitor, TimeIsUpError
from lapwing.inputs import make_problem, processors
from lapwing.plan import make_plan


def optimal_prices(costs: NDArray[Any], maximize: bool, monitor: Monitor) -> NDArray[Any] | None:
    """The duals `v` of an optimal assignment, of the costs as minimised; None if there is none.

    Parameters
    ----------
    costs : (k, k) array
        As they are given.
    maximize : bool
    monitor : Monitor, entered
        Whose time limit holds.

    Raises
    ------
    TimeIsUpError
    """
    problem = make_problem(costs, maximize)
    plan = make_plan(problem.form, processors=processors())
    try:
        answer = run(problem, plan, control=Control(monitor.remaining))
    except (InfeasibleError, RangeError):
        return None
    if answer.status != "optimal":
        monitor.stop()
        raise TimeIsUpError
    v: NDArray[Any] = answer.v
    return -v if maximize else v
