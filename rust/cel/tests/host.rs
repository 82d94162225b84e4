//! The border to the host: variables, host functions, errors, observers, references, results as data.
use callgate_cel::{
    Activation, Code, Entries, Env, ErrorKind, EvalError, Fuel, Limits, Nothing, Object, Observer, Program, Reference,
    Seen, Span, Str, Tests, Type, Val,
};
use callgate_value::{canonical_json, Foreign, ForeignKind, Value};
use std::cell::Cell;

fn compile(source: &str, env: &Env) -> Program {
    Program::compile(source, env, None, &Limits::default()).unwrap()
}

fn fuel() -> Fuel {
    Fuel::new(&Limits::default())
}

/// Two lazy variables, one of which fails, and two host functions; counts how often it is asked.
#[derive(Default)]
struct Host {
    asked: Cell<u32>,
}

impl Activation for Host {
    fn variable(&self, slot: usize, name: &str) -> Result<Option<Val<'_>>, Box<EvalError>> {
        self.asked.set(self.asked.get() + 1);
        match (slot, name) {
            (0, "lazy") => Ok(Some(Val::Int(7))),
            (1, "failing") => {
                let span = Span { start: 90, end: 99 };
                Err(Box::new(EvalError { kind: ErrorKind::DivideByZero, span, message: "division by zero".into() }))
            }
            _ => Ok(None),
        }
    }

    fn call(&self, function: usize, name: &str, args: &[Val<'_>]) -> Result<Val<'_>, String> {
        match (function, name, args) {
            (0, "task.calls", [Val::Str(tool)]) => Ok(Val::Int(i64::try_from(tool.len()).unwrap())),
            (1, "shout", [Val::Str(text)]) => Ok(text.to_uppercase().into()),
            _ => Err(format!("`{name}` is out of order")),
        }
    }
}

fn host_env() -> Env {
    let mut env = Env::new();
    assert_eq!(env.variable("lazy", Type::Int), 0);
    assert_eq!(env.variable("failing", Type::Int), 1);
    assert_eq!(env.function("task.calls", "(string) -> int"), Ok(0));
    assert_eq!(env.function("shout", "string.() -> string"), Ok(1));
    assert_eq!(env.function("broken", "() -> int"), Ok(2));
    env
}

#[test]
fn a_variable_is_asked_for_only_when_it_is_needed() {
    let host = Host::default();
    let program = compile("1 > 2 && lazy > 1 || lazy == 7", &host_env());
    assert_eq!(program.evaluate(&host, &mut fuel()).unwrap().as_bool(), Some(true));
    assert_eq!(host.asked.get(), 1);
}

#[test]
fn host_functions_stand_under_a_namespace_or_behind_a_value() {
    let program = compile("task.calls('pay') == 3 && 'pay'.shout() == 'PAY'", &host_env());
    assert_eq!(program.evaluate(&Host::default(), &mut fuel()).unwrap().as_bool(), Some(true));
}

#[test]
fn what_fails_in_the_host_is_an_error_at_the_place_that_asked() {
    let error = |source: &str| compile(source, &host_env()).evaluate(&Host::default(), &mut fuel()).unwrap_err();
    let expected =
        |kind, start, end, message: &str| EvalError { kind, span: Span { start, end }, message: message.into() };
    assert_eq!(error("1 + failing"), expected(ErrorKind::DivideByZero, 4, 11, "division by zero"));
    assert_eq!(error("1 + broken()"), expected(ErrorKind::HostFunction, 4, 12, "`broken` is out of order"));
    assert_eq!(error("lazy / (lazy - 7)"), expected(ErrorKind::DivideByZero, 0, 16, "division by zero"));
    let program = compile("failing == 1 || lazy == 7", &host_env());
    assert_eq!(program.evaluate(&Host::default(), &mut fuel()).unwrap().as_bool(), Some(true));
}

#[test]
fn a_signature_that_cannot_be_read_is_returned() {
    assert_eq!(Env::new().function("f", "(strin) -> int"), Err("(strin) -> int".into()));
    assert_eq!(Env::new().function("f", "(string) -> int;"), Err("(string) -> int;".into()));
}

#[test]
fn an_unknown_function_is_an_error_of_its_own_where_nothing_is_checked() {
    let mut env = Env::new();
    env.unchecked();
    let error = compile("nope(1)", &env).evaluate(&Nothing, &mut fuel()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoSuchFunction);
}

#[test]
fn a_result_of_another_type_than_was_asked_for_is_an_error() {
    let mut env = Env::new();
    env.variable("x", Type::Dyn);
    let program = Program::compile("x", &env, Some(Type::Bool), &Limits::default()).unwrap();
    let error = program.evaluate(&vec![Val::Int(1)], &mut fuel()).unwrap_err();
    assert_eq!((error.kind, &*error.message), (ErrorKind::WrongResult, "expected bool, found int"));
    assert_eq!(program.evaluate(&vec![Val::Bool(true)], &mut fuel()).unwrap().as_bool(), Some(true));
}

#[test]
fn host_values_are_named_in_the_error_and_read_as_text_where_they_have_one() {
    let foreign = |kind, text: &str| Value::Foreign(Box::new(Foreign { kind, text: text.into() }));
    let mut env = Env::new();
    env.variable("x", Type::Dyn);
    let run = |source: &str, value: &Value| {
        let program = compile(source, &env);
        let values = vec![Val::from(value)];
        let result = program.evaluate(&values, &mut fuel());
        result.map(|value| value.as_bool()).map_err(|error| (error.kind, error.message))
    };
    let id = foreign(ForeignKind::Uuid, "0191d7a0-0000-7000-8000-000000000000");
    let refused = Err((ErrorKind::HostValue, "a host value of kind uuid has no form here".to_owned()));
    assert_eq!(run("x == 'a'", &id), refused);
    assert_eq!(run("string(x).startsWith('0191')", &id), Ok(Some(true)));
    let time = foreign(ForeignKind::DateTime, "2024-05-31T12:00:00+00:00");
    assert_eq!(run("timestamp(x) == timestamp('2024-05-31T12:00:00Z')", &time), Ok(Some(true)));
    assert!(run("string(x) == ''", &foreign(ForeignKind::Opaque, "")).is_err());
}

/// Writes down what it is told, with the text of each part.
struct Notes<'s>(&'s str, Vec<(String, Seen)>);

