//! Where things are: a lane for each session, a box for each transaction, a line for each operation, and a curve for each
//! edge.
//!
//! Time runs from left to right and is *warped*: a box is as wide as its text, a transaction that began after another had
//! ended is to the right of it, and transactions that may have overlapped are not. The warp is one scan over the
//! transactions by their begin, after the viewer of porcupine. Nothing is measured: in a font of fixed width a text is as
//! wide as its characters, and `textLength` makes it so. Quadratic in the transactions of the picture.

use std::collections::BTreeMap;

use history::{History, OpId, SessionId, TxnId};
use isoscope::witness::op_text;
use isoscope::{Witness, WitnessEdge};

use crate::text::short;

/// The width of a character of 13 pixels.
pub const CHAR: f64 = 7.8;
/// The height of a line.
pub const LINE: f64 = 20.0;
/// Characters of an operation beyond this many are not drawn.
const MOST_CHARS: usize = 34;
const PADDING: f64 = 10.0;
const GAP: f64 = 34.0;
const LANE_LABEL: f64 = 24.0;
const LANE_GAP: f64 = 26.0;
const MARGIN: f64 = 14.0;
/// How far the first curve on a side bulges, and how much further each one after it.
const BULGE: f64 = 46.0;
const BULGE_STEP: f64 = 40.0;
/// How far below the boxes of a lane the first curve passes that goes around some of them, and how much further each one
/// after it.
const BELOW: f64 = 26.0;

/// A picture with all places.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The size.
    pub width: f64,
    /// The size.
    pub height: f64,
    /// The sessions, from top to bottom.
    pub lanes: Vec<Lane>,
    /// The transactions, in the order of the witness.
    pub boxes: Vec<TxnBox>,
    /// The edges, in the order of the argument.
    pub curves: Vec<Curve>,
    /// Reads beside the argument: writer and reader.
    pub support: Vec<Curve>,
    /// Notes of the recording: where each begins, and what it says.
    pub notes: Vec<(f64, f64, String)>,
}

/// A session.
#[derive(Clone, Debug)]
pub struct Lane {
    /// What it is called.
    pub label: String,
    /// Where the name begins: over the first box, so that no curve beside the boxes crosses it.
    pub x: f64,
    /// Its top.
    pub y: f64,
    /// Its height.
    pub height: f64,
}

/// A transaction.
#[derive(Clone, Debug)]
pub struct TxnBox {
    /// The transaction.
    pub txn: TxnId,
    /// What it is called.
    pub label: String,
    /// What became of it, unless it committed.
    pub outcome: &'static str,
    /// What it did, as drawn.
    pub lines: Vec<(OpId, String)>,
    /// Its left side.
    pub x: f64,
    /// Its top.
    pub y: f64,
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
}

/// An edge.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Where it starts, its two control points, and where it ends.
    pub points: [(f64, f64); 4],
    /// What is written on it.
    pub label: String,
    /// The middle of the label.
    pub label_at: (f64, f64),
}

impl TxnBox {
    /// The height of an operation's line, or of the name for what concerns the whole transaction.
    fn y_of(&self, op: Option<OpId>) -> f64 {
        let place = op.and_then(|op| self.lines.iter().position(|(id, _)| *id == op));
        self.y + PADDING + LINE * (place.map_or(0, |place| place + 1) as f64 + 0.5)
    }
}

impl Layout {
    /// Places a witness.
    pub fn of(witness: &Witness) -> Self {
        let history = &witness.history;
        let mut boxes: Vec<TxnBox> = history.txns().map(|txn| sized(history, txn)).collect();
        place_in_time(history, witness, &mut boxes);
        let mut lanes = place_in_lanes(history, witness, &mut boxes);
        let notes = place_notes(history, &boxes, &mut lanes);
        let (curves, support) = (Vec::new(), Vec::new());
        let mut layout = Self { width: 0.0, height: 0.0, lanes, boxes, curves, support, notes };
        let mut sides = Sides::default();
        layout.curves = layout.curves_of(history, &witness.edges, &mut sides);
        let mut sides = Sides { below: sides.below, ..Sides::default() };
        let support = witness.support.iter();
        let support = support.map(|edge| layout.curve(history, edge, String::new(), &mut sides));
        layout.support = support.collect();
        layout.fit();
        layout
    }

