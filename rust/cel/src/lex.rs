//! From text to tokens, with exact byte spans; every bad literal is reported and lexing goes on.
use crate::literal;
use crate::{Code, Diagnostic, Span};

/// A token's kind, with what a literal stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A name, a keyword or a reserved word.
    Name(Box<str>),
    /// A field name in backquotes.
    Quoted(Box<str>),
    /// An integer without its sign.
    Int(u64),
    Uint(u64),
    Double(f64),
    Str(Box<str>),
    Bytes(Box<[u8]>),
    /// An operator or bracket.
    Mark(&'static str),
    /// A literal that was reported as broken; it stands where an operand may stand.
    Broken,
    End,
}

/// Longer marks first, so that `<=` is not read as `<`.
const MARKS: [&str; 25] = [
    "&&", "||", "<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")", "[", "]",
    "{", "}", "=",
];

/// The tokens of `source`, closed by [`Token::End`], and what could not be read.
pub(crate) fn lex(source: &str) -> (Vec<(Token, Span)>, Vec<Diagnostic>) {
    let mut lexer = Lexer { source, at: 0, faults: Vec::new() };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let start = lexer.at;
        let Some(first) = lexer.peek() else {
            tokens.push((Token::End, Span::new(start, start)));
            return (tokens, lexer.faults);
        };
        if let Some(token) = lexer.token(first) {
            tokens.push((token, Span::new(start, lexer.at)));
        }
    }
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
    faults: Vec<Diagnostic>,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn advance(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes).min(self.source.len());
    }

    /// Takes as long as `keep` holds.
    fn take(&mut self, keep: impl Fn(char) -> bool) -> &'s str {
        let rest = self.rest();
        let taken = rest.split_once(|c| !keep(c)).map_or(rest, |(taken, _)| taken);
        self.advance(taken.len());
        taken
    }

    fn fault(&mut self, code: Code, start: usize, message: String) -> &mut Diagnostic {
        let end = self.at.max(start.saturating_add(1)).min(self.source.len());
        let at = self.faults.len();
        self.faults.push(Diagnostic::new(code, Span::new(start, end), message));
        #[allow(clippy::indexing_slicing)] // pushed on the line above
        &mut self.faults[at]
    }

    fn skip_blanks(&mut self) {
        loop {
            self.take(|c| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}'));
            if !self.rest().starts_with("//") {
                return;
            }
            self.take(|c| c != '\n');
        }
    }

    fn token(&mut self, first: char) -> Option<Token> {
        let start = self.at;
        if first.is_ascii_digit() || (first == '.' && self.rest().chars().nth(1).is_some_and(|c| c.is_ascii_digit())) {
            return Some(self.number());
        }
        if first.is_ascii_alphabetic() || first == '_' {
            if let Some(token) = self.string() {
                return Some(token);
            }
            return Some(Token::Name(self.take(|c| c.is_ascii_alphanumeric() || c == '_').into()));
        }
        if let Some(token) = self.string() {
            return Some(token);
        }
        if first == '`' {
            return Some(self.quoted_name());
        }
        if let Some(mark) = MARKS.iter().find(|mark| self.rest().starts_with(**mark)) {
            self.advance(mark.len());
            if *mark == "=" {
                self.fault(Code::Syntax, start, "`=` is no operator".into()).hint = Some("compare with `==`".into());
                return Some(Token::Mark("=="));
            }
            return Some(Token::Mark(mark));
        }
        self.advance(first.len_utf8());
        let message = match first {
            '&' | '|' => format!("`{first}` is no operator"),
            _ => format!("unexpected character `{}`", first.escape_debug()),
        };
        let hint = match first {
            '&' | '|' => Some(format!("write `{first}{first}`")),
            '\u{2018}'..='\u{201f}' => Some("strings stand in straight quotes, `'` or `\"`".into()),
            '#' => Some("an expression has no comments with `#`: move it above the key".into()),
            ';' => Some("a policy expression is one expression, without `;`".into()),
            _ => None,
        };
        self.fault(Code::Syntax, start, message).hint = hint;
        match first {
            '&' => Some(Token::Mark("&&")),
            '|' => Some(Token::Mark("||")),
            _ => None,
        }
    }

    fn quoted_name(&mut self) -> Token {
        let start = self.at;
        self.advance(1);
        let name = self.take(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' '));
        if self.peek() == Some('`') && !name.is_empty() {
            self.advance(1);
            return Token::Quoted(name.into());
        }
        self.take(|c| c != '`' && c != '\n');
        self.advance(usize::from(self.peek() == Some('`')));
        let fault = self.fault(Code::BadLiteral, start, "a field name in backquotes that cannot be read".into());
        fault.hint =
            Some("letters, digits, `_`, `.`, `-`, `/` and blanks may stand in it; else write `x[\"name\"]`".into());
        Token::Broken
    }

    fn number(&mut self) -> Token {
        let start = self.at;
        let rest = self.rest();
        if rest.starts_with("0x") || rest.starts_with("0X") {
            self.advance(2);
            let digits = self.take(|c| c.is_ascii_hexdigit());
            return self.integer(start, digits, 16);
        }
        let whole = self.take(|c| c.is_ascii_digit());
        let mut chars = self.rest().chars();
        let fraction = chars.next() == Some('.') && chars.next().is_some_and(|c| c.is_ascii_digit());
        if fraction {
            self.advance(1);
            self.take(|c| c.is_ascii_digit());
        }
        let exponent = self.exponent();
        if !fraction && !exponent {
            return self.integer(start, whole, 10);
        }
        let text = self.source.get(start..self.at).unwrap_or_default();
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Token::Double(value),
            _ => {
                self.fault(Code::BadLiteral, start, format!("`{text}` does not fit into a double"));
                Token::Broken
            }
        }
    }

    fn exponent(&mut self) -> bool {
        let rest = self.rest();
        let Some(tail) = rest.strip_prefix(['e', 'E']) else { return false };
        let digits = tail.strip_prefix(['+', '-']).unwrap_or(tail);
        if !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return false;
        }
        self.advance(rest.len().saturating_sub(digits.len()));
        self.take(|c| c.is_ascii_digit());
        true
    }

    fn integer(&mut self, start: usize, digits: &str, radix: u32) -> Token {
        let unsigned = self.rest().starts_with(['u', 'U']);
        self.advance(usize::from(unsigned));
        match u64::from_str_radix(digits, radix) {
            Ok(value) if unsigned => Token::Uint(value),
            // 2^63 is kept for the parser: with a minus before it, it is the smallest int
            Ok(value) if value <= i64::MIN.unsigned_abs() => Token::Int(value),
            _ => {
                let text = self.source.get(start..self.at).unwrap_or_default();
                let kind = if unsigned { "uint" } else { "int" };
                let message = if digits.is_empty() {
                    format!("`{text}` has no digits")
                } else {
                    format!("`{text}` does not fit into a 64-bit {kind}")
                };
                self.fault(Code::BadLiteral, start, message);
                Token::Broken
            }
        }
    }

    /// A string or bytes literal, if one stands here.
    fn string(&mut self) -> Option<Token> {
        let start = self.at;
        let rest = self.rest();
        let after_b = rest.strip_prefix(['b', 'B']);
        let bytes = after_b.is_some();
        let after_r = after_b.unwrap_or(rest).strip_prefix(['r', 'R']);
        let raw = after_r.is_some();
        let body = after_r.or(after_b).unwrap_or(rest);
        let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| body.starts_with(quote))?;
        self.advance(rest.len().saturating_sub(body.len()).saturating_add(quote.len()));
        let content_start = self.at;
        let long = quote.len() == 3;
        loop {
            let rest = self.rest();
            if rest.starts_with(quote) {
                break;
            }
            match self.peek() {
                Some('\n' | '\r') if !long => return Some(self.unclosed(start, quote)),
                None => return Some(self.unclosed(start, quote)),
                Some('\\') if !raw => {
                    self.advance(1);
                    let escaped = self.peek().filter(|c| long || !matches!(c, '\n' | '\r'));
                    self.advance(escaped.map_or(0, char::len_utf8));
                }
                Some(c) => self.advance(c.len_utf8()),
            }
        }
        let content = self.source.get(content_start..self.at).unwrap_or_default();
        self.advance(quote.len());
        let found = match (bytes, raw) {
            (true, true) => Ok(Token::Bytes(content.as_bytes().into())),
            (false, true) => Ok(Token::Str(content.into())),
            (true, false) => literal::unescape_bytes(content).map(|bytes| Token::Bytes(bytes.into())),
            (false, false) => literal::unescape(content).map(|text| Token::Str(text.into())),
        };
        Some(found.unwrap_or_else(|bad| {
            let from = content_start.saturating_add(bad.at);
            let span = Span::new(from, from.saturating_add(bad.len));
            self.faults.push(Diagnostic {
                code: Code::BadLiteral,
                span,
                message: bad.message,
                hint: Some("write `\\\\` for a backslash, or a raw string `r\"…\"`".into()),
            });
            Token::Broken
        }))
    }

    fn unclosed(&mut self, start: usize, quote: &str) -> Token {
        let fault = self.fault(Code::BadLiteral, start, "this string is not closed".into());
        fault.hint = Some(format!("add `{quote}` at its end"));
        Token::Broken
    }
}