impl Observer for Notes<'_> {
    fn saw(&mut self, _: u32, span: Span, seen: Seen) {
        self.1.push((span.text(self.0).to_owned(), seen));
    }
}

#[test]
fn an_observer_hears_of_every_part_that_was_evaluated_innermost_first() {
    let mut env = Env::new();
    env.variable("a", Type::Dyn);
    let source = "a.x > 1 || a.y > 1 || a.z";
    let program = compile(source, &env);
    let entries = vec![("y".into(), Value::Int(5))];
    let value = Value::Map(callgate_value::Map::new(entries).unwrap());
    let mut notes = Notes(source, Vec::new());
    let values = vec![Val::from(&value)];
    let result = program.observe(&values, &mut fuel(), &mut notes).unwrap();
    assert_eq!(result.as_bool(), Some(true));
    let seen = |text: &str, seen| (text.to_owned(), seen);
    assert_eq!(
        notes.1,
        [
            seen("a.x", Seen::Error(ErrorKind::NoSuchField)),
            seen("a.x > 1", Seen::Error(ErrorKind::NoSuchField)),
            seen("a.y", Seen::Value),
            seen("a.y > 1", Seen::True),
            seen(source, Seen::True),
        ]
    );
    let parts: Vec<&str> = program.parts().map(|(_, span)| span.text(source)).collect();
    assert_eq!(parts, ["a.x > 1", "a.y > 1", source]);
}

fn codes(source: &str, env: &Env) -> Vec<Code> {
    match Program::compile(source, env, None, &Limits::default()) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(|fault| fault.code).collect(),
    }
}

#[test]
fn a_variable_that_is_a_test_counts_as_that_test_and_fields_that_are_there_need_none() {
    let mut env = Env::new();
    env.variable("args", Object::closed().optional("x", Type::Int).optional("y", Type::Int).into());
    let tests = compile("has(args.x) && (args.x > 1 || !has(args.y))", &env).tests().clone();
    assert_eq!(tests, Tests { if_true: vec!["args".into(), "args.x".into()], if_false: Vec::new() });
    assert_eq!(codes("variables.known && args.x > 3", &env), [Code::UndeclaredName, Code::AbsentField]);
    env.variable("variables.known", Type::Bool);
    env.variable("variables.lacks", Type::Bool);
    let lacks = compile("!has(args.x)", &env).tests().clone();
    env.tested("variables.known", tests);
    env.tested("variables.lacks", lacks);
    for source in ["variables.known && args.x > 3", "variables.lacks || args.x > 3", "!variables.lacks && args.x > 3"] {
        assert_eq!(codes(source, &env), [], "{source}");
    }
    for source in ["variables.known || args.x > 3", "variables.known && args.y > 3", "variables.lacks && args.x > 3"] {
        assert_eq!(codes(source, &env), [Code::AbsentField], "{source}");
    }
    env.present(&["args.y".into()]);
    assert_eq!(codes("args.y > 3", &env), []);
}