    fn curves_of(&self, history: &History, edges: &[WitnessEdge], sides: &mut Sides) -> Vec<Curve> {
        let labels = edges.iter().enumerate();
        let curve = |(number, edge): (usize, &WitnessEdge)| {
            let label = format!("{} {}", number + 1, short(&edge.label(), 18));
            self.curve(history, edge, label, sides)
        };
        labels.map(curve).collect()
    }

    fn curve(&self, history: &History, edge: &WitnessEdge, label: String, sides: &mut Sides) -> Curve {
        let (from, to) = (&self.boxes[edge.from.index()], &self.boxes[edge.to.index()]);
        let (y1, y2) = (from.y_of(edge.from_op), to.y_of(edge.to_op));
        if let Some(session) = skipping_session(history, edge) {
            let points = self.below(history, session, (from, to), sides);
            return Curve { label_at: middle(&points), points, label };
        }
        let is_after = to.x >= from.x + from.width + GAP / 2.0;
        let is_before = from.x >= to.x + to.width + GAP / 2.0;
        let points = if is_after {
            across((from.x + from.width, y1), (to.x, y2))
        } else if is_before {
            across((from.x, y1), (to.x + to.width, y2))
        } else {
            // One above the other: around the right or the left side.
            let (side, depth) = sides.take(y1.min(y2), y1.max(y2));
            let bulge = BULGE + BULGE_STEP * depth as f64;
            match side {
                0 => {
                    let (x1, x2) = (from.x + from.width, to.x + to.width);
                    let out = x1.max(x2) + bulge * 4.0 / 3.0;
                    [(x1, y1), (out, y1), (out, y2), (x2, y2)]
                }
                _ => {
                    let out = from.x.min(to.x) - bulge * 4.0 / 3.0;
                    [(from.x, y1), (out, y1), (out, y2), (to.x, y2)]
                }
            }
        };
        Curve { label_at: middle(&points), points, label }
    }

    /// From the lower side of one box to that of another, below the boxes between them.
    fn below(
        &self,
        history: &History,
        session: SessionId,
        (from, to): (&TxnBox, &TxnBox),
        sides: &mut Sides,
    ) -> [(f64, f64); 4] {
        let count = sides.below.entry(session).or_default();
        *count += 1;
        let boxes = history.session_txns(session).map(|txn| &self.boxes[txn.index()]);
        let bottom = boxes.map(|placed| placed.y + placed.height).fold(0.0, f64::max);
        let lowest = bottom + BELOW * *count as f64 - LINE / 2.0;
        let (start, end) = ((middle_of(from), from.y + from.height), (middle_of(to), to.y + to.height));
        // A curve of this kind goes three quarters of the way to its control points.
        let control = (lowest - (start.1 + end.1) / 8.0) * 4.0 / 3.0;
        [start, (start.0, control), (end.0, control), end]
    }

    /// Moves everything into the picture and finds out its size.
    fn fit(&mut self) {
        let mut left = f64::MAX;
        let mut right: f64 = 0.0;
        for placed in &self.boxes {
            left = left.min(placed.x);
            right = right.max(placed.x + placed.width);
        }
        for curve in self.curves.iter().chain(&self.support) {
            let half = label_width(&curve.label) / 2.0;
            left = left.min(curve.label_at.0 - half);
            right = right.max(curve.label_at.0 + half);
        }
        for (x, _, text) in &self.notes {
            right = right.max(x + text.chars().count() as f64 * CHAR);
        }
        let shift = MARGIN - left.min(right);
        self.lanes.iter_mut().for_each(|lane| lane.x += shift);
        self.notes.iter_mut().for_each(|note| note.0 += shift);
        self.boxes.iter_mut().for_each(|placed| placed.x += shift);
        for curve in self.curves.iter_mut().chain(&mut self.support) {
            curve.points.iter_mut().for_each(|point| point.0 += shift);
            curve.label_at.0 += shift;
        }
        self.uncover_lane_names();
        self.separate_labels();
        let lane_label = self.lanes.iter().map(|lane| lane.x + lane.label.chars().count() as f64 * CHAR);
        self.width = lane_label.fold(right + shift, f64::max) + MARGIN;
        self.height = self.lanes.last().map_or(MARGIN, |lane| lane.y + lane.height) + MARGIN;
    }

