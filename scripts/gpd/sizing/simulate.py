"""A node that runs jobs, simulated event by event: who starts when, how fast each runs, when all are done. Pure.

As the workflow's own scheduler does it: a job that waits for nobody starts as soon as it can have its cores, the one
with the highest priority first and others in the gaps (Snakemake's greedy choice), and keeps them until it ends (its
lease). Where jobs have no leases, as in N workflows side by side, all that are ready start at once and the cores are
dealt out evenly, to none more than it can use.

A job is work on one core, and then work on up to `width` of them. Between two events all of it goes on at a constant
rate, so that each event gives the next one by division: nothing is drawn at random, and no step of time is chosen.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpd.errors import GpdError

# cores that a job will want within so long are not free for another's pieces (workflow/scripts/launcher/spare.py)
SETTLED_S = 0.5
TINY = 1e-9  # of a job's work: less than that left is the arithmetic's


class SimulationError(GpdError):
    """Jobs that could never end: the message names them."""


@dataclass(frozen=True)
class Task:
    """A job: `serial_s` seconds on one core, then `parallel_core_s` core seconds on up to `width`.

    `after` are the names of those that it waits for, and `delay_s` what passes before it is seen that they ended. Each
    other job that runs makes all of it slower by the share `slowdown`. `timed`: it counts for the makespan. `pieces`:
    so many it may be cut into where cores are free as it starts; of k of them each takes `piece_s(k)` seconds (by
    default their share of all).
    """

    name: str
    step: str
    serial_s: float
    parallel_core_s: float = 0.0
    width: int = 1
    after: tuple[str, ...] = ()
    delay_s: float = 0.0
    priority: float = 0.0
    slowdown: float = 0.0
    memory_mib: float = 0.0
    timed: bool = True
    pieces: int = 1
    piece_s: Callable[[int], float] | None = None

    def cut(self, pieces: int) -> "Task":
        """The same in pieces that run side by side."""
        each_s = self.piece_s(pieces) if self.piece_s else (self.serial_s + self.parallel_core_s) / pieces
        memory_mib = pieces * self.memory_mib
        return replace(
            self, serial_s=0.0, parallel_core_s=pieces * each_s, width=pieces, memory_mib=memory_mib, pieces=1
        )


@dataclass(frozen=True)
class Node:
    """`memory_mib`: what jobs may take together, None: no limit. `leased`: whether jobs have cores of their own."""

    cores: int
    memory_mib: float | None = None
    leased: bool = True


@dataclass(frozen=True)
class Span:
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Simulated:
    """What a node came to. `held_core_s`: core seconds that jobs held; `full_s`: while no core was free for more."""

    makespan_s: float
    spans: Mapping[str, Span]
    held_core_s: float
    full_s: float
    peak_memory_mib: float


@dataclass
class _Job:
    """A job that runs: what is left of its two parts."""

    task: Task
    start_s: float
    serial_s: float
    parallel_core_s: float
    rate: float = 0.0

    @property
    def cores_wanted(self) -> int:
        return 1 if self.serial_s > 0 else self.task.width

    @property
    def left(self) -> float:
        return self.serial_s if self.serial_s > 0 else self.parallel_core_s

    def advance(self, seconds: float) -> None:
        done = seconds * self.rate
        if self.serial_s > 0:
            self.serial_s = _left(self.serial_s - done, self.task.serial_s)
        else:
            self.parallel_core_s = _left(self.parallel_core_s - done, self.task.parallel_core_s)


def _left(amount: float, of: float) -> float:
    return amount if amount > TINY * of else 0.0


@dataclass
class _State:
    node: Node
    now_s: float = 0.0
    running: list[_Job] = field(default_factory=list)
    spans: dict[str, Span] = field(default_factory=dict)
    held_core_s: float = 0.0
    full_s: float = 0.0
    peak_memory_mib: float = 0.0

    @property
    def memory_mib(self) -> float:
        return sum(job.task.memory_mib for job in self.running)

    def has_room(self, task: Task) -> bool:
        """Whether it can start now. What is wider or larger than the node runs alone."""
        if not self.running:
            return True
        memory = self.node.memory_mib is None or self.memory_mib + task.memory_mib <= self.node.memory_mib
        return memory and (not self.node.leased or self.held + self.cores(task) <= self.node.cores)

    @property
    def held(self) -> int:
        return sum(self.cores(job.task) for job in self.running)

    def cores(self, task: Task) -> int:
        return min(task.width, self.node.cores)

    def start(self, task: Task) -> None:
        self.running.append(_Job(task, self.now_s, task.serial_s, task.parallel_core_s))

    def cut(self, wanted: int) -> None:
        """Give cores that nobody will want soon to jobs that start now, piece by piece.

        Jobs that are in no makespan, statistics, are short: theirs are soon free (workflow/scripts/launcher/spare.py).
        """
        for job in self.running:
            if job.start_s == self.now_s and job.task.pieces > 1:
                held = sum(self.cores(other.task) for other in self.running if other.task.timed)
                free = self.node.cores - held - wanted
                if self.node.memory_mib is not None and job.task.memory_mib:
                    free = min(free, int((self.node.memory_mib - self.memory_mib) // job.task.memory_mib))
                if free > 0:
                    job.task = job.task.cut(min(job.task.pieces, 1 + free))
                    job.serial_s, job.parallel_core_s = job.task.serial_s, job.task.parallel_core_s

    def set_rates(self) -> None:
        if self.node.leased:
            shares = [float(min(job.cores_wanted, self.node.cores)) for job in self.running]
        else:
            shares = dealt([job.cores_wanted for job in self.running], self.node.cores)
        for job, share in zip(self.running, shares, strict=True):
            job.rate = share / (1 + job.task.slowdown * (len(self.running) - 1))

    def advance(self, seconds: float) -> None:
        wanted = self.held if self.node.leased else sum(job.cores_wanted for job in self.running)
        self.held_core_s += seconds * min(wanted, self.node.cores)
        self.full_s += seconds * (wanted >= self.node.cores)
        self.now_s += seconds
        for job in self.running:
            job.advance(seconds)

    def end(self) -> None:
        for job in [job for job in self.running if not job.left]:
            self.running.remove(job)
            self.spans[job.task.name] = Span(job.start_s, self.now_s)


def dealt(wanted: Sequence[int], cores: int) -> list[float]:
    """Deal cores out evenly, to none more than it wants: what one leaves, the others share (max-min fairness)."""
    shares = [0.0] * len(wanted)
    left = float(cores)
    for place, at in enumerate(sorted(range(len(wanted)), key=lambda at: wanted[at])):
        shares[at] = min(wanted[at], left / (len(wanted) - place))
        left -= shares[at]
    return shares


def simulate(tasks: Iterable[Task], node: Node) -> Simulated:
    """Run all tasks. Raises SimulationError where some wait for each other, or for one that there is not."""
    waiting = sorted(tasks, key=lambda task: -task.priority)  # of equal priority in the order given
    timed = {task.name for task in waiting if task.timed}
    state = _State(node)
    while waiting or state.running:
        waiting = _start(waiting, state)
        if node.leased:
            state.cut(sum(state.cores(task) for task in _ready_within(SETTLED_S, waiting, state)))
        state.peak_memory_mib = max(state.peak_memory_mib, state.memory_mib)
        state.end()  # what has no work
        if not state.running:
            state.now_s = _next_ready(waiting, state)
            continue
        state.set_rates()
        state.advance(min(_soonest_end(state), *_delays(waiting, state)))
        state.end()
    spans = [span for name, span in state.spans.items() if name in timed]
    makespan_s = max((s.end_s for s in spans), default=0.0) - min((s.start_s for s in spans), default=0.0)
    return Simulated(makespan_s, state.spans, state.held_core_s, state.full_s, state.peak_memory_mib)


def _start(waiting: Sequence[Task], state: _State) -> list[Task]:
    """Start what can be started, in order; return the others."""
    left = []
    for task in waiting:
        ready_s = _ready_s(task, state)
        if ready_s is None or ready_s > state.now_s or not state.has_room(task):
            left.append(task)
        else:
            state.start(task)
    return left


def _ready_within(seconds: float, waiting: Iterable[Task], state: _State) -> list[Task]:
    """Those that can start by then, or could now but for their cores or memory."""
    times = [(task, _ready_s(task, state)) for task in waiting]
    return [task for task, ready_s in times if ready_s is not None and ready_s <= state.now_s + seconds]


def _ready_s(task: Task, state: _State) -> float | None:
    """When all that it waits for is seen to have ended; None: not all has."""
    if not all(name in state.spans for name in task.after):
        return None
    return max((state.spans[name].end_s + task.delay_s for name in task.after), default=0.0)


def _delays(waiting: Iterable[Task], state: _State) -> list[float]:
    """Seconds until those that still wait to be seen are."""
    known = [ready for task in waiting if (ready := _ready_s(task, state)) is not None]
    return [ready - state.now_s for ready in known if ready > state.now_s] or [float("inf")]


def _soonest_end(state: _State) -> float:
    return min(job.left / job.rate for job in state.running)


def _next_ready(waiting: Sequence[Task], state: _State) -> float:
    """Nothing runs: the moment at which something can."""
    if not waiting:
        return state.now_s
    times = [ready for task in waiting if (ready := _ready_s(task, state)) is not None]
    if not times:
        raise SimulationError(f"these jobs wait for what never ends: {', '.join(task.name for task in waiting[:4])}")
    return max(state.now_s, min(times))