#[test]
fn tests_under_names_of_tests_do_not_grow() {
    let mut env = Env::new();
    env.variable("x", Type::Dyn);
    let mut source = "b29 && x.a".to_owned();
    for level in (1..30).rev() {
        source = format!("cel.bind(b{level}, b{} && b{}, {source})", level - 1, level - 1);
    }
    let program = compile(&format!("cel.bind(b0, has(x.a), {source})"), &env);
    assert_eq!(program.tests(), &Tests::default(), "what is bound inside is not known outside");
}

#[test]
fn observing_an_evaluation_costs_no_fuel_and_changes_no_result() {
    let list = Value::List((0..50).map(Value::Int).collect());
    let mut env = Env::new();
    env.variable("x", Type::Dyn);
    let program = compile("x.filter(y, y % 2 == 0).exists(y, y > 40) && size(x) / 0 == 1", &env);
    let values = vec![Val::from(&list)];
    let (mut silent, mut told) = (fuel(), fuel());
    let mut notes = Notes(program.source(), Vec::new());
    let plain = program.evaluate(&values, &mut silent).map(|value| value.as_bool());
    let observed = program.observe(&values, &mut told, &mut notes).map(|value| value.as_bool());
    assert_eq!(plain, observed);
    assert_eq!((silent.steps_used(), silent.memory_used()), (told.steps_used(), told.memory_used()));
    assert_eq!(notes.1.last().unwrap().1, Seen::Error(ErrorKind::DivideByZero));
}

#[test]
fn references_name_each_variable_and_its_first_field() {
    let mut env = Env::new();
    env.variable("args", Object::closed().required("a", Type::Dyn).required("b", Type::Dyn).into());
    env.variable("call.tool", Type::String);
    env.variable("raw", Type::Dyn);
    let program =
        compile("args.a.b == 1 && args['b'] == 2 && call.tool == '' && [1].all(raw, raw > 0) && raw == 1", &env);
    let reference = |variable: &str, field: Option<&str>, start, end| Reference {
        variable: variable.into(),
        field: field.map(Into::into),
        span: Span { start, end },
    };
    assert_eq!(
        program.references(),
        [
            reference("args", Some("a"), 0, 4),
            reference("args", Some("b"), 17, 21),
            reference("call.tool", None, 35, 44),
            reference("raw", None, 79, 82),
        ]
    );
}

#[test]
fn results_become_data() {
    let source = "{'n': null, 'l': [1, 2.5, 18446744073709551615u], 'd': duration('90s'), 't': timestamp(0), 'b': b'hi', 1: optional.of('x'), 'o': optional.none(), 'y': int}";
    let program = compile(source, &Env::new());
    let value = program.evaluate(&Nothing, &mut fuel()).unwrap().to_value(&mut fuel()).unwrap();
    let Value::Map(map) = &value else { panic!("{value:?}") };
    assert!(
        matches!(&map.get("l").unwrap().as_list().unwrap()[2], Value::BigInt(digits) if &**digits == "18446744073709551615")
    );
    let without =
        Program::compile(&source.replace(", 18446744073709551615u", ""), &Env::new(), None, &Limits::default());
    let without = without.unwrap();
    let value = without.evaluate(&Nothing, &mut fuel()).unwrap().to_value(&mut fuel()).unwrap();
    let expected =
        r#"{"1":"x","b":"aGk=","d":"90s","l":[1,2.5],"n":null,"o":null,"t":"1970-01-01T00:00:00Z","y":"int"}"#;
    assert_eq!(canonical_json(&value).unwrap(), expected);
    let twice = compile("{1: 'a', '1': 'b'}", &Env::new());
    let error = twice.evaluate(&Nothing, &mut fuel()).unwrap().to_value(&mut fuel()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::BadKey);
}

#[test]
fn fuel_is_counted_and_a_decision_can_give_less_of_it() {
    let limits = Limits::default();
    let mut env = Env::new();
    env.variable("l", Type::Dyn);
    let program = compile("l.all(x, x >= 0)", &env);
    let cost = |count: i64| {
        let list = Value::List((0..count).map(Value::Int).collect());
        let mut fuel = Fuel::new(&limits);
        program.evaluate(&vec![Val::from(&list)], &mut fuel).unwrap();
        fuel.steps_used()
    };
    let (one, hundred) = (cost(1), cost(100));
    assert_eq!(hundred - one, 99 * (one - cost(0)), "the cost is the same for every element");
    let list = Value::List((0..100).map(Value::Int).collect());
    let mut little = Fuel::at_most(&limits, hundred - 1);
    let error = program.evaluate(&vec![Val::from(&list)], &mut little).unwrap_err();
    assert_eq!((error.kind, little.steps_used()), (ErrorKind::OutOfFuel, hundred - 1));
}

#[test]
fn programs_environments_and_values_may_go_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Program>();
    shared::<Env>();
    shared::<Val<'static>>();
    shared::<Entries<'static>>();
    shared::<Str<'static>>();
}
