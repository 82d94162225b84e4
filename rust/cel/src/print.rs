//! One text for every way of writing an expression: what tells a change of meaning from a change of spelling.
use crate::ast::{Ast, Element, Entry, Expr, Fold, Id, Literal, Name};
use crate::parse::parse;
use crate::{Diagnostic, Limits};

/// The canonical text of an expression: equal for two that differ in blanks, comments, quotes, superfluous parentheses,
/// or the order and number of equal operands of `&&` and `||`, which means nothing in CEL. Every operator below
/// another is in parentheses.
///
/// ```
/// use callgate_cel::canonical;
/// let one = canonical("b || (a.x  > 'y')").unwrap();
/// assert_eq!(one, canonical("a.x > \"y\" || b || b").unwrap());
/// assert_eq!(one, r#"(a.x > "y") || b"#);
/// ```
///
/// # Errors
/// All that is wrong with its syntax.
pub fn canonical(source: &str) -> Result<String, Vec<Diagnostic>> {
    let ast = parse(source, &Limits::default())?;
    Ok(Printer { ast: &ast }.text(ast.root))
}

struct Printer<'a> {
    ast: &'a Ast,
}

impl Printer<'_> {
    /// The text of a node below another: in parentheses where it is an operator.
    fn inner(&self, id: Id) -> String {
        let text = self.text(id);
        match self.ast.expr(id) {
            Expr::Not(_)
            | Expr::Negate(_)
            | Expr::Chain { .. }
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::Compare { .. }
            | Expr::Ternary { .. } => format!("({text})"),
            // `-1.size()` is another thing than `(-1).size()`
            Expr::Literal(Literal::Int(value)) if *value < 0 => format!("({text})"),
            Expr::Literal(Literal::Double(value)) if value.is_sign_negative() => format!("({text})"),
            _ => text,
        }
    }

    fn text(&self, id: Id) -> String {
        match self.ast.expr(id) {
            Expr::Literal(value) => literal(value),
            Expr::Ident { name, rooted } => format!("{}{name}", if *rooted { "." } else { "" }),
            Expr::Select { operand, field, optional } => {
                let mark = if *optional { "?" } else { "" };
                format!("{}.{mark}{}", self.inner(*operand), name_of(field))
            }
            Expr::Index { operand, index, optional } => {
                let mark = if *optional { "?" } else { "" };
                format!("{}[{mark}{}]", self.inner(*operand), self.text(*index))
            }
            Expr::Has { operand, field } => format!("has({}.{})", self.inner(*operand), name_of(field)),
            Expr::Call { target, name, args } => {
                let target = target.map(|target| format!("{}.", self.inner(target))).unwrap_or_default();
                format!("{target}{}({})", name.text, self.listed(args))
            }
            Expr::List(elements) => {
                let elements: Vec<String> = elements.iter().map(|element| self.element(element)).collect();
                format!("[{}]", elements.join(", "))
            }
            Expr::Map(entries) => {
                let entries: Vec<String> = entries.iter().map(|entry| self.entry(entry)).collect();
                format!("{{{}}}", entries.join(", "))
            }
            Expr::Not(operand) => format!("!{}", self.inner(*operand)),
            Expr::Negate(operand) => format!("-{}", self.inner(*operand)),
            Expr::Chain { first, rest } => {
                let rest = rest.iter().map(|(op, term)| format!(" {} {}", op.sign(), self.inner(*term)));
                rest.fold(self.inner(*first), |text, term| text + &term)
            }
            Expr::And(terms) => self.sorted(terms, " && "),
            Expr::Or(terms) => self.sorted(terms, " || "),
            Expr::Compare { op, left, right } => {
                format!("{} {} {}", self.inner(*left), op.sign(), self.inner(*right))
            }
            Expr::Ternary { condition, then, otherwise } => {
                format!("{} ? {} : {}", self.inner(*condition), self.inner(*then), self.inner(*otherwise))
            }
            Expr::Comprehension(fold) => {
                let names: Vec<&str> =
                    [Some(&fold.first), fold.second.as_ref()].into_iter().flatten().map(word).collect();
                let parts = fold.filter.iter().chain([&fold.body]).map(|part| self.text(*part));
                let arguments: Vec<String> = names.into_iter().map(str::to_owned).chain(parts).collect();
                format!("{}.{}({})", self.inner(fold.range), macro_name(fold.fold), arguments.join(", "))
            }
            Expr::Bind { name, value, body } => {
                format!("cel.bind({}, {}, {})", name.text, self.text(*value), self.text(*body))
            }
            Expr::OptMap { target, name, body, flat } => {
                let function = if *flat { "optFlatMap" } else { "optMap" };
                format!("{}.{function}({}, {})", self.inner(*target), name.text, self.text(*body))
            }
            Expr::Broken => String::new(),
        }
    }

    fn listed(&self, ids: &[Id]) -> String {
        let texts: Vec<String> = ids.iter().map(|id| self.text(*id)).collect();
        texts.join(", ")
    }

    /// Operands of which order, number and grouping mean nothing.
    fn sorted(&self, terms: &[Id], sign: &str) -> String {
        let mut texts = Vec::new();
        self.spread(terms, sign, &mut texts);
        texts.sort_unstable();
        texts.dedup();
        texts.join(sign)
    }

    fn spread(&self, terms: &[Id], sign: &str, texts: &mut Vec<String>) {
        for term in terms {
            match self.ast.expr(*term) {
                Expr::And(inner) if sign == " && " => self.spread(inner, sign, texts),
                Expr::Or(inner) if sign == " || " => self.spread(inner, sign, texts),
                _ => texts.push(self.inner(*term)),
            }
        }
    }

    fn element(&self, element: &Element) -> String {
        format!("{}{}", if element.optional { "?" } else { "" }, self.text(element.value))
    }

    fn entry(&self, entry: &Entry) -> String {
        let mark = if entry.optional { "?" } else { "" };
        format!("{mark}{}: {}", self.text(entry.key), self.text(entry.value))
    }
}

