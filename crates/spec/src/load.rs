//! Files to levels: includes, definitions, and the levels they give.
//!
//! An include is looked up in the standard library first (`std/...`) and then by a function of the caller, so that
//! this crate reads no files.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::ast::{Clause, Item, LevelItem, Name};
use crate::bounds::{MOST_FILES, MOST_STEPS, Part, exceeded, too_many_parts};
use crate::check::{Checked, Checker, Definitions};
use crate::core::{Base, Formula, Framework, Level, Rel};
use crate::error::{SourceFile, SpecError, SpecErrorKind as Kind};
use crate::library;
use crate::parser::parse;
use crate::vocabulary::{base_of, nearest};

/// A text that defines levels, with everything it includes.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The levels of the main file, in its order.
    pub levels: Vec<Level>,
}

impl Spec {
    /// Reads a text that includes nothing but the standard library.
    pub fn parse(name: &str, text: &str) -> Result<Self, SpecError> {
        Self::parse_with(name, text, &mut |_| None)
    }

    /// Reads a text; `find` gives the text of an included file, or nothing if there is none.
    pub fn parse_with(
        name: &str,
        text: &str,
        find: &mut dyn FnMut(&str) -> Option<String>,
    ) -> Result<Self, SpecError> {
        let mut loader = Loader {
            find,
            files: Vec::new(),
            definitions: BTreeMap::new(),
            levels: Vec::new(),
            steps_left: Cell::new(MOST_STEPS),
        };
        loader.file(SourceFile { name: name.to_string(), text: text.to_string() })?;
        loader.check_definitions()?;
        let levels = loader.levels()?;
        Ok(Self { levels })
    }

    /// A level by its name or alias.
    pub fn level(&self, name: &str) -> Option<&Level> {
        self.levels.iter().find(|level| level.name == name || level.aliases.iter().any(|alias| alias == name))
    }
}

struct Loader<'f> {
    find: &'f mut dyn FnMut(&str) -> Option<String>,
    files: Vec<SourceFile>,
    definitions: Definitions,
    levels: Vec<(usize, LevelItem)>,
    steps_left: Cell<usize>,
}

impl Loader<'_> {
    fn file(&mut self, file: SourceFile) -> Checked<()> {
        let number = self.files.len();
        let items = parse(&file.text).map_err(|error| error.in_file(&file))?;
        self.files.push(file);
        for item in items {
            self.item(number, item).map_err(|error| error.in_file(&self.files[number]))?;
        }
        Ok(())
    }

    fn item(&mut self, file: usize, item: Item) -> Checked<()> {
        match item {
            Item::Include(name) => self.include(&name),
            Item::Define(definition) => {
                let name = definition.name.clone();
                refuse_word(&name)?;
                if self.definitions.insert(name.value.clone(), (file, definition)).is_some() {
                    return Err(defined_twice(&name));
                }
                Ok(())
            }
            Item::Level(level) => {
                let known = |name: &Name| self.levels.iter().any(|(_, other)| has_name(other, &name.value));
                if let Some(name) = [&level.name].into_iter().chain(&level.aliases).find(|name| known(name)) {
                    return Err(defined_twice(name));
                }
                self.levels.push((file, level));
                Ok(())
            }
        }
    }

    fn include(&mut self, name: &Name) -> Checked<()> {
        if self.files.iter().any(|file| file.name == name.value) {
            return Ok(());
        }
        if self.files.len() > MOST_FILES {
            let message = format!("more than {MOST_FILES} files are included");
            return Err(exceeded(name.span.clone(), message));
        }
        let found = library::file(&name.value).map(str::to_string).or_else(|| (self.find)(&name.value));
        let Some(text) = found else {
            let error = SpecError::new(
                Kind::Include,
                name.span.clone(),
                format!("cannot include \"{}\"", name.value),
            );
            return Err(match nearest(&name.value, library::file_names()) {
                Some(near) => error.hint(format!("the standard library has \"{near}\"")),
                None => error.hint("no such file"),
            });
        };
        self.file(SourceFile { name: name.value.clone(), text })
    }

    /// Definitions that are not used must be right too. Those that use `visible` or `before` are checked where both exist.
    fn check_definitions(&self) -> Checked<()> {
        for (file, definition) in self.definitions.values() {
            let mut checker = Checker::new(&self.definitions, Framework::Visibility, *file, &self.steps_left);
            checker.defines_visible = true;
            checker.definition(definition).map_err(|error| error.in_file(&self.files[checker.file]))?;
        }
        Ok(())
    }

    fn levels(&self) -> Result<Vec<Level>, SpecError> {
        let own = self.levels.iter().map(|(file, item)| (*file, item));
        // Includes serve their definitions; only the main file's levels are levels of this spec.
        own.filter(|(file, _)| *file == 0)
            .map(|(file, item)| {
                let mut checker =
                    Checker::new(&self.definitions, framework_of(item)?, file, &self.steps_left);
                let text = self.files[file].text[item.span.clone()].to_string();
                level(&mut checker, item, text).map_err(|error| error.in_file(&self.files[checker.file]))
            })
            .map(|level| level.map_err(|error| error.in_file(&self.files[0])))
            .collect()
    }
}

