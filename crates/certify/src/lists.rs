//! Lists, as the checker sees them: which transaction appended an element, and whether a list is made of whole appends.
//!
//! An element that several transactions appended, which may have committed, does not tell which of them it is from. Of
//! these only such are possible whose elements all follow in the list.

use history::{History, KeyId, Op, OpId, Outcome, RangeRead, TxnId, ValueId};

use crate::observe::outside_of;
use crate::{Flaw, Place};

/// All that one transaction appended to one list.
#[derive(Clone, Copy)]
struct Chain {
    txn: TxnId,
    key: KeyId,
    start: u32,
    end: u32,
}

/// The appends of transactions that may have committed.
pub(crate) struct Appenders {
    chains: Vec<Chain>,
    /// The elements of all chains.
    elements: Vec<ValueId>,
    /// (key, element, chain), ascending.
    by_element: Vec<(KeyId, ValueId, u32)>,
    /// For each key where its elements begin there.
    key_start: Vec<u32>,
    /// Keys of which an element is in several chains, ascending.
    doubtful: Vec<KeyId>,
}

/// Whose elements stand at one place of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Member {
    Known(TxnId),
    /// One of several transactions that appended the same.
    OneOf(Vec<TxnId>),
}

/// The transactions that a list is made of, in its order.
#[derive(Clone, Default, Debug)]
pub(crate) struct MadeOf {
    pub members: Vec<Member>,
    /// Whether they are all; otherwise nothing is known of the rest of the list.
    pub is_whole: bool,
}

impl MadeOf {
    /// The transactions that are certainly in the list.
    pub fn known(&self) -> impl Iterator<Item = TxnId> + Clone {
        self.members.iter().filter_map(|member| match member {
            Member::Known(txn) => Some(*txn),
            Member::OneOf(_) => None,
        })
    }

    /// The last of them, if it is certain.
    pub fn last(&self) -> Option<TxnId> {
        match self.members.last() {
            Some(Member::Known(txn)) if self.is_whole => Some(*txn),
            _ => None,
        }
    }

    /// Whether a transaction is certainly not in the list.
    pub fn lacks(&self, txn: TxnId) -> bool {
        let is_it = |member: &Member| match member {
            Member::Known(known) => *known == txn,
            Member::OneOf(several) => several.contains(&txn),
        };
        self.is_whole && !self.members.iter().any(is_it)
    }
}

impl Appenders {
    /// Refuses histories in which lists are not only appended to.
    pub fn of(history: &History) -> Result<Self, Flaw> {
        Self::of_some(history, |_| true)
    }

