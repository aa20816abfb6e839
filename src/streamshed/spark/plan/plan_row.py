"""The plan row: all that a micro-batch is told when it starts, as the one row of the plan table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from streamshed.answering.estimate.value_ranges import UsualRange
from streamshed.answering.table.shed_interval import ShedInterval, share_name
from streamshed.columnar.topics.topic_spans import TopicSpan
from streamshed.joins.choose.directive import JoinDirective
from streamshed.planning.place.block_cut import BlockCut
from streamshed.planning.tree.quantization import WHOLE, sampling_rate_of
from streamshed.planning.window_drop.track.window_drops import NOTHING_DROPPED, WindowDrops
from streamshed.sharing.counted_rows import Role, role_of
from streamshed.sharing.gating import NEVER, Gating
from streamshed.sharing.intake import Share
from streamshed.spark.plan.earlier_plans import with_names_of_today


@dataclass(frozen=True, kw_only=True)
class SizedShares:
    """Values of queries whose rows are chosen by size.

    Attributes:
        column: Of the stream: its values v tell how large rows are.
        threshold: τ: a row is kept with min(1, b·max(1, |v|/τ)), b the rate that the value's code stands for.
        effective_codes: By `share_name`, the code of the share of its rows that is kept in all.
    """

    column: str
    threshold: float
    effective_codes: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class StreamPlan:
    """What one stream is told.

    It speaks of values of queries by their names: it may be carried out by a network that has others besides.

    Attributes:
        sampling_code: Code of the rate at which it is sampled directly behind its source.
        share_codes: By `share_name`, the codes of the effective sampling rates of values of queries, of those that
            choose rows by size that of the smallest rows; those that are missing have the stream's.
        sized: Those that choose rows by size; None: there is none.
        work_share: The share of the work on its rows that is done at those rates.
        row_share: The share of its rows that anybody needs; None: as sampled.
        carrier_from: Event time of the carrier in the micro-batch before, microseconds; None: nothing known yet.
        carrier_until: Up to when it brings empty answers now.
        carrier_time: Its event time now.
        join: Of a joined stream, what of the join is done; None: all of it.
        blocks: Which blocks of its files are read; None: all.
    """

    sampling_code: int = WHOLE
    share_codes: Mapping[str, int] = field(default_factory=dict)
    sized: SizedShares | None = None
    work_share: float = 1.0
    row_share: float | None = None
    carrier_from: int | None = None
    carrier_until: int | None = None
    carrier_time: int | None = None
    join: JoinDirective | None = None
    blocks: BlockCut | None = None

    @property
    def sampling_rate(self) -> float:
        """The sampling rate that the code stands for."""
        return sampling_rate_of(self.sampling_code)

    @property
    def all_of_it(self) -> StreamPlan:
        """What it says of the carrier, with nothing shed."""
        return StreamPlan(
            carrier_from=self.carrier_from, carrier_until=self.carrier_until, carrier_time=self.carrier_time
        )

    def sized_intakes(self, gating: Gating) -> frozenset[int]:
        """Return the intakes that choose rows by size: those all of whose values do.

        Args:
            gating: Of the stream.
        """
        sized_codes = self._effective
        return frozenset(
            intake
            for intake, shares in enumerate(gating.shares)
            if all(share_name(*share) in sized_codes for share in shares)
        )

    def codes(self, gating: Gating) -> tuple[int, ...]:
        """Return the codes of all intakes; of those that choose rows by size, of the rates of the smallest rows.

        Args:
            gating: Of the stream.
        """
        sized = self.sized_intakes(gating)
        effective = {**self.share_codes, **self._effective}
        return tuple(
            self._largest_rate(shares, self.share_codes if intake in sized else effective)
            for intake, shares in enumerate(gating.shares)
        )

    def effective_codes(self, gating: Gating) -> tuple[int, ...]:
        """Return the codes of the shares of their rows that intakes keep.

        Args:
            gating: Of the stream.
        """
        effective = {**self.share_codes, **self._effective}
        return tuple(self._largest_rate(shares, effective) for shares in gating.shares)

    @property
    def _effective(self) -> Mapping[str, int]:
        return {} if self.sized is None else self.sized.effective_codes

    def _largest_rate(self, shares: Sequence[Share], codes: Mapping[str, int]) -> int:
        """An intake's rows cost the same for one of its values or all."""
        return min(
            (codes.get(share_name(*share), self._unless_told(share)) for share in shares), default=self.sampling_code
        )

    def _unless_told(self, share: Share) -> int:
        """Rows that are only counted are so where the plan says it."""
        return self.sampling_code if role_of(share[1]) is Role.VALUES else NEVER

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> StreamPlan:
        """Read what `to_document` wrote."""
        document = with_names_of_today(document)
        sized, join, blocks = document["sized"], document.get("join"), document.get("blocks")
        return cls(
            **{
                **document,
                "sized": None if sized is None else SizedShares(**sized),
                "join": None if join is None else JoinDirective.from_document(join),
                "blocks": None if blocks is None else BlockCut.from_document(blocks),
            }
        )

    def to_document(self) -> dict[str, Any]:
        """Return it as what JSON can hold."""
        return {
            **{field.name: getattr(self, field.name) for field in fields(self)},
            "sized": None if self.sized is None else asdict(self.sized),
            "join": None if self.join is None else self.join.to_document(),
            "blocks": None if self.blocks is None else self.blocks.to_document(),
        }


