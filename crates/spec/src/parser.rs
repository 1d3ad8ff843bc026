//! Tokens to a tree, by recursive descent with binding powers for the operators.
//!
//! From loose to tight: `<=>`, `=>`, `|`, `&`, `!`, the comparisons (`=`, `!=`, `in`, `a R b`), `-`, the products
//! (`;`, `><`, `<:`, `:>`), `~`, and the postfix `+ * ? [x] (a, b)`. A union inside a comparison therefore needs
//! parentheses, and the sort check says so when they are missing.

use std::ops::Range;

use crate::ast::*;
use crate::bounds::{DEEPEST_NESTING, MOST_TOKENS, exceeded, refuse_deep};
use crate::error::{SpecError, SpecErrorKind};
use crate::lexer::{Spanned, Token, tokens};

type Parsed<T> = Result<T, SpecError>;

/// Words that cannot name anything.
const RESERVED: [&str; 19] = [
    "all", "some", "no", "one", "lone", "in", "and", "or", "not", "implies", "iff", "define", "level",
    "include", "alias", "over", "require", "txn", "acyclic",
];

/// Reads a whole file.
pub(crate) fn parse(text: &str) -> Parsed<Vec<Item>> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, item_start: 0, nesting: 0 };
    let mut items = Vec::new();
    while parser.peek() != &Token::End {
        parser.item_start = parser.at;
        items.push(parser.item()?);
    }
    Ok(items)
}

