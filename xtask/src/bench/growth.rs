//! `cargo xtask bench growth`: how the cost of the inputs of `cliffs` grows with their size, as a table and a picture.
//!
//! Each input is made in five sizes, each twice the one before. Time is that of the processor, the least of three runs. The
//! last column divides it by n log n, and again by what that gives for the smallest size: a number that does not grow
//! means a cost of at most n log n. The picture has both axes logarithmic, so a power of n is a straight line.

use std::fmt::Write as _;
use std::fs;

use super::Bench;
use super::cliffs::{file_of, folder};
use super::hostile::{Hostile, Plant};
use super::table::{self, mb, ms};
use crate::run::Done;

/// What grows: its name, the level, the smallest size, and the history of a size.
struct Input(&'static str, &'static str, usize, fn(usize) -> Hostile);

const INPUTS: [Input; 7] = [
    Input("equal writes and reads", "session-serializable", 10_000, Hostile::EqualWrites),
    Input("one value of many sessions", "session-serializable", 10_000, Hostile::OneReader),
    Input("equal writes, overwritten", "session-serializable", 10_000, Hostile::Overwritten),
    Input("different writes, read", "serializable", 5_000, Hostile::OneReaderEach),
    Input("unknown outcomes", "session-serializable", 6_000, Hostile::UnknownChain),
    Input("session breaks", "serializable", 50, Hostile::SessionBreaks),
    Input("sessions of 10 on 100 keys", "session-serializable", 1_000, sessions),
];

fn sessions(count: usize) -> Hostile {
    Hostile::Status { sessions: count, txns: 10, keys: 100, plant: Plant::Nothing }
}

/// The sizes of an input, as multiples of the smallest.
const MULTIPLES: [usize; 5] = [1, 2, 4, 8, 16];

/// The colours of the lines, which differ for most eyes.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#444444"];

/// The time of one size in milliseconds.
struct Point {
    multiple: usize,
    time_ms: f64,
}

/// `cargo xtask bench growth`.
pub fn run(bench: &Bench) -> Done {
    let multiples = if bench.quick { &MULTIPLES[..2] } else { &MULTIPLES[..] };
    table::head(&["history", "size", "verdict", "processor", "peak", "against n log n"]);
    let mut lines = Vec::new();
    for input in &INPUTS {
        lines.push((input.0, bench.grow(input, multiples)?));
    }
    let file = folder()?.join("growth.svg");
    fs::write(&file, picture(&lines)).map_err(|error| format!("{}: {error}", file.display()))?;
    println!("\nthe picture is {}", file.display());
    Ok(())
}

impl Bench {
    fn grow(&self, Input(name, level, smallest, history): &Input, multiples: &[usize]) -> Done<Vec<Point>> {
        let mut points: Vec<Point> = Vec::new();
        for &multiple in multiples {
            let size = smallest * multiple;
            let file = file_of(history(size))?;
            let (verdict, mut best) = self.check_within_limits(&file, level, &[])?;
            for _ in 1..self.runs.min(3) {
                let (_, again) = self.check_within_limits(&file, level, &[])?;
                best = if again.processor_ms < best.processor_ms { again } else { best };
            }
            points.push(Point { multiple, time_ms: best.processor_ms });
            let ratio = cost(&points[points.len() - 1], *smallest) / cost(&points[0], *smallest);
            let names = [(*name).to_owned(), size.to_string(), verdict];
            let figures = [ms(best.processor_ms), mb(best.peak_bytes), format!("{ratio:.2}")];
            table::row(&names.into_iter().chain(figures).collect::<Vec<_>>());
        }
        Ok(points)
    }
}

/// The time divided by n log n.
fn cost(point: &Point, smallest: usize) -> f64 {
    let size = (point.multiple * smallest) as f64;
    point.time_ms.max(1.0) / (size * size.log2())
}