/// A field's name, in back quotes where it is no plain one.
fn name_of(field: &Name) -> String {
    let plain = field.text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if plain {
        field.text.to_string()
    } else {
        format!("`{}`", field.text)
    }
}

fn word(name: &Name) -> &str {
    &name.text
}

fn macro_name(fold: Fold) -> &'static str {
    match fold {
        Fold::All => "all",
        Fold::Exists => "exists",
        Fold::ExistsOne => "exists_one",
        Fold::Map => "map",
        Fold::Filter => "filter",
        Fold::TransformMap => "transformMap",
        Fold::TransformMapEntry => "transformMapEntry",
        Fold::SortBy => "sortBy",
    }
}

fn literal(value: &Literal) -> String {
    match value {
        Literal::Null => "null".to_owned(),
        Literal::Bool(value) => value.to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Uint(value) => format!("{value}u"),
        Literal::Double(value) => format!("{value:?}"),
        Literal::Str(text) => format!("{text:?}"),
        Literal::Bytes(bytes) => format!("b{bytes:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[track_caller]
    fn same(one: &str, other: &str) {
        assert_eq!(canonical(one).unwrap(), canonical(other).unwrap());
    }

    #[track_caller]
    fn different(one: &str, other: &str) {
        assert_ne!(canonical(one).unwrap(), canonical(other).unwrap());
    }

    #[test]
    fn spelling_makes_no_difference() {
        same("args.a>1", " ( args.a ) > ( 1 ) // why");
        same("args.a == 'x'", "args.a == r\"x\"");
        same("a && b && c", "c && (b && a)");
        same("a || a", "a || a || a");
        same("x.exists(e, e > 0x10)", "x.exists(e, (e > 16))");
        same("1.0 < x", "1e0 < x");
    }

    #[test]
    fn meaning_makes_a_difference() {
        different("a && (b || c)", "(a && b) || c");
        different("a - (b - c)", "a - b - c");
        different("-(1).abs()", "(-1).abs()");
        different("a < b", "b < a");
        different("x == '1'", "x == 1");
        different("x == 1.0", "x == 1");
        different("x == b'1'", "x == '1'");
        different("x.?y", "x.y");
        different("[1, 2]", "[2, 1]");
        different("x.all(e, e)", "x.exists(e, e)");
        different("x.map(e, e > 1, e)", "x.map(e, e > 1)");
        different("a ? b : c", "a ? c : b");
        different("has(a.b)", "a.b");
        different("a.`b - c`", "a.b - c");
        different("x == \"a\\\"b\"", "x == 'ab'");
    }

    #[test]
    fn the_canonical_text_is_an_expression_of_the_same_canonical_text() {
        for source in [
            "a ? b : c || !d",
            "-x.y[0].z(1u, -2) + 3 * 4 % 5",
            "{'k': [1, ?o], ?'l': m}.k",
            "cel.bind(v, x.y, v > 1 && v < 3)",
            "x.optMap(e, e + 1)",
            "x.transformMap(k, v, k != 'a', v)",
            "'\\n\\\"' + \"é\"",
        ] {
            let once = canonical(source).unwrap();
            assert_eq!(canonical(&once).unwrap_or_else(|faults| panic!("{once}: {faults:?}")), once, "{source}");
        }
    }
}
