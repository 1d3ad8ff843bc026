//! Which levels a history is asked for: those that the user names, or all that make sense.

use history::History;
use levels::LevelId;
use serde::Serialize;

use crate::answer::AskedLevel;
use crate::error::Error;

/// The levels that the user names; none means all.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Shipped levels, in the order in which they were named.
    shipped: Vec<LevelId>,
    /// Levels of the user's own.
    own: Vec<spec::Level>,
    /// Whether each transaction is judged by the level that it ran at.
    recorded: bool,
}

/// A level that was left out, although the user did not leave it out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct NotAsked {
    /// Its name.
    pub level: &'static str,
    /// Why.
    pub reason: &'static str,
}

/// The levels that one history is asked for.
pub(crate) struct Choice {
    /// Levels that an engine decides.
    pub engine: Vec<LevelId>,
    /// Levels that have a text alone.
    pub weak: Vec<LevelId>,
    /// Levels of the user's own.
    pub own: Vec<spec::Level>,
    pub not_asked: Vec<NotAsked>,
}

impl Asked {
    /// Adds a shipped level, unless it is there already.
    pub fn add(&mut self, level: LevelId) {
        if !self.shipped.contains(&level) {
            self.shipped.push(level);
        }
    }

    /// Adds levels of the user's own.
    pub fn add_own(&mut self, levels: impl IntoIterator<Item = spec::Level>) {
        self.own.extend(levels);
    }

    /// Asks whether each transaction got the level that it records.
    pub fn add_recorded(&mut self) {
        self.recorded = true;
    }

    /// Whether each transaction is judged by the level that it records.
    pub fn is_recorded(&self) -> bool {
        self.recorded
    }

    /// One level alone; a level of the user's own must be among those that were added.
    pub(crate) fn only(&self, level: &AskedLevel) -> Self {
        match level {
            AskedLevel::Shipped(level) => Self { shipped: vec![*level], ..Self::default() },
            AskedLevel::Own(name) if self.recorded && name == spec::recorded::NAME => {
                Self { recorded: true, ..Self::default() }
            }
            AskedLevel::Own(name) => {
                let own = self.own.iter().filter(|own| own.name == *name).take(1).cloned();
                Self { own: own.collect(), ..Self::default() }
            }
        }
    }

    /// Whether no level was named, which means all.
    pub fn is_all(&self) -> bool {
        self.shipped.is_empty() && self.own.is_empty() && !self.recorded
    }

    /// Whether it is exactly one level.
    pub fn is_one(&self) -> bool {
        self.shipped.len() + self.own.len() + usize::from(self.recorded) == 1
    }

    /// The shipped level, if it is exactly one level and that one is shipped.
    pub fn only_shipped(&self) -> Option<LevelId> {
        self.shipped.first().copied().filter(|_| self.is_one())
    }

    /// The text of the level, if it is exactly one.
    pub fn only_text(&self) -> Option<&spec::Level> {
        match (&self.shipped[..], &self.own[..]) {
            _ if self.recorded => None,
            ([level], []) => Some(level.spec()),
            ([], [level]) => Some(level),
            _ => None,
        }
    }

    /// The names of the levels, whatever the history turns out to be.
    pub fn names(&self) -> Vec<String> {
        let all: Vec<LevelId> = match self.is_all() {
            true => LevelId::ALL.to_vec(),
            false => self.shipped.clone(),
        };
        let own = self.own.iter().map(|level| level.name.clone());
        let recorded = self.recorded.then(|| spec::recorded::NAME.to_owned());
        all.into_iter().map(|level| level.name().to_owned()).chain(own).chain(recorded).collect()
    }

    /// What this history is asked for.
    pub(crate) fn choose(&self, history: &History) -> Result<Choice, Error> {
        let is_answerable = |level: &LevelId| history.has_times() || !level.needs_times();
        if let Some(&level) = self.shipped.iter().find(|level| !is_answerable(level)) {
            let instead = Some(level.without_times());
            return Err(Error::NeedsTimes { level: level.name().to_owned(), instead });
        }
        let mut own = self.own.clone();
        if self.recorded {
            let level = spec::recorded::level(history);
            own.push(level.map_err(|why| Error::NoRecordedLevel(why.sentence(history)))?);
        }
        if let Some(level) = own.iter().find(|level| level.needs_times() && !history.has_times()) {
            return Err(Error::NeedsTimes { level: level.name.clone(), instead: None });
        }
        if self.is_all() {
            return Ok(all_answerable(is_answerable));
        }
        let (engine, weak) = self.shipped.iter().partition(|level| level.engine().is_some());
        Ok(Choice { engine, weak, own, not_asked: Vec::new() })
    }
}

impl FromIterator<LevelId> for Asked {
    fn from_iter<I: IntoIterator<Item = LevelId>>(levels: I) -> Self {
        let mut asked = Self::default();
        levels.into_iter().for_each(|level| asked.add(level));
        asked
    }
}

fn all_answerable(is_answerable: impl Fn(&LevelId) -> bool) -> Choice {
    let (engine, left): (Vec<_>, Vec<_>) = LevelId::with_engine().partition(is_answerable);
    let reason = "needs timestamps, which this file does not have";
    let not_asked = left.iter().map(|level| NotAsked { level: level.name(), reason }).collect();
    let weak = LevelId::ALL.into_iter().filter(|level| level.engine().is_none()).collect();
    Choice { engine, weak, own: Vec::new(), not_asked }
}
