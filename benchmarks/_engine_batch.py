"""Run many requests through one network at once: rows of keys and values, sampling, and the engine's one thread."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from _engine_network import Network, Piece
from numpy.typing import NDArray

Tokens = NDArray[np.int32]


def shared_length(one: Tokens, other: Tokens) -> int:
    """How many first tokens two sequences have in common."""
    length = min(len(one), len(other))
    differs = np.flatnonzero(one[:length] != other[:length])
    return int(differs[0]) if len(differs) else length


@dataclass
class Row:
    """One row of the store.

    Attributes:
        tokens: The sequence it is for; only the first ``filled`` have keys and values.
        busy: Whether a running request writes to it.
        used: When it last served, in admissions.
    """

    index: int
    tokens: Tokens = field(default_factory=lambda: np.empty(0, np.int32))
    filled: int = 0
    busy: bool = False
    used: int = 0


class Rows:
    """The rows of a store ``[layers, 2, rows, context, kv heads, head]``, with those of finished requests kept."""

    # To wait for another request's prefix is worth it from this many tokens on.
    WORTH = 16

    def __init__(self, store: torch.Tensor) -> None:
        self._store = store
        self._rows = [Row(index) for index in range(store.shape[2])]
        self._clock = 0

    def awaited(self, prompt: Tokens, have: int) -> bool:
        """Whether a running request will soon hold notably more of ``prompt`` than the ``have`` tokens held now."""
        limit = len(prompt) - 1
        for row in self._rows:
            if row.busy and row.filled < len(row.tokens):
                common = min(shared_length(row.tokens, prompt), limit)
                if common >= have + self.WORTH and common > row.filled:
                    return True
        return False

    def longest(self, prompt: Tokens) -> tuple[Row | None, int]:
        """The row that holds the longest part of ``prompt``, and its length; the last token is always left to read."""
        limit = len(prompt) - 1
        best, length = None, 0
        for row in self._rows:
            common = min(shared_length(row.tokens[: row.filled], prompt), limit)
            if common > length:
                best, length = row, common
        return best, length

    def take(self, prompt: Tokens) -> Row:
        """A free row for ``prompt``, its ``filled`` first tokens copied from where they are held."""
        self._clock += 1
        source, length = self.longest(prompt)
        if source is not None and not source.busy and source.filled == length:
            target = source
        else:
            target = min((row for row in self._rows if not row.busy), key=lambda row: row.used)
            if source is not None and source is not target:
                self._store[:, :, target.index, :length] = self._store[:, :, source.index, :length]
                source.used = self._clock
        target.tokens, target.filled, target.busy, target.used = prompt, length, True, self._clock
        return target

    def free(self, row: Row, tokens: Sequence[int], filled: int) -> None:
        """Keep ``row`` as one that holds the first ``filled`` of ``tokens``."""
        self._clock += 1
        row.tokens, row.filled = np.asarray(tokens[:filled], np.int32), filled
        row.busy, row.used = False, self._clock


# A token below e^-18 of the likeliest is only looked at where those above do not make up the nucleus.
_REACH = 18.0


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn: ``temperature`` 0 takes the likeliest; ``seed`` makes the draws repeatable."""

    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None


class Sampler:
    """Draws the tokens of one sequence with a generator of its own."""

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._generator = torch.Generator()
        seed = sampling.seed if sampling.seed is not None else int.from_bytes(os.urandom(7), "big")
        self._generator.manual_seed(seed % 2**63)

    def draw(self, logits: torch.Tensor) -> int:
        """The next token, given the logits ``[vocabulary]`` in float32."""
        sampling = self._sampling
        if sampling.temperature == 0:
            return int(logits.argmax())
        scaled = logits / sampling.temperature
        weights = (scaled - scaled.max()).exp_()
        total = float(weights.sum(dtype=torch.float64))
        chosen = self._nucleus(weights, total) if sampling.top_p < 1 else None
        kept = weights if chosen is None else weights[chosen]
        sums = kept.double().cumsum(0)
        point = torch.rand((), generator=self._generator, dtype=torch.float64) * sums[-1]
        at = min(int(torch.searchsorted(sums, point, right=True)), len(sums) - 1)
        return at if chosen is None else int(chosen[at])

    def _nucleus(self, weights: torch.Tensor, total: float) -> torch.Tensor:
        """The likeliest tokens whose weights together reach ``top_p`` of ``total``."""
        wanted = self._sampling.top_p * total
        near = (weights > torch.e**-_REACH).nonzero()[:, 0]
        if float(weights[near].sum(dtype=torch.float64)) < wanted:
            near = torch.arange(len(weights))
        order = near[weights[near].argsort(descending=True, stable=True)]
        sums = weights[order].double().cumsum(0)
        count = int(torch.searchsorted(sums, wanted)) + 1
        return order[:count]