    /// Moves labels that would cover the name of a lane into the gap above the lane.
    fn uncover_lane_names(&mut self) {
        for curve in &mut self.curves {
            let left = curve.label_at.0 - label_width(&curve.label) / 2.0;
            let y = curve.label_at.1;
            let covers = |lane: &&Lane| {
                let right = lane.x + MARGIN + lane.label.chars().count() as f64 * CHAR;
                let is_beside = left > right || left + label_width(&curve.label) < lane.x - MARGIN;
                !is_beside && y > lane.y - LINE / 2.0 && y < lane.y + LANE_LABEL + LINE / 2.0
            };
            if let Some(lane) = self.lanes.iter().skip(1).find(covers) {
                curve.label_at.1 = lane.y - LANE_GAP / 2.0;
            }
        }
    }

    /// Moves labels that would cover one another apart, downwards.
    fn separate_labels(&mut self) {
        for place in 1..self.curves.len() {
            for _ in 0..place {
                let (placed, rest) = self.curves.split_at_mut(place);
                let label = &mut rest[0];
                let covers = |other: &&Curve| {
                    let apart = (label_width(&label.label) + label_width(&other.label)) / 2.0;
                    (other.label_at.0 - label.label_at.0).abs() < apart
                        && (other.label_at.1 - label.label_at.1).abs() < LINE
                };
                let Some(other) = placed.iter().find(covers) else { break };
                label.label_at.1 = other.label_at.1 + LINE + 1.0;
            }
        }
    }
}

/// The curves that go around boxes.
#[derive(Default)]
struct Sides {
    /// Beside boxes that stand one above the other, on the right and on the left: their top and bottom, and how many
    /// others each goes around.
    beside: [Vec<(f64, f64, usize)>; 2],
    /// How many pass below the boxes of a session.
    below: BTreeMap<SessionId, usize>,
}

impl Sides {
    /// A side for a curve, and how many others it goes around there: the side where it goes around fewer, or else the one
    /// with fewer curves.
    fn take(&mut self, top: f64, bottom: f64) -> (usize, usize) {
        let depth_on = |side: &[(f64, f64, usize)]| {
            let is_free = |depth: &usize| {
                !side.iter().any(|&(above, below, taken)| taken == *depth && top < below && above < bottom)
            };
            (0..).find(is_free).unwrap_or(side.len())
        };
        let depths = [depth_on(&self.beside[0]), depth_on(&self.beside[1])];
        let cost = |side: usize| (depths[side], self.beside[side].len());
        let side = usize::from(cost(1) < cost(0));
        self.beside[side].push((top, bottom, depths[side]));
        (side, depths[side])
    }
}

/// The width of what is written on an edge.
pub fn label_width(label: &str) -> f64 {
    label.chars().count() as f64 * CHAR + 10.0
}

/// The session of both ends of an edge, if another transaction of it stands between them.
fn skipping_session(history: &History, edge: &WitnessEdge) -> Option<SessionId> {
    let session = history.session_of(edge.from);
    let (first, last) = (edge.from.min(edge.to), edge.from.max(edge.to));
    let mut between = history.session_txns(session).filter(|&txn| first < txn && txn < last);
    (history.session_of(edge.to) == session && between.next().is_some()).then_some(session)
}

fn middle_of(placed: &TxnBox) -> f64 {
    placed.x + placed.width / 2.0
}

fn across(from: (f64, f64), to: (f64, f64)) -> [(f64, f64); 4] {
    let middle = (from.0 + to.0) / 2.0;
    [from, (middle, from.1), (middle, to.1), to]
}

fn middle(points: &[(f64, f64); 4]) -> (f64, f64) {
    let [a, b, c, d] = points;
    ((a.0 + 3.0 * b.0 + 3.0 * c.0 + d.0) / 8.0, (a.1 + 3.0 * b.1 + 3.0 * c.1 + d.1) / 8.0)
}