    /// As [`Appenders::of`], with the appends to some of the lists.
    pub fn of_some(history: &History, is_wanted: impl Fn(KeyId) -> bool) -> Result<Self, Flaw> {
        refuse_others(history)?;
        let mut appenders = Self {
            chains: Vec::new(),
            elements: Vec::new(),
            by_element: Vec::new(),
            key_start: vec![0; history.keys().len() + 1],
            doubtful: Vec::new(),
        };
        let mut own: Vec<(KeyId, ValueId)> = Vec::new();
        for txn in history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted) {
            let appends = history.ops(txn).filter_map(|(_, op)| Some((op.key()?, op.value_appended()?)));
            own.extend(appends.filter(|&(key, _)| is_wanted(key)));
            // The elements of a key stay in their order.
            own.sort_by_key(|&(key, _)| key);
            own.chunk_by(|one, other| one.0 == other.0).for_each(|chain| appenders.add(txn, chain));
            own.clear();
        }
        appenders.by_element.sort_unstable();
        appenders.by_element.iter().for_each(|&(key, ..)| appenders.key_start[key.index() + 1] += 1);
        (1..appenders.key_start.len())
            .for_each(|key| appenders.key_start[key] += appenders.key_start[key - 1]);
        let is_doubtful = |pair: &&[(KeyId, ValueId, u32)]| {
            (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1) && pair[0].2 != pair[1].2
        };
        appenders.doubtful =
            appenders.by_element.windows(2).filter(is_doubtful).map(|pair| pair[0].0).collect();
        appenders.doubtful.dedup();
        Ok(appenders)
    }

    fn add(&mut self, txn: TxnId, chain: &[(KeyId, ValueId)]) {
        let (number, start) = (self.chains.len() as u32, self.elements.len() as u32);
        self.elements.extend(chain.iter().map(|&(_, element)| element));
        self.by_element.extend(chain.iter().map(|&(key, element)| (key, element, number)));
        self.chains.push(Chain { txn, key: chain[0].0, start, end: self.elements.len() as u32 });
    }

    /// Whether several transactions appended the same element to a list.
    pub fn is_doubtful(&self, key: KeyId) -> bool {
        self.doubtful.binary_search(&key).is_ok()
    }

    /// The lists of which several transactions appended the same element, ascending.
    pub fn doubtful(&self) -> &[KeyId] {
        &self.doubtful
    }

    /// What a transaction appended to each list: (list, elements).
    pub fn chains(&self) -> impl Iterator<Item = (TxnId, KeyId, &[ValueId])> {
        self.chains.iter().map(|chain| (chain.txn, chain.key, self.elements(chain)))
    }

    fn elements(&self, chain: &Chain) -> &[ValueId] {
        &self.elements[chain.start as usize..chain.end as usize]
    }

    /// The elements of a list with their chains, in the order of the elements.
    fn elements_of(&self, key: KeyId) -> &[(KeyId, ValueId, u32)] {
        let (start, end) = (self.key_start[key.index()], self.key_start[key.index() + 1]);
        &self.by_element[start as usize..end as usize]
    }

    /// The chains that have an element, each once.
    fn chains_with(&self, key: KeyId, element: ValueId) -> impl Iterator<Item = &Chain> {
        let of_key = self.elements_of(key);
        let first = of_key.partition_point(|&(_, known, _)| known < element);
        let same = of_key[first..].iter().take_while(move |&&(_, known, _)| known == element);
        let mut last = u32::MAX;
        let once = same.filter_map(move |&(.., chain)| {
            (std::mem::replace(&mut last, chain) != chain).then_some(chain as usize)
        });
        once.map(|chain| &self.chains[chain])
    }

    /// What a list is made of; `None` if it is not made of all that some transactions appended to it, each once, which may
    /// have committed and of which none is the reader.
    pub fn made_of(&self, history: &History, read: OpId) -> Option<MadeOf> {
        let key = history.op(read).key()?;
        let reader = history.txn_of(read);
        let mut rest = outside_of(history, reader, read)?;
        let mut made_of = MadeOf { members: Vec::new(), is_whole: true };
        let mut near = 0;
        while let Some(&element) = rest.first() {
            let member = match self.only_chain(key, element, &mut near) {
                Some(chain) if chain.txn != reader => {
                    let elements = self.elements(chain);
                    rest = rest.strip_prefix(elements)?;
                    near += elements.len();
                    Member::Known(chain.txn)
                }
                _ => match self.one_of(key, reader, &mut rest, &made_of)? {
                    Some(member) => member,
                    None => {
                        made_of.is_whole = false;
                        break;
                    }
                },
            };
            made_of.members.push(member);
        }
        let mut known: Vec<TxnId> = made_of.known().collect();
        known.sort_unstable();
        known.windows(2).all(|pair| pair[0] != pair[1]).then_some(made_of)
    }

    /// The only chain with an element. It is looked for at a place first, which becomes its place: lists mostly have their
    /// elements in ascending order, as those of a counter.
    fn only_chain(&self, key: KeyId, element: ValueId, near: &mut usize) -> Option<&Chain> {
        let of_key = self.elements_of(key);
        let is_at = |place: usize| of_key.get(place).is_some_and(|&(_, known, _)| known == element);
        let is_first = |place: usize| is_at(place) && !(place > 0 && is_at(place - 1));
        if !is_first(*near) {
            *near = of_key.partition_point(|&(_, known, _)| known < element);
        }
        let mut same = of_key[*near..].iter().take_while(|&&(_, known, _)| known == element);
        let (.., first) = *same.next()?;
        same.all(|&(.., chain)| chain == first).then(|| &self.chains[first as usize])
    }

    /// Whose elements the rest of a list begins with, where several chains have its first element; it moves behind them.
    /// Nothing if they have different elements, and `None` if there is no such chain.
    fn one_of(
        &self,
        key: KeyId,
        reader: TxnId,
        rest: &mut &[ValueId],
        before: &MadeOf,
    ) -> Option<Option<Member>> {
        let is_used = |txn: TxnId| before.known().any(|known| known == txn);
        let fitting: Vec<&Chain> = self
            .chains_with(key, rest[0])
            .filter(|chain| {
                chain.txn != reader && !is_used(chain.txn) && rest.starts_with(self.elements(chain))
            })
            .collect();
        let elements = self.elements(fitting.first()?);
        let member = match fitting[..] {
            [only] => Member::Known(only.txn),
            _ if fitting.iter().all(|chain| self.elements(chain) == elements) => {
                Member::OneOf(fitting.iter().map(|chain| chain.txn).collect())
            }
            _ => return Some(None),
        };
        let same = before.members.iter().filter(|&other| *other == member).count();
        *rest = &rest[elements.len()..];
        (same < fitting.len()).then_some(Some(member))
    }
}

/// Refuses lists that are also values, that are in ranges, or that do not start empty.
fn refuse_others(history: &History) -> Result<(), Flaw> {
    let mut others: Vec<(KeyId, OpId)> = Vec::new();
    let mut is_list = vec![false; history.keys().len()];
    let mut ranges: Vec<(OpId, &RangeRead)> = Vec::new();
    for (id, op) in history.txns().flat_map(|txn| history.ops(txn)) {
        match op {
            Op::Append { key, .. } | Op::ReadList { key, list: Some(_) } => is_list[key.index()] = true,
            Op::Read { key, value: Some(_) } => others.push((key, id)),
            Op::RangeRead(range) if range.rows.is_some() => ranges.push((id, range)),
            Op::Write { key, .. } | Op::Insert { key, .. } | Op::Delete { key, .. } => others.push((key, id)),
            _ => {}
        }
    }
    let refuse = |op: OpId, why: &str| Err(Flaw::new(Place::Op(op), why));
    if let Some(&(_, op)) = others.iter().find(|&&(key, _)| is_list[key.index()]) {
        return refuse(op, "certificates for keys that are lists and values are not supported yet");
    }
    let lists = || (0..is_list.len()).filter(|&key| is_list[key]).map(KeyId::from_index);
    let is_over_list = |range: &RangeRead| lists().any(|key| range.contains(history.keys().original(key)));
    if let Some(&(op, _)) = ranges.iter().find(|(_, range)| is_over_list(range)) {
        return refuse(op, "certificates for ranges of keys that are lists are not supported yet");
    }
    match lists().any(|key| history.initial().value_of(key) != Some(ValueId::NIL)) {
        true => Err(Flaw::new(
            Place::Whole,
            "certificates for lists that do not start empty are not supported yet",
        )),
        false => Ok(()),
    }
}