struct Parser {
    tokens: Vec<Spanned>,
    at: usize,
    /// The first token of the item that is being read.
    item_start: usize,
    /// How many expressions are open inside one another.
    nesting: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].token
    }

    fn span(&self) -> Range<usize> {
        self.tokens[self.at].span.clone()
    }

    fn end_of_last(&self) -> usize {
        self.tokens[self.at.saturating_sub(1)].span.end
    }

    fn advance(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(found) if *found == symbol)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Name(found) if found == word)
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, symbol: &str, place: &str) -> Parsed<()> {
        if self.accept(symbol) { Ok(()) } else { Err(self.unexpected(&format!("`{symbol}` {place}"))) }
    }

    fn unexpected(&self, wanted: &str) -> SpecError {
        let found = match self.peek() {
            Token::Name(name) => format!("`{name}`"),
            Token::RanAt(level) => format!("`@{level}`"),
            Token::Text(text) => format!("\"{text}\""),
            Token::Doc(_) => "a `///` line".to_string(),
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::End => "the end of the file".to_string(),
        };
        SpecError::new(SpecErrorKind::Syntax, self.span(), format!("expected {wanted}, found {found}"))
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        let span = self.span();
        match self.peek().clone() {
            Token::Name(name) if RESERVED.contains(&name.as_str()) => Err(SpecError::new(
                SpecErrorKind::Syntax,
                span,
                format!("`{name}` is a word of the language and cannot be {what}"),
            )),
            Token::Name(value) => {
                self.advance();
                Ok(Node { value, span })
            }
            _ => Err(self.unexpected(what)),
        }
    }

    fn item(&mut self) -> Parsed<Item> {
        let doc = self.doc();
        if self.accept_word("include") {
            return self.include();
        }
        if self.accept_word("define") {
            return Ok(Item::Define(self.definition()?));
        }
        if self.accept_word("level") {
            return Ok(Item::Level(self.level(doc)?));
        }
        Err(self.unexpected("`level`, `define` or `include`"))
    }

    fn doc(&mut self) -> String {
        let mut lines = Vec::new();
        while let Token::Doc(line) = self.peek().clone() {
            lines.push(line);
            self.advance();
        }
        lines.join("\n")
    }

    fn include(&mut self) -> Parsed<Item> {
        let span = self.span();
        match self.advance() {
            Token::Text(value) => Ok(Item::Include(Node { value, span })),
            _ => {
                self.at -= 1;
                Err(self.unexpected("a file name in quotes"))
            }
        }
    }

    fn definition(&mut self) -> Parsed<Definition> {
        let name = self.name("the name of a definition")?;
        let mut parameters = Vec::new();
        if self.accept("(") {
            parameters = self.bindings()?;
            self.expect(")", "after the parameters")?;
        }
        self.expect("=", "before the body of the definition")?;
        Ok(Definition { name, parameters, body: self.expr()? })
    }

    fn level(&mut self, doc: String) -> Parsed<LevelItem> {
        let start = self.span().start;
        let name = self.name("the name of a level")?;
        let mut aliases = Vec::new();
        if self.accept_word("alias") {
            aliases.push(self.name("another name of the level")?);
            while self.accept(",") {
                aliases.push(self.name("another name of the level")?);
            }
        }
        let framework = if self.accept_word("over") { Some(self.name("a framework")?) } else { None };
        self.expect(":", "before what the level demands")?;
        let mut clauses = vec![self.clause()?];
        while self.accept(",") {
            clauses.push(self.clause()?);
        }
        Ok(LevelItem { name, doc, aliases, framework, clauses, span: start..self.end_of_last() })
    }

    fn clause(&mut self) -> Parsed<Clause> {
        let keyword = Node { value: String::new(), span: self.span() };
        let assigns = matches!(self.tokens.get(self.at + 1), Some(next) if next.token == Token::Symbol("="));
        if assigns && self.accept_word("visible") {
            self.advance();
            return Ok(Clause::Visible(keyword, self.expr()?));
        }
        if assigns && self.accept_word("order") {
            self.advance();
            return Ok(Clause::Order(keyword, self.expr()?));
        }
        self.accept_word("require");
        Ok(Clause::Require(self.expr()?))
    }

    fn bindings(&mut self) -> Parsed<Vec<Binding>> {
        let mut bindings = Vec::new();
        loop {
            let mut names = vec![self.name("a variable")?];
            while self.accept(",") {
                names.push(self.name("a variable")?);
            }
            self.expect(":", "between the variables and what they range over")?;
            let domain = self.binary(6)?;
            if self.nesting == 0 {
                refuse_deep(&domain)?;
            }
            bindings.push(Binding { names, domain });
            if !self.accept(",") {
                return Ok(bindings);
            }
        }
    }

    /// A whole expression, which is not too deep for what follows to call itself for each part.
    pub(crate) fn expr(&mut self) -> Parsed<Expr> {
        let expr = self.binary(0)?;
        if self.nesting == 0 {
            refuse_deep(&expr)?;
        }
        Ok(expr)
    }

    fn binary(&mut self, floor: u8) -> Parsed<Expr> {
        self.nesting += 1;
        if self.nesting > DEEPEST_NESTING {
            let message = format!("more than {DEEPEST_NESTING} expressions are inside one another here");
            return Err(exceeded(self.span(), message).hint("split it with `define`"));
        }
        let found = self.chain(floor);
        self.nesting -= 1;
        found
    }

    fn refuse_long(&self) -> Parsed<()> {
        if self.at - self.item_start <= MOST_TOKENS {
            return Ok(());
        }
        let message = format!("this definition or level has more than {MOST_TOKENS} words and symbols");
        Err(exceeded(self.span(), message).hint("split it with `define`"))
    }

    fn chain(&mut self, floor: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        loop {
            self.refuse_long()?;
            if let Some((operator, power)) = self.infix() {
                if power < floor {
                    return Ok(left);
                }
                self.advance();
                // Implication groups to the right, everything else to the left.
                let right = self.binary(if operator == Binary::Implies { power } else { power + 1 })?;
                let span = left.span.start..right.span.end;
                left = Node { value: ExprKind::Binary(operator, left.into(), right.into()), span };
            } else if floor <= COMPARISON && self.starts_relation() {
                let relation = self.postfix()?;
                let right = self.binary(COMPARISON + 1)?;
                let span = left.span.start..right.span.end;
                left = Node { value: ExprKind::Related(left.into(), relation.into(), right.into()), span };
            } else {
                return Ok(left);
            }
        }
    }

    /// Whether a name follows an operand directly, as in `t1 before t2`.
    fn starts_relation(&self) -> bool {
        matches!(self.peek(), Token::Name(name) if !RESERVED.contains(&name.as_str()))
    }

    fn infix(&self) -> Option<(Binary, u8)> {
        Some(match self.peek() {
            Token::Symbol("<=>") => (Binary::Iff, 0),
            Token::Symbol("=>") => (Binary::Implies, 1),
            Token::Symbol("|") => (Binary::Or, 2),
            Token::Symbol("&") => (Binary::And, 3),
            Token::Symbol("=") => (Binary::Equal, COMPARISON),
            Token::Symbol("!=") => (Binary::Unequal, COMPARISON),
            Token::Symbol("-") => (Binary::Minus, 6),
            Token::Symbol(";") => (Binary::Join, 7),
            Token::Symbol("><") => (Binary::Product, 7),
            Token::Symbol("<:") => (Binary::DomainRestrict, 7),
            Token::Symbol(":>") => (Binary::RangeRestrict, 7),
            Token::Name(word) => match word.as_str() {
                "iff" => (Binary::Iff, 0),
                "implies" => (Binary::Implies, 1),
                "or" => (Binary::Or, 2),
                "and" => (Binary::And, 3),
                "in" => (Binary::In, COMPARISON),
                _ => return None,
            },
            _ => return None,
        })
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.span().start;
        if self.accept("!") || self.accept_word("not") {
            let inner = self.binary(COMPARISON)?;
            let span = start..inner.span.end;
            return Ok(Node { value: ExprKind::Unary(Unary::Not, inner.into()), span });
        }
        if self.accept("~") {
            let inner = self.postfix()?;
            let span = start..inner.span.end;
            return Ok(Node { value: ExprKind::Unary(Unary::Inverse, inner.into()), span });
        }
        match self.quantifier() {
            Some(quantifier) => self.quantified(quantifier, start),
            None => self.postfix(),
        }
    }

    fn quantifier(&mut self) -> Option<Quantifier> {
        let words = [
            ("all", Quantifier::All),
            ("some", Quantifier::Some),
            ("no", Quantifier::No),
            ("one", Quantifier::One),
            ("lone", Quantifier::Lone),
        ];
        words.into_iter().find(|(word, _)| self.accept_word(word)).map(|(_, quantifier)| quantifier)
    }

    fn quantified(&mut self, quantifier: Quantifier, start: usize) -> Parsed<Expr> {
        if self.binds_variables() {
            let bindings = self.bindings()?;
            self.expect(".", "between the variables and the formula")?;
            let body = self.expr()?;
            let span = start..body.span.end;
            return Ok(Node { value: ExprKind::Quantified(quantifier, bindings, body.into()), span });
        }
        if quantifier == Quantifier::All {
            return Err(self.unexpected("variables after `all`, as in `all t : txn . ...`"));
        }
        let relation = self.binary(COMPARISON + 1)?;
        let span = start..relation.span.end;
        Ok(Node { value: ExprKind::Counted(quantifier, relation.into()), span })
    }

    /// Whether `name, name :` comes next, which begins variables and cannot begin a relation.
    fn binds_variables(&self) -> bool {
        let mut at = self.at;
        loop {
            if !matches!(self.tokens[at].token, Token::Name(_)) {
                return false;
            }
            match self.tokens[at + 1].token {
                Token::Symbol(":") => return true,
                Token::Symbol(",") => at += 2,
                _ => return false,
            }
        }
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        let mut left = self.primary()?;
        loop {
            self.refuse_long()?;
            let start = left.span.start;
            let kind = if self.accept("+") {
                ExprKind::Unary(Unary::Closure, left.into())
            } else if self.accept("*") {
                ExprKind::Unary(Unary::Star, left.into())
            } else if self.accept("?") {
                ExprKind::Unary(Unary::Optional, left.into())
            } else if self.accept("[") {
                let index = self.expr()?;
                self.expect("]", "after the index")?;
                ExprKind::Index(left.into(), index.into())
            } else {
                return Ok(left);
            };
            left = Node { value: kind, span: start..self.end_of_last() };
        }
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.span().start;
        if self.accept("(") {
            return self.parenthesised(start);
        }
        if self.accept("{") {
            let bindings = self.bindings()?;
            self.expect("|", "between the variables and the formula")?;
            let body = self.expr()?;
            self.expect("}", "after the formula")?;
            return Ok(self.since(start, ExprKind::Comprehension(bindings, body.into())));
        }
        if let Token::RanAt(level) = self.peek().clone() {
            self.advance();
            return Ok(self.since(start, ExprKind::RanAt(level)));
        }
        let name = if self.accept_word("txn") || self.accept_word("acyclic") {
            let span = start..self.end_of_last();
            Node { value: if span.len() == 3 { "txn" } else { "acyclic" }.to_string(), span }
        } else {
            self.name("a relation, a variable or a formula")?
        };
        if self.accept("(") {
            let arguments = self.list(")", "after the arguments")?;
            return Ok(self.since(start, ExprKind::Call(name, arguments)));
        }
        Ok(Node { value: ExprKind::Name(name.value), span: name.span })
    }

    fn parenthesised(&mut self, start: usize) -> Parsed<Expr> {
        let mut inside = self.list(")", "to close the parenthesis")?;
        if inside.len() == 1 {
            let only = inside.remove(0);
            return Ok(self.since(start, only.value));
        }
        Ok(self.since(start, ExprKind::Tuple(inside)))
    }

    fn list(&mut self, close: &str, place: &str) -> Parsed<Vec<Expr>> {
        let mut list = vec![self.expr()?];
        while self.accept(",") {
            list.push(self.expr()?);
        }
        self.expect(close, place)?;
        Ok(list)
    }

    fn since(&self, start: usize, value: ExprKind) -> Expr {
        Node { value, span: start..self.end_of_last() }
    }
}

const COMPARISON: u8 = 5;
