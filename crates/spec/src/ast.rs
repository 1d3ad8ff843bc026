//! The tree of a file as written, before names are resolved and sorts are known.
//!
//! Formulas and relations share one grammar: `&` is a conjunction of truths and an intersection of relations, and only
//! the sort check tells which. This keeps the notation of the literature without two sets of symbols.

use std::ops::Range;

/// A piece of the tree and the bytes it was read from.
#[derive(Clone, Debug)]
pub(crate) struct Node<T> {
    pub value: T,
    pub span: Range<usize>,
}

pub(crate) type Name = Node<String>;
pub(crate) type Expr = Node<ExprKind>;

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    Name(String),
    /// `@level`: the transactions that ran at it.
    RanAt(String),
    /// `name(a, b)`: membership, or use of a definition with parameters.
    Call(Name, Vec<Expr>),
    /// `R[x]`: the rest of the tuples that begin with x.
    Index(Box<Expr>, Box<Expr>),
    /// `(a, b)`: only before `in`.
    Tuple(Vec<Expr>),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `a R b`.
    Related(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `all x : object . F`, and `some`, `no`, `one`, `lone`.
    Quantified(Quantifier, Vec<Binding>, Box<Expr>),
    /// `some R`, `no R`, `one R`, `lone R`.
    Counted(Quantifier, Box<Expr>),
    /// `{a, b : txn | F}`.
    Comprehension(Vec<Binding>, Box<Expr>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unary {
    Not,
    Inverse,
    Closure,
    Star,
    Optional,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Binary {
    Iff,
    Implies,
    Or,
    And,
    Equal,
    Unequal,
    In,
    Minus,
    Join,
    Product,
    DomainRestrict,
    RangeRestrict,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Quantifier {
    All,
    Some,
    No,
    One,
    Lone,
}

/// `a, b : txn`.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub names: Vec<Name>,
    pub domain: Expr,
}

#[derive(Clone, Debug)]
pub(crate) enum Item {
    Include(Name),
    Define(Definition),
    Level(LevelItem),
}

#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub name: Name,
    pub parameters: Vec<Binding>,
    pub body: Expr,
}

#[derive(Clone, Debug)]
pub(crate) struct LevelItem {
    pub name: Name,
    pub doc: String,
    pub aliases: Vec<Name>,
    pub framework: Option<Name>,
    pub clauses: Vec<Clause>,
    pub span: Range<usize>,
}

#[derive(Clone, Debug)]
pub(crate) enum Clause {
    Order(Name, Expr),
    Visible(Name, Expr),
    Require(Expr),
}