/// The frame of the lines: left, right, top and bottom.
const FRAME: (f64, f64, f64, f64) = (60.0, 400.0, 40.0, 380.0);

/// The times that the frame has room for, as multiples of the one of the smallest size: 16 squared, and some noise.
const GROWTHS: [f64; 5] = [1.0, 4.0, 16.0, 64.0, 256.0];

/// Where a time stands that is so many times the one of the smallest size.
fn place(multiple: f64, growth: f64) -> (f64, f64) {
    let (left, right, top, bottom) = FRAME;
    let across = multiple.log2() / (MULTIPLES[MULTIPLES.len() - 1] as f64).log2();
    let up = (growth.max(0.5).log2() + 1.0) / (GROWTHS[GROWTHS.len() - 1].log2() + 1.0);
    (left + (right - left) * across, bottom - (bottom - top) * up)
}

/// All lines relative to their smallest size, with n and n squared beside them.
fn picture(lines: &[(&str, Vec<Point>)]) -> String {
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 420\" font-family=\"sans-serif\" \
         font-size=\"12\" role=\"img\" aria-label=\"Processor time over the size of a history, both relative to the \
         smallest\">\n<rect width=\"640\" height=\"420\" fill=\"#fff\"/>\n<text x=\"60\" y=\"22\" font-size=\"13\" \
         fill=\"#222\">Processor time over size, both as multiples of the smallest</text>\n",
    );
    let (left, right, top, bottom) = FRAME;
    for multiple in MULTIPLES {
        let (x, _) = place(multiple as f64, 1.0);
        let _ = writeln!(
            svg,
            "<path d=\"M{x},{top}V{bottom}\" stroke=\"#ddd\"/>\
             <text x=\"{x}\" y=\"398\" text-anchor=\"middle\" fill=\"#444\">{multiple}</text>"
        );
    }
    for growth in GROWTHS {
        let (_, y) = place(1.0, growth);
        let _ = writeln!(
            svg,
            "<path d=\"M{left},{y}H{right}\" stroke=\"#ddd\"/>\
             <text x=\"52\" y=\"{}\" text-anchor=\"end\" fill=\"#444\">{growth}</text>",
            y + 4.0
        );
    }
    line(&mut svg, &MULTIPLES.map(|n| place(n as f64, n as f64)), "#999\" stroke-dasharray=\"5 4", ("n", 0));
    line(
        &mut svg,
        &MULTIPLES.map(|n| place(n as f64, (n * n) as f64)),
        "#999\" stroke-dasharray=\"2 3",
        ("n squared", 1),
    );
    for (number, (name, points)) in lines.iter().enumerate() {
        let first = points.first().map_or(1.0, |point| point.time_ms.max(1.0));
        let at = |point: &Point| place(point.multiple as f64, point.time_ms.max(1.0) / first);
        let places: Vec<(f64, f64)> = points.iter().map(at).collect();
        line(&mut svg, &places, COLOURS[number % COLOURS.len()], (name, number + 2));
    }
    svg + "</svg>\n"
}

/// A line, and its name in the legend at this place.
fn line(svg: &mut String, points: &[(f64, f64)], stroke: &str, (name, place): (&str, usize)) {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let y = 56 + 20 * place;
    let _ = writeln!(
        svg,
        "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"{stroke}\" points=\"{}\"/>\
         <path d=\"M420,{y}h24\" stroke-width=\"2\" stroke=\"{stroke}\"/>\
         <text x=\"452\" y=\"{}\" fill=\"#222\">{name}</text>",
        points.join(" "),
        y + 4
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_has_a_line_for_each_input() {
        let points = || vec![Point { multiple: 1, time_ms: 10.0 }, Point { multiple: 2, time_ms: 21.0 }];
        let svg = picture(&[("one", points()), ("other", points())]);
        assert_eq!(svg.matches("<polyline").count(), 4);
        assert!(svg.contains(">other</text>") && svg.ends_with("</svg>\n"));
    }
}
