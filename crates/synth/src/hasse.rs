//! The order of levels as a diagram: equivalent levels share a box, and an edge leads from a level to each next weaker.
//!
//! Boxes stand in rows by the longest chain below them, so every edge goes down. DOT for Graphviz, and an SVG of our own
//! that needs no other program.

use std::fmt::Write;

use crate::compare::Matrix;

/// Levels in boxes, and which box is next below which.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hasse {
    /// Names of equivalent levels together.
    pub boxes: Vec<Vec<String>>,
    /// From a box to each next weaker one.
    pub edges: Vec<(usize, usize)>,
    /// The row of each box, counted from the weakest.
    pub rows: Vec<usize>,
}

impl Hasse {
    /// The diagram of compared levels.
    pub fn new(matrix: &Matrix) -> Self {
        let count = matrix.names.len();
        let alike = |a: usize, b: usize| a == b || (matrix.implies(a, b) && matrix.implies(b, a));
        // The first of each group of equivalent levels stands for it.
        let kept: Vec<usize> =
            (0..count).filter(|&level| !(0..level).any(|other| alike(other, level))).collect();
        let members = |&leader: &usize| {
            let group = (0..count).filter(|&level| alike(leader, level));
            group.map(|level| matrix.names[level].clone()).collect()
        };
        let boxes: Vec<Vec<String>> = kept.iter().map(members).collect();
        let below = |a: usize, b: usize| a != b && matrix.implies(kept[a], kept[b]);
        let all = 0..boxes.len();
        let is_next = |a: usize, b: usize| below(a, b) && !all.clone().any(|c| below(a, c) && below(c, b));
        let edges: Vec<(usize, usize)> = all
            .clone()
            .flat_map(|a| all.clone().map(move |b| (a, b)))
            .filter(|&(a, b)| is_next(a, b))
            .collect();
        let mut rows = vec![0; boxes.len()];
        for _ in 0..boxes.len() {
            for &(a, b) in &edges {
                rows[a] = rows[a].max(rows[b] + 1);
            }
        }
        Self { boxes, edges, rows }
    }

    /// The diagram for Graphviz.
    pub fn to_dot(&self) -> String {
        let mut dot = String::from("digraph levels {\n  node [shape=box, fontname=\"sans-serif\"];\n");
        for (number, names) in self.boxes.iter().enumerate() {
            writeln!(dot, "  l{number} [label=\"{}\"];", names.join("\\n")).expect("text grows");
        }
        for (from, to) in &self.edges {
            writeln!(dot, "  l{from} -> l{to};").expect("text grows");
        }
        dot.push_str("}\n");
        dot
    }

    /// The diagram as a picture, strongest levels on top.
    pub fn to_svg(&self) -> String {
        let places = self.places();
        let width = places.iter().map(|place| place.x + place.width).max().unwrap_or(0) + MARGIN;
        let height = places.iter().map(|place| place.y + place.height).max().unwrap_or(0) + MARGIN;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n"
        );
        for &(from, to) in &self.edges {
            let (from, to) = (&places[from], &places[to]);
            let (x1, y1, x2, y2) = (from.x + from.width / 2, from.y + from.height, to.x + to.width / 2, to.y);
            writeln!(svg, "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"#667\"/>")
                .expect("text grows");
        }
        for (place, names) in places.iter().zip(&self.boxes) {
            place.draw(&mut svg, names);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn places(&self) -> Vec<Place> {
        let top = self.rows.iter().copied().max().unwrap_or(0);
        let mut places = vec![Place::default(); self.boxes.len()];
        let mut y = MARGIN;
        for row in (0..=top).rev() {
            let mut x = MARGIN;
            let mut tallest = 0;
            for number in (0..self.boxes.len()).filter(|&number| self.rows[number] == row) {
                let names = &self.boxes[number];
                let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
                let width = longest * 8 + 16;
                let height = names.len() * LINE + 10;
                places[number] = Place { x, y, width, height };
                x += width + GAP;
                tallest = tallest.max(height);
            }
            y += tallest + 2 * GAP;
        }
        places
    }
}

const MARGIN: usize = 10;
const GAP: usize = 24;
const LINE: usize = 17;

#[derive(Clone, Copy, Default)]
struct Place {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

impl Place {
    fn draw(&self, svg: &mut String, names: &[String]) {
        let Self { x, y, width, height } = self;
        writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"5\" fill=\"#eef\" stroke=\"#446\"/>"
        )
        .expect("text grows");
        for (line, name) in names.iter().enumerate() {
            let (x, y) = (x + width / 2, y + LINE * (line + 1));
            let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{name}</text>")
                .expect("text grows");
        }
    }
}
