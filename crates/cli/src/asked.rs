//! Which levels a history is asked for: those that the command line names, or all that make sense.

use crate::exit::Failure;
use crate::levels::{self, NamedLevel};
use crate::load::Subject;
use crate::own_level;
use crate::report::NotAsked;

/// The levels of a command line; none means all.
#[derive(Debug)]
pub struct Asked {
    /// Levels that an engine decides.
    named: Vec<NamedLevel>,
    /// Levels that have a definition alone.
    weak: Vec<NamedLevel>,
    /// Levels of the user's own.
    own: Vec<spec::Level>,
}

/// The levels that a history is asked for.
#[derive(Debug)]
pub struct Choice {
    /// Levels that an engine decides, strongest first unless the user named them.
    pub named: Vec<NamedLevel>,
    /// Levels that have a definition alone.
    pub weak: Vec<NamedLevel>,
    /// Levels of the user's own.
    pub own: Vec<spec::Level>,
    /// What was left out, although the user did not leave it out.
    pub not_asked: Vec<NotAsked>,
}

impl Asked {
    /// The levels of the command line.
    pub fn parse(names: &[String]) -> Result<Self, Failure> {
        let mut asked = Self { named: Vec::new(), weak: Vec::new(), own: Vec::new() };
        for name in names {
            if own_level::is_file_name(name) {
                asked.own.extend(own_level::read(name)?);
                continue;
            }
            let level = levels::find(name)?;
            let known = if level.engine.is_some() { &mut asked.named } else { &mut asked.weak };
            if known.iter().all(|known| known.name() != level.name()) {
                known.push(level);
            }
        }
        Ok(asked)
    }

    /// Whether the command line names none.
    fn is_all(&self) -> bool {
        self.named.is_empty() && self.weak.is_empty() && self.own.is_empty()
    }

    /// Whether it is exactly one level that has certificates.
    pub fn is_one_with_engine(&self) -> bool {
        self.named.len() == 1 && self.weak.is_empty() && self.own.is_empty()
    }

    /// The names of the levels, whatever the history turns out to be.
    pub fn names(&self) -> Vec<String> {
        let own = self.own.iter().map(|level| level.name.clone());
        let all = levels::with_engine();
        let named = if self.is_all() { &all } else { &self.named };
        named.iter().chain(&self.weak).map(|level| level.name().to_owned()).chain(own).collect()
    }

    /// What this history is asked for.
    pub fn choose(self, subject: &Subject) -> Result<Choice, Failure> {
        let is_answerable = |level: &NamedLevel| subject.history.has_times() || !level.needs_times();
        if let Some(level) = self.named.iter().find(|level| !is_answerable(level)) {
            return Err(no_times(*level, subject));
        }
        let is_all = self.is_all();
        let (all, left): (Vec<_>, Vec<_>) = levels::with_engine().into_iter().partition(is_answerable);
        let not_asked =
            left.iter().map(|level| NotAsked { level: level.name(), reason: "the history has no times" });
        Ok(Choice {
            not_asked: if is_all { not_asked.collect() } else { Vec::new() },
            named: if is_all { all } else { self.named },
            weak: self.weak,
            own: self.own,
        })
    }
}

fn no_times(level: NamedLevel, subject: &Subject) -> Failure {
    Failure::new(format!(
        "{} needs to know when transactions ran, and {} has no times; without times ask for {}",
        level.name(),
        subject.name,
        timeless(level)
    ))
}

/// The strongest level that a level of real time implies and that needs no times.
fn timeless(level: NamedLevel) -> &'static str {
    levels::with_engine()
        .into_iter()
        .find(|weaker| !weaker.needs_times() && levels::implies(level.name(), weaker.name()))
        .map_or("serializable", NamedLevel::name)
}