_WAKE = None


@dataclass(frozen=True)
class Generation:
    """What to generate.

    Attributes:
        prompt: Tokens; at least one, and fewer than the context.
        most: Generate no more tokens than this.
        sampling: How to draw.
        ends: Tokens that end an answer.
        accept: Called in the engine's thread with each token but an ending one; true stops the answer.
        ended: Called once, in the engine's thread, when the request has ended in whatever way.
    """

    prompt: Sequence[int]
    most: int
    sampling: Sampling
    ends: frozenset[int]
    accept: Callable[[int], bool]
    ended: Callable[[], None] = lambda: None


@dataclass
class Ticket:
    """A request under way.

    Attributes:
        reason: Why it ended, ``"stop"`` or ``"length"``; empty until then.
        cached: Prompt tokens that did not have to be read.
        failure: The error that ended it, if one did.
        cancelled: Set it to have the engine drop the request.
    """

    generation: Generation
    done: threading.Event = field(default_factory=threading.Event)
    reason: str = ""
    written: int = 0
    cached: int = 0
    failure: BaseException | None = None
    cancelled: bool = False

    def end(self, failure: BaseException | None = None) -> None:
        """Called by the engine when it is done with the request."""
        self.failure = failure
        self.done.set()
        self.generation.ended()


@dataclass
class Running:
    """A request that has a row."""

    ticket: Ticket
    row: Row
    sampler: Sampler
    tokens: list[int]

    @property
    def pending(self) -> int:
        """Tokens whose keys and values are missing."""
        return len(self.tokens) - self.row.filled


@dataclass
class Counts:
    """What the engine did. Seconds of a pass count as prefill in proportion to the prompt tokens in it."""

    requests: int = 0
    passes: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    cache_hits: int = 0
    read_tokens: int = 0
    written_tokens: int = 0
    prefill_seconds: float = 0.0
    decode_seconds: float = 0.0
    sampling_seconds: float = 0.0


