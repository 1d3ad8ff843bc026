//! Lists that only grow at the end, with all their old states: each append is a node that points to the list before.
//!
//! An append costs 8 bytes; reading a list walks it from its end.

use history::ValueId;

/// The list before anybody appended.
pub(crate) const EMPTY_LIST: u32 = 0;

/// All lists of a run.
#[derive(Debug)]
pub(crate) struct Lists {
    /// The list before and the element; the first is the empty list.
    nodes: Vec<(u32, u32)>,
}

impl Default for Lists {
    fn default() -> Self {
        Self { nodes: vec![(EMPTY_LIST, 0)] }
    }
}

impl Lists {
    /// The list with one more element.
    pub fn append(&mut self, list: u32, element: u32) -> u32 {
        self.nodes.push((list, element));
        (self.nodes.len() - 1) as u32
    }

    /// The elements, oldest first.
    pub fn elements(&self, mut list: u32, out: &mut Vec<ValueId>) {
        out.clear();
        while list != EMPTY_LIST {
            let (before, element) = self.nodes[list as usize];
            out.push(ValueId(element));
            list = before;
        }
        out.reverse();
    }
}