@dataclass(frozen=True, kw_only=True)
class PlannedFiles:
    """What the files held that one stream was to bring, when a micro-batch was planned.

    Attributes:
        rows: Where files tell that; else 0.
        bytes: Where they do not; else 0.
    """

    rows: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class PlanRow:
    """The plan of one micro-batch.

    Attributes:
        micro_batch_id: Which.
        open: The watermark of the micro-batch before, microseconds.
        streams: Per stream.
        shed: What was shed of late, this micro-batch included.
        partly_joined: Event times of results of joins that were not done fully of late, with the share of results that
            is to be expected in the place of a sampling rate.
        lost: Event times of rows that a broker deleted before they were read, with the share of rows that is to be
            expected in the place of a sampling rate, by stream in the place of a share's name.
        effective_shares: By `share_name`, on which share of the rows kept estimates rest as a rule.
        usual_ranges: By `share_name`, how far apart the values of a window are as a rule.
        decided_at_seconds: When, seconds since the epoch.
        latest_event: Per stream, its latest event time known, microseconds.
        silent_seconds: Per stream, how long it had brought no rows.
        drops: Which windows are dropped.
        drained_at: The watermark at which no row is expected any more, microseconds; None: rows are.
        whole_since: By `Query.definition_id` of queries that came lately, from when on windows that start are whole,
            microseconds; others of theirs may be open.
        files: By stream, what those of a folder of this machine held; nothing of other streams.
        topics: By stream over topics, from where to where it is read in each partition.
    """

    micro_batch_id: int
    open: int
    streams: Mapping[str, StreamPlan]
    shed: tuple[ShedInterval, ...] = ()
    partly_joined: tuple[ShedInterval, ...] = ()
    lost: tuple[ShedInterval, ...] = ()
    effective_shares: Mapping[str, float] = field(default_factory=dict)
    usual_ranges: Mapping[str, UsualRange] = field(default_factory=dict)
    decided_at_seconds: float = 0.0
    latest_event: Mapping[str, int] = field(default_factory=dict)
    silent_seconds: Mapping[str, float] = field(default_factory=dict)
    drops: WindowDrops = NOTHING_DROPPED
    drained_at: int | None = None
    whole_since: Mapping[int, int] = field(default_factory=dict)
    files: Mapping[str, PlannedFiles] = field(default_factory=dict)
    topics: Mapping[str, tuple[TopicSpan, ...]] = field(default_factory=dict)

    def to_json(self) -> str:
        """Write the row as a JSON object."""
        return json.dumps(
            {
                "micro_batch_id": self.micro_batch_id,
                "open": self.open,
                "streams": {name: plan.to_document() for name, plan in self.streams.items()},
                "shed": [vars(interval) for interval in self.shed],
                "partly_joined": [vars(interval) for interval in self.partly_joined],
                "lost": [vars(interval) for interval in self.lost],
                "effective_shares": dict(self.effective_shares),
                "usual_ranges": {name: asdict(usual) for name, usual in self.usual_ranges.items()},
                "decided_at_seconds": self.decided_at_seconds,
                "latest_event": dict(self.latest_event),
                "silent_seconds": dict(self.silent_seconds),
                "drops": self.drops.to_document(),
                "drained_at": self.drained_at,
                "whole_since": dict(self.whole_since),
                "files": {name: asdict(files) for name, files in self.files.items()},
                "topics": {name: [span.place for span in spans] for name, spans in self.topics.items()},
            }
        )

    @classmethod
    def from_json(cls, text: str) -> PlanRow:
        """Read what `to_json` wrote."""
        document = json.loads(text)
        return cls(
            micro_batch_id=document["micro_batch_id"],
            open=document["open"],
            streams={name: StreamPlan.from_document(plan) for name, plan in document["streams"].items()},
            shed=_intervals(document["shed"]),
            partly_joined=_intervals(document.get("partly_joined", ())),
            lost=_intervals(document.get("lost", ())),
            effective_shares=document.get("effective_shares", {}),
            usual_ranges={name: UsualRange(**usual) for name, usual in document.get("usual_ranges", {}).items()},
            decided_at_seconds=document["decided_at_seconds"],
            latest_event=document["latest_event"],
            silent_seconds=document["silent_seconds"],
            drops=WindowDrops.from_document(document["drops"]),
            drained_at=document.get("drained_at"),
            whole_since={int(definition): since for definition, since in document.get("whole_since", {}).items()},
            files={name: PlannedFiles(**files) for name, files in document.get("files", {}).items()},
            topics={name: tuple(map(TopicSpan.at, places)) for name, places in document.get("topics", {}).items()},
        )


def _intervals(documents: Iterable[Mapping[str, Any]]) -> tuple[ShedInterval, ...]:
    return tuple(ShedInterval(**with_names_of_today(document)) for document in documents)