class Engine:
    """One thread that serves tickets.

    Args:
        network: Has more rows than ``slots``: the others keep what finished requests have read.
        slots: Requests served at once.
        chunk: Prompt tokens read in one pass at most; answers under way wait for that long.
        threads: Threads of one operation.
    """

    def __init__(self, network: Network, *, slots: int, chunk: int = 256, threads: int = 1) -> None:
        if slots > network.store.shape[2]:
            raise ValueError(f"{slots} slots need as many rows; the network has {network.store.shape[2]}")
        self._network, self._slots, self._chunk, self._threads = network, slots, chunk, threads
        self._rows = Rows(network.store)
        self._inbox: queue.SimpleQueue[Ticket | None] = queue.SimpleQueue()
        self._waiting: deque[tuple[Ticket, Tokens]] = deque()
        self._running: list[Running] = []
        self._closing = False
        self.counts = Counts()
        self._thread = threading.Thread(target=self._loop, name="engine", daemon=True)
        self._thread.start()

    def submit(self, generation: Generation) -> Ticket:
        """Queue a request; ``done`` of the ticket is set when it ends."""
        ticket = Ticket(generation)
        self._inbox.put(ticket)
        return ticket

    def close(self) -> None:
        """Stop the thread; requests under way fail."""
        self._closing = True
        self._inbox.put(_WAKE)
        self._thread.join()

    @property
    def load(self) -> tuple[int, int]:
        """Requests running, and waiting."""
        return len(self._running), len(self._waiting) + self._inbox.qsize()

    def _loop(self) -> None:
        torch.set_num_threads(self._threads)
        while not self._closing:
            self._receive()
            self._admit()
            if not self._running:
                continue
            try:
                self._pass()
            except Exception as error:
                self._fail(error)
        self._fail(RuntimeError("the engine was closed"))

    def _receive(self) -> None:
        idle = not self._running and not self._waiting
        while idle or not self._inbox.empty():
            ticket = self._inbox.get()
            if ticket is not None:
                self._waiting.append((ticket, np.asarray(ticket.generation.prompt, np.int32)))
            idle = False

    def _admit(self) -> None:
        later: deque[tuple[Ticket, Tokens]] = deque()
        while self._waiting and len(self._running) < self._slots:
            ticket, prompt = self._waiting.popleft()
            if ticket.cancelled:
                ticket.end()
            elif self._rows.awaited(prompt, self._rows.longest(prompt)[1]):
                later.append((ticket, prompt))
            else:
                self._start(ticket, prompt)
        self._waiting.extendleft(reversed(later))

    def _start(self, ticket: Ticket, prompt: Tokens) -> None:
        row = self._rows.take(prompt)
        ticket.cached = row.filled
        sampler = Sampler(ticket.generation.sampling)
        self._running.append(Running(ticket, row, sampler, list(ticket.generation.prompt)))
        self.counts.requests += 1
        self.counts.prompt_tokens += len(prompt)
        self.counts.cached_tokens += row.filled
        self.counts.cache_hits += row.filled > 0

    def _pass(self) -> None:
        begin = time.perf_counter()
        chosen, pieces = self._plan()
        wanted = [at for at, one in enumerate(chosen) if len(pieces[at].tokens) == one.pending]
        logits = self._network.forward(pieces, wanted) if wanted else self._network.forward(pieces, [0])
        for one, piece in zip(chosen, pieces, strict=True):
            one.row.filled += len(piece.tokens)
        middle = time.perf_counter()
        for at, row in zip(wanted, logits, strict=False):
            self._advance(chosen[at], row)
        self._running = [one for one in self._running if not one.ticket.done.is_set()]
        self._count(pieces, middle - begin, time.perf_counter() - middle)

    def _plan(self) -> tuple[list[Running], list[Piece]]:
        """All answers under way by one token, and prompts up to the chunk."""
        left, chosen, pieces = self._chunk, [], []
        for one in self._running:
            filled = one.row.filled
            count = 1 if one.pending == 1 else min(one.pending, left)
            if count:
                left -= count if one.pending > 1 else 0
                chosen.append(one)
                pieces.append(Piece(one.row.index, filled, one.tokens[filled : filled + count]))
        return chosen, pieces

    def _advance(self, one: Running, logits: torch.Tensor) -> None:
        ticket, generation = one.ticket, one.ticket.generation
        token = one.sampler.draw(logits)
        ticket.written += 1
        if token in generation.ends:
            ticket.reason = "stop"
        else:
            one.tokens.append(token)
            if generation.accept(token):
                ticket.reason = "stop"
            elif ticket.written >= generation.most or len(one.tokens) >= self._network.context:
                ticket.reason = "length"
        if ticket.reason or ticket.cancelled:
            self._rows.free(one.row, one.tokens, one.row.filled)
            ticket.end()

    def _count(self, pieces: Sequence[Piece], forward: float, sampling: float) -> None:
        counts = self.counts
        lengths = [len(piece.tokens) for piece in pieces]
        reading = sum(length for length in lengths if length > 1)
        counts.passes += 1
        counts.read_tokens += reading
        counts.written_tokens += len(lengths) - sum(length > 1 for length in lengths)
        counts.prefill_seconds += forward * reading / sum(lengths)
        counts.decode_seconds += forward * (1 - reading / sum(lengths))
        counts.sampling_seconds += sampling

    def _fail(self, error: BaseException) -> None:
        for one in self._running:
            if not one.ticket.done.is_set():
                self._rows.free(one.row, [], 0)
                one.ticket.end(error)
        self._running.clear()
        while self._closing and (self._waiting or not self._inbox.empty()):
            ticket = self._waiting.popleft()[0] if self._waiting else self._inbox.get()
            if ticket is not None:
                ticket.end(error)
