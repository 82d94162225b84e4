//! Calls: which function is meant, whether it takes these types, and literals that it could never read.
use super::{Checker, Resolved};
use crate::ast::{Expr, Id, Literal, Name};
use crate::diagnostic::did_you_mean;
use crate::functions::{self, Func};
use crate::habits;
use crate::library::network;
use crate::parse::MEMBER_MACROS;
use crate::signature::Overload;
use crate::{time, Code, Type};

impl Checker<'_> {
    pub(super) fn call(&mut self, id: Id, target: Option<Id>, name: &Name, args: &[Id]) -> Type {
        if let Some(target) = target {
            if let Some((namespace, _)) = self.dotted(target) {
                let full = format!("{namespace}.{}", name.text);
                if let Some(ty) = self.named_call(id, &full, None, name, args) {
                    return ty;
                }
                // a namespace that is no variable: the function is missing, not the value before it
                if self.is_namespace(&namespace) {
                    return self.undeclared_function(id, &full, target, name, args);
                }
            }
        }
        if let Some(ty) = self.named_call(id, &name.text, target, name, args) {
            return ty;
        }
        if let Some(target) = target {
            self.visit(target);
        }
        self.undeclared_function(id, &name.text, target.unwrap_or(id), name, args)
    }

    fn is_namespace(&self, name: &str) -> bool {
        let inside = |function: &str| function.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        self.env.resolve(name, false).is_none()
            && (functions::names().any(inside) || self.env.function_names().any(inside))
    }

    fn undeclared_function(&mut self, id: Id, full: &str, target: Id, name: &Name, args: &[Id]) -> Type {
        for arg in args {
            self.visit(*arg);
        }
        self.resolve(id, Resolved::Unbound);
        let member = target != id && full == &*name.text;
        let known = functions::builtin(full).map(|found| functions::has_style(&found.overloads, member));
        let hint = match known {
            // it exists, but not in this style
            Some(false) if member => Some(format!("write `{full}(…)`")),
            Some(false) => Some(format!("it stands behind a value, `x.{full}(…)`")),
            _ if MEMBER_MACROS.contains(&&*name.text) => {
                Some("it takes a name and an expression, `list.all(x, x > 0)`".to_owned())
            }
            _ if habits::operator(full).is_some() => habits::operator(full).map(|meant| format!("write `{meant}`")),
            _ => {
                let macros = MEMBER_MACROS.iter().copied().filter(|_| member).chain((!member).then_some("has"));
                did_you_mean(full, functions::names().chain(self.env.function_names()).chain(macros))
            }
        };
        let span = if target != id && !member { self.ast.span(target).to(name.span) } else { name.span };
        self.report_with(Code::UndeclaredFunction, span, format!("undeclared function `{full}`"), hint);
        Type::Dyn
    }

    /// The type of a call of the function of that name, if there is one in that style.
    fn named_call(&mut self, id: Id, full: &str, target: Option<Id>, name: &Name, args: &[Id]) -> Option<Type> {
        let env = self.env;
        let member = target.is_some();
        let (overloads, resolved, func) = match env.host_function(full) {
            Some((function, overloads)) => (overloads, Resolved::Host { function, bare: !member }, None),
            None => {
                let found = functions::builtin(full)?;
                (&*found.overloads, Resolved::Builtin { func: found.func, bare: !member }, Some(found.func))
            }
        };
        if !functions::has_style(overloads, member) {
            return None;
        }
        self.resolve(id, resolved);
        let given: Vec<Id> = target.into_iter().chain(args.iter().copied()).collect();
        let types: Vec<Type> = given.iter().map(|arg| self.visit(*arg)).collect();
        if let Some(func) = func {
            self.literals(id, func, &given, name);
        }
        let fitting = overloads.iter().filter(|overload| overload.member == member && takes(overload, &types));
        let mut result: Option<Type> = None;
        for overload in fitting {
            let ty = result_type(overload, &types);
            result = Some(match result {
                Some(other) => other.join(&ty),
                None => ty,
            });
        }
        let ty = result.unwrap_or_else(|| {
            self.no_overload(id, full, overloads, member, &types);
            Type::Dyn
        });
        Some(ty)
    }

    fn no_overload(&mut self, id: Id, full: &str, overloads: &[Overload], member: bool, types: &[Type]) {
        let listed = |types: &[Type]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let shown = |types: &[Type]| match (member, types.split_first()) {
            (true, Some((target, rest))) => format!("{target}.{full}({})", listed(rest)),
            _ => format!("{full}({})", listed(types)),
        };
        let message = format!("no overload for `{}`", shown(types));
        let styled: Vec<String> = overloads
            .iter()
            .filter(|overload| overload.member == member)
            .map(|overload| format!("`{}`", shown(&overload.params)))
            .collect();
        let is_number = types.iter().any(|ty| *ty.base() == Type::Number);
        let number = if is_number {
            "; a JSON number may come as an int or a double, write `int(…)` or `double(…)`"
        } else {
            ""
        };
        let hint = format!("there is {}{number}", styled.join(", "));
        self.report_with(Code::MissingOverload, self.ast.span(id), message, Some(hint));
    }

    /// Literals that are read when the policy is loaded: patterns, times, zones.
    fn literals(&mut self, id: Id, func: Func, given: &[Id], name: &Name) {
        let text = |id: &Id| match self.ast.expr(*id) {
            Expr::Literal(Literal::Str(text)) => Some((text.to_string(), self.ast.span(*id))),
            _ => None,
        };
        match func {
            Func::Matches => match given.get(1).map(text) {
                Some(Some((pattern, span))) => match crate::pattern::compile_written(&pattern, self.limits.pattern) {
                    Ok(regex) => {
                        self.out.patterns.insert(id, regex);
                    }
                    Err(message) => self.report(Code::BadPattern, span, message, None),
                },
                Some(None) if !self.env.dynamic_patterns => {
                    let span = given.get(1).map_or(name.span, |id| self.ast.span(*id));
                    let hint = Some("write the pattern as a literal, or use `contains`");
                    self.report(Code::DynamicPattern, span, "the pattern of `matches` must be a literal", hint);
                }
                _ => {}
            },
            Func::ToDuration => {
                if let Some((text, span)) = given.first().and_then(text) {
                    if time::parse_duration(&text).is_none() {
                        let hint = Some("write `1h30m`, `2.5s` or `500ms`");
                        self.report(Code::BadDuration, span, format!("`{text}` is no duration"), hint);
                    }
                }
            }
            Func::ToIp | Func::ToCidr | Func::ContainsIp | Func::ContainsCidr => {
                let at = usize::from(matches!(func, Func::ContainsIp | Func::ContainsCidr));
                let Some((text, span)) = given.get(at).and_then(text) else { return };
                let (able, what, hint) = match func {
                    Func::ToIp | Func::ContainsIp => {
                        (network::is_address(&text), "IP address", "write `10.0.0.1`, `2001:db8::1`")
                    }
                    _ => (network::is_range(&text), "range of IP addresses", "write `10.0.0.0/8`, `2001:db8::/32`"),
                };
                if !able {
                    self.report(Code::BadAddress, span, format!("`{text}` is no {what}"), Some(hint));
                }
            }
            Func::ToTimestamp => {
                if let Some((text, span)) = given.first().and_then(text) {
                    if time::parse_timestamp(&text).is_none() {
                        let hint = Some("write it as in RFC 3339, `2024-05-31T12:00:00Z`");
                        self.report(Code::BadTimestamp, span, format!("`{text}` is no timestamp"), hint);
                    }
                }
            }
            Func::GetFullYear
            | Func::GetMonth
            | Func::GetDate
            | Func::GetDayOfMonth
            | Func::GetDayOfWeek
            | Func::GetDayOfYear
            | Func::GetHours
            | Func::GetMinutes
            | Func::GetSeconds
            | Func::GetMilliseconds => {
                if let Some((text, span)) = given.get(1).and_then(text) {
                    if !time::is_zone(&text) {
                        let hint = Some("write a name as `Europe/Berlin`, or an offset as `+02:00`");
                        self.report(Code::BadTimeZone, span, format!("`{text}` is no time zone"), hint);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Whether values of these types may be given to it.
pub(crate) fn takes(overload: &Overload, types: &[Type]) -> bool {
    let params = &overload.params;
    let enough = if overload.variadic { types.len() >= params.len() } else { types.len() == params.len() };
    // a variadic parameter may be given no time, too
    let enough = enough || (overload.variadic && types.len().saturating_add(1) == params.len());
    enough
        && types.iter().enumerate().all(|(at, ty)| params.get(at).or(params.last()).is_some_and(|param| ty.fits(param)))
}

fn result_type(overload: &Overload, types: &[Type]) -> Type {
    let mut bound = Vec::new();
    for (at, ty) in types.iter().enumerate() {
        if let Some(param) = overload.params.get(at).or(overload.params.last()) {
            ty.infer(param, &mut bound);
        }
    }
    overload.result.bind(&bound)
}