fn sized(history: &History, txn: TxnId) -> TxnBox {
    let line = |(id, op)| (id, short(&history::visible(&op_text(history, op)), MOST_CHARS));
    let lines: Vec<(OpId, String)> = history.ops(txn).map(line).collect();
    let label = short(&history::visible(&history.txn_label(txn)), MOST_CHARS);
    let outcome = match history.outcome(txn) {
        history::Outcome::Committed => "",
        history::Outcome::Aborted => "aborted",
        history::Outcome::Unknown => "outcome unknown",
    };
    let title = label.chars().count() + if outcome.is_empty() { 0 } else { outcome.len() + 2 };
    let widest = lines.iter().map(|(_, text)| text.chars().count()).chain([title]).max().unwrap_or(0);
    let height = 2.0 * PADDING + LINE * (lines.len() + 1) as f64;
    TxnBox { txn, label, outcome, x: 0.0, y: 0.0, width: widest as f64 * CHAR + 2.0 * PADDING, height, lines }
}

/// Gives each box its left side: to the right of what was over before it, and of what its session did before.
fn place_in_time(history: &History, witness: &Witness, boxes: &mut [TxnBox]) {
    let start = |txn: TxnId| history.times(txn).start();
    let mut order: Vec<TxnId> = history.txns().collect();
    order.sort_by_key(|&txn| (start(txn), txn));
    for (place, &txn) in order.iter().enumerate() {
        let is_over = |earlier: TxnId| {
            let is_of_session = history.session_of(earlier) == history.session_of(txn) && earlier < txn;
            let is_earlier =
                matches!((history.times(earlier).end(), start(txn)), (Some(end), Some(start)) if end < start);
            is_of_session || is_earlier
        };
        let ends = order[..place].iter().filter(|&&earlier| is_over(earlier));
        let after = ends.map(|earlier| &boxes[earlier.index()]);
        let gap = GAP + widest_label(witness);
        let x = after.map(|earlier| earlier.x + earlier.width + gap).fold(0.0, f64::max);
        boxes[txn.index()].x = x;
    }
}

/// Room between two boxes for what is written on the edges between them.
fn widest_label(witness: &Witness) -> f64 {
    let labels = witness.edges.iter().map(|edge| short(&edge.label(), 18).chars().count() + 2);
    labels.max().unwrap_or(0) as f64 * CHAR
}

fn place_in_lanes(history: &History, witness: &Witness, boxes: &mut [TxnBox]) -> Vec<Lane> {
    let mut lanes = Vec::new();
    let mut y = MARGIN;
    for session in history.sessions() {
        let txns: Vec<TxnId> = history.session_txns(session).collect();
        let tallest = txns.iter().map(|txn| boxes[txn.index()].height).fold(0.0, f64::max);
        txns.iter().for_each(|txn| boxes[txn.index()].y = y + LANE_LABEL);
        let label =
            format!("session {}", short(&history::visible(&history.session_label(session)), MOST_CHARS));
        let edges = witness.edges.iter().chain(&witness.support);
        let below = edges.filter(|edge| skipping_session(history, edge) == Some(session)).count();
        let height = LANE_LABEL + tallest + PADDING + BELOW * below as f64;
        let x = txns.iter().map(|txn| boxes[txn.index()].x).fold(f64::MAX, f64::min);
        lanes.push(Lane { label, x, y, height });
        y += height + LANE_GAP;
    }
    lanes
}

/// How many notes are drawn.
const MOST_NOTES: usize = 8;

/// A lane for the notes of the recording, if there are any: each begins after what was over before it.
fn place_notes(history: &History, boxes: &[TxnBox], lanes: &mut Vec<Lane>) -> Vec<(f64, f64, String)> {
    let notes = history.notes();
    if notes.is_empty() {
        return Vec::new();
    }
    let top = lanes.last().map_or(MARGIN, |lane| lane.y + lane.height + LANE_GAP);
    let is_over = |placed: &&TxnBox, time: i64| history.times(placed.txn).end().is_some_and(|end| end < time);
    let place = |(line, note): (usize, &history::Note)| {
        let over = boxes.iter().filter(|placed| is_over(placed, note.time));
        let x = over.map(|placed| placed.x + placed.width).fold(0.0, f64::max);
        let text = short(&history::visible(&note.text), 2 * MOST_CHARS);
        (x, top + LANE_LABEL + LINE * (line as f64 + 0.7), text)
    };
    let placed: Vec<_> = notes.iter().take(MOST_NOTES).enumerate().map(place).collect();
    let label = match notes.len() - placed.len() {
        0 => "notes".to_owned(),
        more => format!("notes (and {more} more)"),
    };
    let height = LANE_LABEL + LINE * placed.len() as f64 + PADDING;
    lanes.push(Lane { label, x: 0.0, y: top, height });
    placed
}