fn has_name(level: &LevelItem, name: &str) -> bool {
    level.name.value == name || level.aliases.iter().any(|alias| alias.value == name)
}

fn refuse_word(name: &Name) -> Checked<()> {
    let words = [
        "txn",
        "object",
        "value",
        "none",
        "any",
        "identity",
        "true",
        "false",
        "irreflexive",
        "transitive",
        "total",
    ];
    if base_of(&name.value).is_some() || words.contains(&name.value.as_str()) {
        return Err(SpecError::new(
            Kind::DuplicateName,
            name.span.clone(),
            format!("`{}` is a word of the language and cannot be defined", name.value),
        ));
    }
    Ok(())
}

fn defined_twice(name: &Name) -> SpecError {
    SpecError::new(Kind::DuplicateName, name.span.clone(), format!("`{}` is defined twice", name.value))
}

/// The history without a witness, and reads that need not come from a committed transaction.
const VALUES: &str = "values";

fn framework_of(item: &LevelItem) -> Checked<Framework> {
    let Some(name) = &item.framework else {
        return Ok(Framework::CommitOrder);
    };
    match name.value.as_str() {
        "commit_order" => Ok(Framework::CommitOrder),
        "visibility" => Ok(Framework::Visibility),
        "history" | VALUES => Ok(Framework::History),
        other => Err(SpecError::new(
            Kind::UnknownName,
            name.span.clone(),
            format!("there is no framework `{other}`"),
        )
        .hint("there are `commit_order`, `visibility`, `history` and `values`")),
    }
}

fn level(checker: &mut Checker<'_>, item: &LevelItem, text: String) -> Checked<Level> {
    let mut order = None;
    let mut require = Formula::Const(true);
    for clause in &item.clauses {
        match clause {
            Clause::Order(word, expr) => {
                once(order.is_none(), word, "order")?;
                order = Some(history_relation(checker, expr)?);
            }
            Clause::Visible(word, expr) => {
                once(checker.visible.is_none(), word, "visible")?;
                if checker.framework != Framework::CommitOrder {
                    return Err(SpecError::new(
                        Kind::NotInFramework,
                        word.span.clone(),
                        "only a level over commit_order can define `visible`",
                    ));
                }
                checker.defines_visible = true;
                checker.visible = Some(checker.txn_relation(expr, "visible")?);
                checker.defines_visible = false;
            }
            Clause::Require(expr) => {
                require = require.and(checker.formula(expr)?);
                if Part::Formula(&require).size().is_none() {
                    return Err(too_many_parts(expr.span.clone()));
                }
            }
        }
    }
    let order = order.unwrap_or_else(|| default_order(checker.framework));
    let over = item.framework.as_ref().filter(|name| name.value == VALUES);
    if let Some(name) = over.filter(|_| require != Formula::Const(true)) {
        let why = "a level over values says nothing of transactions: its formula is `true`";
        return Err(SpecError::new(Kind::NotInFramework, name.span.clone(), why));
    }
    Ok(Level {
        name: item.name.value.clone(),
        aliases: item.aliases.iter().map(|alias| alias.value.clone()).collect(),
        description: item.doc.clone(),
        framework: checker.framework,
        allows_uncommitted: over.is_some(),
        order,
        visible: checker.visible.take(),
        require,
        text: format!("level {text}"),
    })
}

fn once(is_first: bool, word: &Name, clause: &str) -> Checked<()> {
    if is_first {
        return Ok(());
    }
    Err(SpecError::new(Kind::DuplicateName, word.span.clone(), format!("`{clause}` is given twice")))
}

/// What the order must contain cannot itself depend on the order.
fn history_relation(checker: &mut Checker<'_>, expr: &crate::ast::Expr) -> Checked<Rel> {
    let rel = checker.txn_relation(expr, "order")?;
    if rel.mentions(Base::Before) || rel.mentions(Base::Visible) {
        return Err(SpecError::new(
            Kind::NotInFramework,
            expr.span.clone(),
            "`order` says what the witness must contain, so it cannot mention the witness",
        ));
    }
    Ok(rel)
}

fn default_order(framework: Framework) -> Rel {
    let session = Rel::Base(Base::Session);
    match framework {
        Framework::CommitOrder => session.union(Rel::Base(Base::ReadsFrom)),
        Framework::Visibility => session,
        Framework::History => Rel::None(vec![crate::core::Sort::Txn, crate::core::Sort::Txn]),
    }
}
