//! A table of rows `(k, v1, v2)`, with an ordered index for each column over what is committed.
//!
//! The store holds the number of a row's content; the contents are here, and only grow. An update of a column costs two
//! operations on its index; a query costs its answer, and what was committed after the state that it looks at.

use std::collections::BTreeSet;

use crate::random::Random;

/// The columns of a row.
pub(crate) const COLUMNS: [&str; 2] = ["v1", "v2"];

/// A filter on one column: between two values, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Filter {
    pub column: usize,
    pub least: u32,
    pub most: u32,
}

/// All contents that a row ever had, and which rows have each now.
#[derive(Debug, Default)]
pub(crate) struct RowContents {
    contents: Vec<[u32; 2]>,
    /// For each key the number of its content, as committed last.
    current: Vec<u32>,
    /// For each column the values with the keys of the rows that hold them, as committed last.
    index: [BTreeSet<(u32, u32)>; 2],
    /// Every commit of a row: its moment and the key.
    log: Vec<(i64, u32)>,
}

impl RowContents {
    /// A table of this many rows with different values in each column, in random order; row `k` has content `k`.
    pub fn new(rows: u32, random: &mut Random) -> Self {
        let [first, second] = [shuffled(rows, random), shuffled(rows, random)];
        let contents: Vec<[u32; 2]> = first.into_iter().zip(second).map(|(v1, v2)| [v1, v2]).collect();
        let index = [0, 1].map(|column| {
            let entries = contents.iter().zip(0..);
            entries.map(|(content, key)| (content[column], key)).collect()
        });
        Self { contents, current: (0..rows).collect(), index, log: Vec::new() }
    }

    pub fn content(&self, number: u32) -> [u32; 2] {
        self.contents[number as usize]
    }

    /// The content that a row gets when one column is set.
    pub fn with_column(&mut self, number: u32, column: usize, value: u32) -> u32 {
        let mut content = self.content(number);
        content[column] = value;
        self.contents.push(content);
        (self.contents.len() - 1) as u32
    }

    pub fn matches(&self, filter: Filter, number: u32) -> bool {
        (filter.least..=filter.most).contains(&self.content(number)[filter.column])
    }

    /// A filter that now matches as many rows as are wanted, or fewer where many have equal values or the values end.
    pub fn filter(&self, random: &mut Random, column: usize, wanted: u32) -> Filter {
        let least = self.start(random, column, wanted);
        let (mut most, mut taken, mut group) = (least, 0, 0);
        let mut values = self.index[column].range((least, 0)..).map(|&(value, _)| value).peekable();
        // Rows of one value match together or not at all, so values are taken whole; the first one in any case.
        while let Some(value) = values.next() {
            group += 1;
            if values.peek() == Some(&value) {
                continue;
            }
            if taken > 0 && taken + group > wanted {
                break;
            }
            (most, taken, group) = (value, taken + group, 0);
            if taken >= wanted {
                break;
            }
        }
        Filter { column, least, most }
    }

    /// A value that no more rows have than are wanted, if a few tries find one.
    fn start(&self, random: &mut Random, column: usize, wanted: u32) -> u32 {
        let mut best = (usize::MAX, 0);
        for _ in 0..16 {
            let key = random.below(self.current.len() as u64) as usize;
            let value = self.content(self.current[key])[column];
            let rows = self.index[column].range((value, 0)..=(value, u32::MAX)).take(best.0).count();
            best = best.min((rows, value));
            if best.0 <= wanted as usize {
                break;
            }
        }
        best.1
    }

    /// The keys of the rows that match, as committed last.
    pub fn hits(&self, filter: Filter) -> impl Iterator<Item = u32> {
        let entries = self.index[filter.column].range((filter.least, 0)..=(filter.most, u32::MAX));
        entries.map(|&(_, key)| key)
    }

    /// The keys of rows that were committed after a moment.
    pub fn changed_after(&self, moment: i64) -> impl Iterator<Item = u32> {
        let first = self.log.partition_point(|&(stamp, _)| stamp <= moment);
        self.log[first..].iter().map(|&(_, key)| key)
    }

    /// A row gets another content.
    pub fn commit(&mut self, key: u32, number: u32, stamp: i64) {
        self.log.push((stamp, key));
        let before = std::mem::replace(&mut self.current[key as usize], number);
        let (before, after) = (self.content(before), self.content(number));
        for column in [0, 1] {
            if before[column] != after[column] {
                self.index[column].remove(&(before[column], key));
                self.index[column].insert((after[column], key));
            }
        }
    }
}

fn shuffled(count: u32, random: &mut Random) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count).collect();
    for place in (1..numbers.len()).rev() {
        numbers.swap(place, random.below(place as u64 + 1) as usize);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_match_as_many_rows_as_are_wanted() {
        let mut random = Random::new(1);
        let mut table = RowContents::new(1000, &mut random);
        for wanted in [1, 2, 10, 100] {
            for _ in 0..100 {
                let filter = table.filter(&mut random, 0, wanted);
                let hits = table.hits(filter).count() as u32;
                assert!((1..=wanted).contains(&hits), "{hits} of {wanted} with {filter:?}");
            }
        }
        // Many rows of one value are all or none.
        for key in 0..50 {
            let after = table.with_column(key, 0, 5000);
            table.commit(key, after, 1);
        }
        let whole = Filter { column: 0, least: 5000, most: 5000 };
        assert_eq!(table.hits(whole).count(), 50);
        assert_eq!(table.changed_after(0).count(), 50);
        assert_eq!(table.changed_after(1).count(), 0);
    }
}
